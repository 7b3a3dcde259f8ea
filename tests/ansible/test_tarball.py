"""What is shipped: the tarball holds what is meant to be in it, installs into a clean place, and runs from there."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from .support import ROLES, TOP, assert_none, load

BIN = TOP / ".venv-ansible" / "bin"
NAME = "telebrowser.telebrowser"
VERSION = load(TOP / "galaxy.yml")["version"]
PLAYBOOKS = sorted(path.stem for path in (TOP / "playbooks").glob("*.yml"))
# A new kind of file is put here on purpose, or into build_ignore of galaxy.yml.
ALLOWED = [
    "MANIFEST.json",
    "FILES.json",
    "README.md",
    "LICENSE",
    "LICENSES/*.txt",
    "CHANGELOG.rst",
    "changelogs/config.yaml",
    "changelogs/changelog.yaml",
    "changelogs/fragments/*.yml",
    "changelogs/fragments/.keep",
    "docs/*.md",
    "docs/*.svg",
    "docs/img/*.png",
    "examples/*.md",
    "examples/*.yml",
    "examples/*.conf",
    "examples/*.caddy",
    "examples/*.inc",
    "files/browser/*",
    "files/gateway/*",
    "files/skill/*.md",
    "files/telebrowser/pyproject.toml",
    "files/telebrowser/*.lock",
    "files/telebrowser/src/telebrowser/*",
    "meta/runtime.yml",
    "playbooks/*.yml",
    "playbooks/vars/*.yml",
    "plugins/*.py",
    "plugins/*.md",
    *(f"roles/*/{part}" for part in ("README.md", "defaults/*.yml", "handlers/*.yml", "meta/*.yml", "tasks/*.yml", "templates/*.j2", "vars/*.yml")),
]
FORBIDDEN = re.compile(
    r"(^|/)(\.venv|\.git|\.ansible|tests|molecule|build|node_modules|__pycache__|\.cache|screenshots)(/|$)"
    r"|\.(pyc|pem|key|log|sock|tar\.gz|whl|swp|orig|rej)$|(^|/)(secret|secret\.previous|tokens|password|\.env)$"
)
SECRET_LIKE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?!(?:sha256|sha512))[a-z0-9_-]{1,64}\.[0-9a-f]{64}\b")
MAX_BYTES = 6 << 20


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None, code: int = 0) -> str:
    """The output of a command; the test fails when it ends in another way than with ``code``."""
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def clean(home: Path) -> dict[str, str]:
    """The environment of somebody who has Ansible and nothing else of ours."""
    return {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ANSIBLE_HOME": str(home / ".ansible"),
        "ANSIBLE_COLLECTIONS_PATH": str(home / "collections"),
        "ANSIBLE_CONFIG": str(TOP / "tests" / "ansible" / "ansible.cfg"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home without anything."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def tarball(home: Path) -> Path:
    """The collection as it is built from the repository."""
    run(BIN / "ansible-galaxy", "collection", "build", "--output-path", home, TOP, env=clean(home))
    return home / f"telebrowser-telebrowser-{VERSION}.tar.gz"


@pytest.fixture(scope="module")
def installed(tarball: Path, home: Path) -> Path:
    """The collection installed from its tarball; what it depends on is in the bundle."""
    run(BIN / "ansible-galaxy", "collection", "install", "--offline", tarball, "-p", home / "collections", env=clean(home))
    return home / "collections" / "ansible_collections" / "telebrowser" / "telebrowser"


def test_it_holds_what_it_should_and_nothing_else(tarball: Path) -> None:
    with tarfile.open(tarball) as tar:
        members = tar.getmembers()
    names = [member.name for member in members if not member.isdir()]
    assert_none([name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in ALLOWED)])
    assert_none([name for name in names if FORBIDDEN.search(name)])
    # A link could lead anywhere on the machine that unpacks it.
    assert_none([member.name for member in members if not (member.isfile() or member.isdir())])
    for needed in ("files/telebrowser/requirements.lock", "files/telebrowser/src/telebrowser/tokens.py", "plugins/modules/secret.py", "playbooks/site.yml"):
        assert needed in names
    assert tarball.stat().st_size < MAX_BYTES


def test_nothing_in_it_looks_like_a_secret(tarball: Path) -> None:
    found = []
    with tarfile.open(tarball) as tar:
        for member in tar.getmembers():
            file = tar.extractfile(member) if member.isfile() and not member.name.endswith((".lock", ".json", ".gz")) else None
            for match in SECRET_LIKE.findall(file.read()) if file else ():
                # The example of a token in the documentation counts up.
                if b"0123456789abcdef" * 4 not in match:
                    found.append(f"{member.name}: {match[:40]!r}")
    assert_none(found)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_playbooks_are_read_from_where_they_are_installed(installed: Path, home: Path, playbook: str) -> None:
    output = run(BIN / "ansible-playbook", "-i", "localhost,", "--syntax-check", f"{NAME}.{playbook}", env=clean(home), cwd=home)
    assert f"playbook: {NAME}.{playbook}" in output or f"{playbook}.yml" in output
    assert "DEPRECATION" not in output
    assert str(installed)


def test_docs_are_there_for_every_plugin_and_role(installed: Path, home: Path) -> None:
    for kind in ("module", "filter", "lookup"):
        folder = {"module": "modules"}.get(kind, kind)
        names = [f"{NAME}.{path.stem}" for path in sorted((TOP / "plugins" / folder).glob("*.py")) if not path.stem.startswith("_")]
        if names:
            output = run(BIN / "ansible-doc", "-t", kind, *names, env=clean(home), cwd=home)
            assert all(name in output for name in names)
            assert "ERROR" not in output
    output = run(BIN / "ansible-doc", "-t", "role", *(f"{NAME}.{role}" for role in ROLES), env=clean(home), cwd=home)
    assert all(role in output for role in ROLES)


def test_a_module_runs_from_there(installed: Path, home: Path) -> None:
    where = home / "secrets"
    output = run(BIN / "ansible", "localhost", "-m", f"{NAME}.secret", "-a", f"secrets_directory={where}", env=clean(home), cwd=home)
    assert '"changed": true' in output
    assert (where / "secret").read_text().strip() not in output
    assert str(installed)

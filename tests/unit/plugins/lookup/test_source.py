# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from ansible import constants as C
from ansible.errors import AnsibleLookupError
from ansible.plugins.loader import lookup_loader

from ansible_collections.telebrowser.telebrowser.plugins.lookup import source

TOP = source.TOP
PACKAGE = "files/telebrowser/src/telebrowser"


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """The lookup on a copy of the package, which tests may change; its result."""
    shutil.copytree(os.path.join(TOP, PACKAGE), tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(source, "TOP", str(tmp_path))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(C, "DEFAULT_LOCAL_TMP", str(tmp_path / "tmp"))
    lookup = lookup_loader.get("telebrowser.telebrowser.source")

    def run(**options):
        return lookup.run([PACKAGE], variables={}, **options)[0]

    run.root = tmp_path / PACKAGE
    return run


def test_the_supervisor_alone_runs_from_its_files(pack, tmp_path):
    """Every module of the archive finds all that it imports in the archive, and none is named in a text, which would not be found."""
    place = tmp_path / "host" / "telebrowser"
    with tarfile.open(pack(part="supervisor")["path"]) as tar:
        for entry in tar:
            target = place / entry.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(entry).read())
    assert (place / "supervisor" / "__main__.py").exists() and not (place / "gateway").exists() and not (place / "page").exists()
    modules = [".".join(path.relative_to(place.parent).with_suffix("").parts) for path in sorted(place.rglob("*.py"))]
    for path in place.rglob("*.py"):
        assert not re.search(r"import_module|__import__|run_module|-m\", \"telebrowser|telebrowser\.(?!supervisor)\w+\"", path.read_text()), path
    if sys.version_info >= (3, 11):
        program = "import importlib, sys\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\n"
        done = subprocess.run(
            [sys.executable, "-c", program] + [name for name in modules if not name.endswith(("__main__", "mason"))],
            env={"PYTHONPATH": str(place.parent), "PATH": os.environ["PATH"]},
            cwd=str(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_the_container_starts_no_other_part():
    started = set()
    for folder, _folders, names in os.walk(os.path.join(TOP, "files", "browser", "root")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            assert not re.search(r"^\s*(?:from|import) telebrowser\b", text, re.M), name
            started.update(re.findall(r"-m telebrowser\.(\w+)", text))
    assert started == {"supervisor"}


def test_the_hash_changes_with_what_runs_alone(pack):
    before, whole = pack(part="supervisor")["sha256"], pack()["sha256"]
    (pack.root / "page" / "tab.py").write_bytes(b"# another\n")
    assert pack(part="supervisor")["sha256"] == before and pack()["sha256"] != whole
    for name in ("supervisor/core.py", "datadir.py"):
        with open(pack.root / name, "ab") as file:
            file.write(b"# another\n")
        changed = pack(part="supervisor")["sha256"]
        assert changed != before
        before = changed


def test_what_cannot_be_packed_is_named(pack):
    with pytest.raises(AnsibleLookupError, match="nothing of files/telebrowser/src/telebrowser cannot be packed"):
        pack(part="nothing")
    (pack.root / "errors.py").write_bytes(b"def\n")
    with pytest.raises(AnsibleLookupError, match="supervisor of .* cannot be packed"):
        pack(part="supervisor")

"""The locks: every version with hashes, no address of an index, the same versions in both, and nothing that the code imports left out."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
DISTRIBUTION = TOP / "files" / "telebrowser"
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-view.lock")
PINNED = re.compile(r"^([a-z0-9][a-z0-9.-]*)==([^ ;\\]+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)


def pins(name: str) -> dict[str, str]:
    return {package: version for package, version, _ in PINNED.findall((DISTRIBUTION / name).read_text())}


def normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


@pytest.mark.parametrize("name", LOCKS)
def test_every_version_has_hashes_and_no_address(name: str) -> None:
    text = (DISTRIBUTION / name).read_text()
    assert len(PINNED.findall(text)) == len(re.findall(r"^[a-z0-9]", text, re.M)) > 20
    assert "://" not in text


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_the_lock_of_the_peers_names_no_address(name: str) -> None:
    assert "://" not in (TOP / "tests" / "bench" / name).read_text()


def test_both_locks_name_the_same_versions() -> None:
    dev = pins("requirements-dev.lock")
    assert {package: dev.get(package) for package in pins("requirements.lock")} == pins("requirements.lock")
    view, run = pins("requirements-view.lock"), pins("requirements.lock")
    assert {package: view[package] for package in run if package in view} == {package: run[package] for package in run if package in view}


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((DISTRIBUTION / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"], *project["dependency-groups"]["build"]]
    names = {normal(re.split(r"[<>=!~ ;\[]", requirement)[0]) for requirement in wanted}
    assert names <= set(pins("requirements-dev.lock"))
    for requirement in project["project"]["optional-dependencies"]["view"]:
        package, _, version = requirement.partition("==")
        assert pins("requirements-view.lock")[package] == version


def test_every_import_is_a_dependency() -> None:
    project = tomllib.loads((DISTRIBUTION / "pyproject.toml").read_text())
    declared = {normal(re.split(r"[<>=!~ ;\[]", requirement)[0]) for requirement in project["project"]["dependencies"]}
    imported: dict[str, str] = {}
    for path in (DISTRIBUTION / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in names:
                imported[normal(name.split(".")[0])] = str(path.relative_to(TOP))
    own = {"telebrowser", *(normal(name) for name in sys.stdlib_module_names)}
    assert {name: path for name, path in imported.items() if name not in declared | own} == {}

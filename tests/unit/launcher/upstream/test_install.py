"""The pin of chrome-devtools-mcp: one version, locked with integrity, part of the package."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from telebrowser.errors import ConfigError
from telebrowser.launcher.upstream import install

TOP = Path(__file__).resolve().parents[4]


def test_the_version_is_one() -> None:
    wanted = json.loads((install.LOCK / "package.json").read_text())["dependencies"]
    assert wanted == {"chrome-devtools-mcp": install.CHROME_DEVTOOLS_MCP}
    journeys = json.loads((TOP / "tests" / "clients" / "package.json").read_text())["dependencies"]
    assert journeys["chrome-devtools-mcp"] == install.CHROME_DEVTOOLS_MCP, "the journeys of tests/clients drive the same version"


def test_the_lock_is_whole() -> None:
    packages = json.loads((install.LOCK / "package-lock.json").read_text())["packages"]
    assert packages["node_modules/chrome-devtools-mcp"]["version"] == install.CHROME_DEVTOOLS_MCP
    assert all(row.get("integrity", "").startswith("sha512-") for name, row in packages.items() if name)


def test_the_lock_is_part_of_the_package() -> None:
    wanted = (TOP / "files" / "telebrowser" / "pyproject.toml").read_text()
    assert "launcher/upstream/*/package*.json" in wanted and importlib.metadata.version("telebrowser")
    assert sorted(path.name for path in install.LOCK.iterdir()) == sorted(install.FILES)


def test_another_lock_is_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = install.place(tmp_path)
    for name in install.FILES:
        (tmp_path / name).write_text("{}")
    monkeypatch.setattr(install, "LOCK", tmp_path)
    assert install.place(tmp_path) != before and install.place(tmp_path).parent == before.parent


def test_what_is_there_is_run_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.shutil, "which", lambda name: f"/somewhere/{name}")
    first = install.argv(tmp_path)
    assert first[1:3] == ["-m", "telebrowser.launcher.upstream.install"] and first[3:5] == [str(tmp_path), "/somewhere/node"]
    entry = install.place(tmp_path) / install.ENTRY
    entry.parent.mkdir(parents=True)
    entry.touch()
    assert install.argv(tmp_path) == ["/somewhere/node", str(entry), "--wsEndpoint", "{ws}", "--no-usage-statistics"]


def test_an_old_node_is_refused(tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho v18.1.0\n")
    node.chmod(0o755)
    with pytest.raises(ConfigError, match=r"20.*v18\.1\.0"):
        install.install(tmp_path / "data", str(node))
    assert [path.name for path in (tmp_path / "data" / "upstream").iterdir()] == [".lock"]


def test_a_failed_npm_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in (("node", "echo v22.0.0"), ("npm", "touch half; exit 9")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ConfigError, match="status 9"):
        install.install(tmp_path / "data", str(tmp_path / "node"))
    assert [path.name for path in (tmp_path / "data" / "upstream").iterdir()] == [".lock"]

"""The docs name everything that the code offers, and what they say of it is what the code says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from telebrowser import __version__
from telebrowser.cli.main import VERBS
from telebrowser.config import SETTINGS, Setting
from telebrowser.errors import CODES, EXITS
from telebrowser.gateway.routes import ROUTES
from telebrowser.mcp.tools import TOOLS, ToolDefinition

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
PAGES = sorted([*DOCS.glob("*.md"), TOP / "README.md"])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generator", TOP / "scripts" / "docs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name: str) -> str:
    return (DOCS / name).read_text()


def test_generated_parts_are_up_to_date() -> None:
    behind = [path.name for path in generator().behind()]
    assert not behind, f"{', '.join(behind)}: behind the code; run: make docs"


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_documented(name: str) -> None:
    assert f"`telebrowser {name}" in page("OPERATIONS.md")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_documented(setting: Setting) -> None:
    assert f"`{setting.name}`" in page("OPERATIONS.md")


@pytest.mark.parametrize("code", EXITS)
def test_every_exit_code_is_documented(code: int) -> None:
    assert f"| {code} | {EXITS[code]} |" in page("OPERATIONS.md")


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_documented(code: str) -> None:
    assert f"| `{code}` |" in page("TOOLS.md")


@pytest.mark.parametrize("words", ROUTES, ids="/".join)
def test_every_path_is_documented(words: tuple[str, ...]) -> None:
    assert "/".join(words).replace("*", "<") in page("OPERATIONS.md")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_and_parameter_is_documented(tool: ToolDefinition) -> None:
    text = page("TOOLS.md")
    section = re.search(rf"### {tool.name}\n(.*?)(?=\n### |\n<!-- end)", text, re.S)
    assert section, "no section"
    assert f"| `{tool.name}` |" in text, "not in the table of answers"
    missing = [name for name in tool.properties if f"`{name}`" not in section[1]]
    assert not missing


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = [target for target, _ in LINK.findall(path.read_text()) if not (path.parent / target).exists()]
    assert not broken


def test_the_version_is_one() -> None:
    galaxy = re.search(r"^version: (\S+)$", (TOP / "galaxy.yml").read_text(), re.M)
    assert galaxy and galaxy[1] == __version__
    assert f"\nv{__version__}\n" in (TOP / "CHANGELOG.rst").read_text()


def test_the_readme_begins_with_the_two_commands() -> None:
    head = (TOP / "README.md").read_text().split("\n")[:6]
    assert [line.split("#")[0].strip() for line in head if line.startswith("make ")] == ["make run", "make test"]


def test_every_make_target_says_what_it_does() -> None:
    listed = subprocess.run(["make", "-s", "-C", str(TOP), "help"], capture_output=True, text=True, check=True).stdout
    for target in ("run", "down", "test", "lint", "bench", "clean"):
        assert f"make {target} " in listed

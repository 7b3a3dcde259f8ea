"""Writes the parts of docs/*.md that say what the code says: settings, verbs, exit codes, error codes and tools.

A part stands between ``<!-- from the code: NAME -->`` and ``<!-- end -->``. ``docs.py`` rewrites the pages; ``docs.py --check`` changes
nothing and fails when a page is behind the code.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from telebrowser import config, errors
from telebrowser.cli import common
from telebrowser.cli.main import VERBS
from telebrowser.cli.options import Option, Verb
from telebrowser.mcp.tools import TOOLS, ToolDefinition

DOCS = Path(__file__).resolve().parent.parent / "docs"
PART = re.compile(r"(<!-- from the code: (\w+) -->\n).*?(<!-- end -->)", re.S)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def settings() -> str:
    """Every setting, grouped by nothing: in the order of the code."""
    rows = []
    for setting in config.SETTINGS:
        name = f"`{setting.name}`" + (f" or `{setting.alias}`" if setting.alias else "")
        rows.append((name, f"`{setting.option}`", _default(setting), _range(setting), ", ".join(setting.parts), setting.help))
    return table(("variable", "option", "default", "values", "read by", "meaning"), rows)


def _default(setting: config.Setting) -> str:
    if setting.default is None or setting.default == ():
        return "–"
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    return f"`{setting.default}`"


def _range(setting: config.Setting) -> str:
    if setting.kind == "int":
        return f"{setting.low} to {setting.high}"
    if setting.kind == "bool":
        return "on or off"
    if setting.kind == "choice":
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    return {"list": "by commas", "path": "a path", "command": "a command line"}.get(setting.kind, "text")


COMMON = (common.PROJECT, common.URL, common.CONFIG_DIR, common.JSON)


def verbs() -> str:
    """Every verb with its own options; common ones and settings are not repeated."""
    known, names = {setting.option for setting in config.SETTINGS}, {option.name for option in COMMON}
    rows = []
    for name in VERBS:
        verb: Verb = importlib.import_module(f"telebrowser.cli.{name}").VERB
        shared = [f"`--{option.name}`" for option in verb.options if option.name in names]
        stack = [f"`--{option.name}`" for option in verb.options if option.name not in names and f"--{option.name}" in known]
        shared += stack if len(stack) <= 1 else ["settings of the stack"]
        options = [_option(option) for option in verb.options if option.name not in names and f"--{option.name}" not in known]
        words = f" {verb.words}" if verb.words else ""
        rows.append((f"`telebrowser {name}{words}`", verb.summary, "<br>".join(options), ", ".join(shared)))
    meaning = "; ".join(_option(option) for option in COMMON)
    return table(("verb", "what it does", "options of its own", "common options"), rows) + f"\n\nCommon options: {meaning}."


def _option(option: Option) -> str:
    return f"`--{option.name}{' ' + option.value if option.value else ''}`: {option.help}"


def exits() -> str:
    """Every exit code."""
    return table(("code", "meaning"), [(str(code), meaning) for code, meaning in errors.EXITS.items()])


def codes() -> str:
    """Every error code."""
    return table(("code", "meaning", "what to do", "HTTP"), [(f"`{name}`", row.meaning, row.hint, str(row.status)) for name, row in errors.CODES.items()])


def tools() -> str:
    """Every tool with its description and parameters."""
    return "\n\n".join(_tool(tool) for tool in TOOLS)


def _tool(tool: ToolDefinition) -> str:
    rows = [
        (f"`{name}`" + (" (required)" if name in tool.required else ""), _values(schema), schema.get("description", ""))
        for name, schema in tool.properties.items()
    ]
    kind = "reads only" if tool.read_only else "changes the page" if tool.destructive or "write" not in tool.paths.values() else "may write a file"
    return "\n".join([f"### {tool.name}", "", f"{tool.description} ({kind})", "", table(("parameter", "values", "meaning"), rows)])


def _values(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    if "minimum" in schema:
        return f"{schema['type']}, at least {schema['minimum']}"
    return str(schema.get("type", ""))


PARTS: dict[str, Callable[[], str]] = {"settings": settings, "verbs": verbs, "exits": exits, "codes": codes, "tools": tools}


def renewed(text: str) -> str:
    """A page with every part written anew."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)


def behind() -> list[Path]:
    """The pages that differ from the code."""
    return [page for page in sorted(DOCS.glob("*.md")) if renewed(page.read_text()) != page.read_text()]


def main() -> int:
    pages = behind()
    if "--check" in sys.argv[1:]:
        for page in pages:
            print(f"{page.name} is behind the code; run: make docs", file=sys.stderr)
        return 1 if pages else 0
    for page in pages:
        page.write_text(renewed(page.read_text()))
        print(f"wrote {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

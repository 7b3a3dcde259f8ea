"""Writes the part of each role's README.md that comes from its meta/argument_specs.yml and defaults/main.yml.

It stands between ``<!-- BEGIN -->`` and ``<!-- END -->``; the head above it is written by hand. ``role_docs.py`` rewrites the files;
``role_docs.py --check`` changes nothing and fails when one is behind.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parent.parent / "roles"
PART = re.compile(r"(<!-- BEGIN -->\n).*?(<!-- END -->)", re.S)
MARKUP = re.compile(r"\b[CV]\(([^()]*)\)")
OPTION = re.compile(r"\bO\(([^()]*)\)")
LINK = re.compile(r"\bL\(([^(),]*),\s*([^()]*)\)")
TOOL = re.compile(r"# (?:renovate|noqa):")
COMMENTED = re.compile(r"((?:^#[^\n]*\n)+)^([a-z_0-9]+):", re.M)


def comments(defaults: str) -> dict[str, str]:
    """What stands above a variable. A sentence in the style of a tool (``renovate: …``) is not for people."""
    return {name: " ".join(line.lstrip("# ") for line in text.splitlines() if not TOOL.match(line)) for text, name in COMMENTED.findall(defaults)}


def text_of(value: Any) -> str:
    """A description of a spec as Markdown."""
    text = " ".join(value) if isinstance(value, list) else str(value or "")
    text = MARKUP.sub(lambda found: f"`{found[1]}`", " ".join(text.split()))
    text = OPTION.sub(lambda found: f"`{found[1]}`", text)
    return LINK.sub(lambda found: f"[{found[1]}]({found[2].strip()})", text)


def default_of(option: dict[str, Any]) -> str:
    """A default as one would write it."""
    if "default" not in option:
        return "needed" if option.get("required") else "–"
    value = option["default"]
    if isinstance(value, str):
        return f"`{value}`" if value else "empty"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def kind_of(option: dict[str, Any]) -> str:
    """A type with what it holds or what it may be."""
    kind = option.get("type", "str")
    if kind == "list":
        kind = f"list of {option.get('elements', 'str')}"
    choices = option.get("choices")
    return f"{kind}: {', '.join(f'`{choice}`' for choice in choices)}" if choices else kind


def meaning_of(option: dict[str, Any], why: str) -> str:
    """What a variable is, and why one would change it where the description does not say so."""
    text = text_of(option.get("description"))
    return text if why in text.replace("`", "") else f"{text} {why}"


def table(options: dict[str, dict[str, Any]], why: dict[str, str]) -> str:
    """The variables of a role."""
    lines = ["| variable | default | type | meaning |", "|---|---|---|---|"]
    for name, option in options.items():
        row = (f"`{name}`", default_of(option), kind_of(option), meaning_of(option, why.get(name, "")))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join(lines)


def part(role: Path) -> str:
    """The generated part of a role's README."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    why = comments((role / "defaults" / "main.yml").read_text())
    blocks = []
    for entry, spec in specs.items():
        own = {name: option for name, option in spec.get("options", {}).items() if name.startswith(f"telebrowser_{role.name}_")}
        shared = {name: option for name, option in spec.get("options", {}).items() if name not in own}
        if entry != "main":
            blocks.append(f"## Entry point `{entry}`\n\n{text_of(spec.get('description') or spec.get('short_description'))}")
        if own:
            blocks.append(f"{'##' if entry == 'main' else '###'} Variables\n\n{table(own, why)}")
        if shared:
            blocks.append(f"{'##' if entry == 'main' else '###'} Variables that roles share\n\n{table(shared, why)}")
    tags = sorted(set(re.findall(r"telebrowser_(?:preflight|install|configure|run|verify)\b", (role / "tasks" / "main.yml").read_text())), key=_phase)
    if tags:
        blocks.append(f"## Tags\n\n`telebrowser_{role.name}` for the whole role; one phase of it: {', '.join(f'`{tag}`' for tag in tags)}.")
    return "\n\n".join(blocks)


def _phase(tag: str) -> int:
    return ("preflight", "install", "configure", "run", "verify").index(tag.removeprefix("telebrowser_"))


def head(role: Path) -> str:
    """What a README begins with until somebody writes a better head."""
    spec = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]
    return f"# telebrowser.telebrowser.{role.name}\n\n{text_of(spec.get('description') or spec.get('short_description'))}\n\n<!-- BEGIN -->\n<!-- END -->\n"


def renewed(role: Path) -> str:
    """The README with its part written anew. Raises `ValueError` when it has no place for it."""
    page = role / "README.md"
    text = page.read_text() if page.exists() else head(role)
    if not PART.search(text):
        raise ValueError(f"{page} has no <!-- BEGIN --> and <!-- END --> lines")
    return PART.sub(lambda found: f"{found[1]}\n{part(role)}\n\n{found[2]}", text)


def roles() -> list[Path]:
    """Every role that says what it takes."""
    return sorted(path.parent.parent for path in ROLES.glob("*/meta/argument_specs.yml"))


def behind() -> list[Path]:
    """The roles whose README differs from what their specs say."""
    return [role for role in roles() if not (role / "README.md").exists() or renewed(role) != (role / "README.md").read_text()]


def main() -> int:
    late = behind()
    if "--check" in sys.argv[1:]:
        for role in late:
            print(f"roles/{role.name}/README.md is behind its argument_specs.yml; run: scripts/role_docs.py", file=sys.stderr)
        return 1 if late else 0
    for role in late:
        (role / "README.md").write_text(renewed(role))
        print(f"wrote roles/{role.name}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

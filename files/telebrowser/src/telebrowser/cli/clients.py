"""The MCP clients that `telebrowser config` knows: what each reads, and where."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

NAME = "telebrowser"
"""The name of the server in every client's file."""
TOOL_SECONDS = 180
"""A tool call may take up to MAX_TIMEOUT_MS (120 s), which is more than some clients wait by default."""

Entry = dict[str, Any]


class Client(NamedTuple):
    """One client. ``section`` is the key under which its file lists servers; ``entry`` makes ours from command and variables.

    ``file`` is the user's own configuration file, ``skills`` their folder of skills, each with ``~`` and ``$VARIABLE``;
    ``place`` tells a person where the text goes. ``extra`` are other keys that a new file should have.
    """

    title: str
    place: str
    file: str
    skills: str
    section: str
    entry: Callable[[str, Mapping[str, str]], Entry]
    toml: bool = False
    extra: Mapping[str, Any] = {}

    def text(self, command: str, environment: Mapping[str, str]) -> str:
        """The configuration as a file of its own."""
        entry = self.entry(command, environment)
        if self.toml:
            return toml_entry(self.section, entry)
        return json.dumps({**self.extra, self.section: {NAME: entry}}, indent=2, ensure_ascii=False)


def _plain(command: str, environment: Mapping[str, str]) -> Entry:
    return {"command": command, "args": ["mcp"], **({"env": dict(environment)} if environment else {})}


def _codex(command: str, environment: Mapping[str, str]) -> Entry:
    return {"command": command, "args": ["mcp"], "tool_timeout_sec": TOOL_SECONDS, **({"env": dict(environment)} if environment else {})}


def _opencode(command: str, environment: Mapping[str, str]) -> Entry:
    return {"type": "local", "command": [command, "mcp"], "enabled": True, **({"environment": dict(environment)} if environment else {})}


def _vscode(command: str, environment: Mapping[str, str]) -> Entry:
    return {"type": "stdio", **_plain(command, environment)}


def toml_entry(section: str, entry: Entry) -> str:
    """The TOML of one server. JSON strings, numbers and arrays of strings are TOML too."""
    lines = [f"[{section}.{NAME}]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in entry.items() if not isinstance(value, dict)]
    for table, values in entry.items():
        if isinstance(values, dict):
            lines += ["", f"[{section}.{NAME}.{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines)


CLIENTS: dict[str, Client] = {
    "claude": Client(
        "Claude Code",
        ".mcp.json in the project, or for all projects: claude mcp add --scope user telebrowser -- <command> mcp",
        "~/.claude.json",
        "~/.claude/skills",
        "mcpServers",
        _plain,
    ),
    "codex": Client("Codex CLI", "~/.codex/config.toml", "$CODEX_HOME/config.toml", "~/.agents/skills", "mcp_servers", _codex, toml=True),
    "opencode": Client(
        "opencode",
        "opencode.json in the project, or ~/.config/opencode/opencode.json",
        "$XDG_CONFIG_HOME/opencode/opencode.json",
        "~/.agents/skills",
        "mcp",
        _opencode,
        extra={"$schema": "https://opencode.ai/config.json"},
    ),
    "vscode": Client(
        "Visual Studio Code",
        ".vscode/mcp.json in the project, or mcp.json in the user profile",
        "$XDG_CONFIG_HOME/Code/User/mcp.json",
        "~/.agents/skills",
        "servers",
        _vscode,
    ),
    "cursor": Client("Cursor", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json", "~/.cursor/mcp.json", "~/.agents/skills", "mcpServers", _plain),
}

_DEFAULTS = {"CODEX_HOME": "~/.codex", "XDG_CONFIG_HOME": "~/.config"}


def expand(path: str, environ: Mapping[str, str]) -> str:
    """A path of the table for this user."""
    for name, default in _DEFAULTS.items():
        path = path.replace(f"${name}", environ.get(name) or default)
    return os.path.abspath(os.path.expanduser(path))

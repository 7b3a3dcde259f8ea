"""`telebrowser config`: the configuration with which MCP clients start the launcher."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping

from ..errors import EXIT_CONFIG, EXIT_OK, ExitError
from .common import CONFIG_DIR, JSON, URL, option_texts
from .options import Arguments, Option, Verb, usage

CLIENTS = ("claude", "codex", "opencode")
PASSED_ON = ("TELEBROWSER_URL", "TELEBROWSER_CONFIG_DIR")
"""Set in the configuration when they are set here. Never the secret."""

VERB = Verb(
    "config",
    "Print the configuration for MCP clients: Claude Code, Codex CLI and opencode.",
    (Option("client", "only for one: " + ", ".join(CLIENTS), "NAME"), URL, CONFIG_DIR, JSON),
)


def run(arguments: Arguments) -> int:
    """Print one block for each client."""
    client = arguments.values.get("client")
    if client is not None and client not in CLIENTS:
        raise usage(VERB, f"--client must be one of {', '.join(CLIENTS)}; it is {client!r}")
    binary = launcher_path()
    environment = passed_on(option_texts(arguments), os.environ)
    wanted = (client,) if client else CLIENTS
    texts = {name: _MAKERS[name](binary, environment) for name in wanted}
    if arguments.json:
        print(json.dumps({"command": binary, "args": ["mcp"], "env": environment, "clients": texts}, indent=2))
    else:
        print("\n\n".join(f"# {_PLACES[name]}\n{text}" for name, text in texts.items()))
    return EXIT_OK


def passed_on(options: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the client must set for the launcher to find the same gateway."""
    found = {}
    for name in PASSED_ON:
        value = options.get(name.removeprefix("TELEBROWSER_").lower()) or environ.get(name)
        if value:
            found[name] = os.path.abspath(os.path.expanduser(value)) if name.endswith("_DIR") else value
    return found


def launcher_path() -> str:
    """The absolute path of the `telebrowser` command that runs now."""
    for candidate in (sys.argv[0], os.path.join(os.path.dirname(sys.executable), "telebrowser"), shutil.which("telebrowser")):
        if candidate and os.path.basename(candidate) == "telebrowser" and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return os.path.abspath(candidate)
    raise ExitError(EXIT_CONFIG, "the command `telebrowser` is not installed beside this Python and not on PATH")


def claude(binary: str, environment: Mapping[str, str]) -> str:
    """Claude Code: the JSON of ``.mcp.json``."""
    server: dict[str, object] = {"command": binary, "args": ["mcp"]}
    if environment:
        server["env"] = dict(environment)
    return json.dumps({"mcpServers": {"telebrowser": server}}, indent=2)


def codex(binary: str, environment: Mapping[str, str]) -> str:
    """Codex CLI: the TOML of ``config.toml``. JSON strings are TOML strings."""
    lines = ["[mcp_servers.telebrowser]", f"command = {json.dumps(binary)}", 'args = ["mcp"]', "tool_timeout_sec = 180"]
    if environment:
        lines += ["", "[mcp_servers.telebrowser.env]", *(f"{name} = {json.dumps(value)}" for name, value in environment.items())]
    return "\n".join(lines)


def opencode(binary: str, environment: Mapping[str, str]) -> str:
    """opencode: the JSON of ``opencode.json``."""
    server: dict[str, object] = {"type": "local", "command": [binary, "mcp"], "enabled": True}
    if environment:
        server["environment"] = dict(environment)
    return json.dumps({"$schema": "https://opencode.ai/config.json", "mcp": {"telebrowser": server}}, indent=2)


_MAKERS = {"claude": claude, "codex": codex, "opencode": opencode}
_PLACES = {
    "claude": "Claude Code: .mcp.json in the project, or for all projects: claude mcp add --scope user telebrowser -- <command> mcp",
    "codex": "Codex CLI: ~/.codex/config.toml",
    "opencode": "opencode: opencode.json in the project, or ~/.config/opencode/opencode.json",
}

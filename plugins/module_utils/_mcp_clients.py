# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server's entry in the configuration of an MCP client, and nothing else changed. **Private** to the collection."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _toml_text as toml_text

try:
    import tomllib
except ImportError:
    tomllib = None

SECTIONS = {"claude": "mcpServers", "codex": "mcp_servers", "cursor": "mcpServers", "opencode": "mcp", "vscode": "servers"}
"""The clients, and the key under which each one's file lists servers."""
OWN_VARIABLES = ("TELEBROWSER_URL", "TELEBROWSER_CONFIG_DIR")
"""Set by us or not at all; a person's other variables of the entry stay."""
CODEX_TIMEOUT = 180
"""Seconds; the client's own 60 are less than a page may take."""
INDENT = re.compile(r'\n([ \t]+)"')


class ClientError(Exception):
    """One line for the operator."""


class Server(NamedTuple):
    """How a client starts the server."""

    name: str
    command: str
    args: List[str]
    env: Dict[str, str]


def changed(client: str, text: str, name: str, server: Optional[Server]) -> str:
    """The client's configuration with the server in it, or without it when ``server`` is None. Raises `ClientError`."""
    if client == "codex":
        return _codex(text, name, server)
    return _json(text, client, name, server)


def entry(client: str, server: Server, old: Dict[str, Any]) -> Dict[str, Any]:
    """The entry of ``server``; what a person added to the ``old`` one stays."""
    new = copy.deepcopy(old)
    if client == "opencode":
        new.update({"type": "local", "command": [server.command, *server.args]})
        new.setdefault("enabled", True)
    else:
        if client == "vscode":
            new["type"] = "stdio"
        new.update({"command": server.command, "args": list(server.args)})
        if client == "codex":
            new.setdefault("tool_timeout_sec", CODEX_TIMEOUT)
    variables = "environment" if client == "opencode" else "env"
    kept = old.get(variables, {})
    if not isinstance(kept, dict):
        raise ClientError("%s of the server %s is not a table; mend it by hand" % (variables, server.name))
    env = {key: value for key, value in kept.items() if key not in OWN_VARIABLES}
    env.update(server.env)
    new.pop(variables, None)
    if env or (variables in old and not kept):
        new[variables] = env
    return new


def _json(text: str, client: str, name: str, server: Optional[Server]) -> str:
    data = _read_json(text)
    section = SECTIONS[client]
    servers = data.get(section, {})
    if not isinstance(servers, dict) or not isinstance(servers.get(name, {}), dict):
        raise ClientError("%s is not a table of servers; mend it by hand" % section)
    before = copy.deepcopy(data)
    if server is not None:
        if not data and client == "opencode":
            data["$schema"] = "https://opencode.ai/config.json"
        data.setdefault(section, {})[name] = entry(client, server, servers.get(name, {}))
    elif name in servers:
        del servers[name]
        if not servers:
            del data[section]
    if data == before:
        return text
    found = INDENT.search(text)
    indent = found.group(1) if found else None if text.strip() not in ("", "{}") else 2
    dumped = json.dumps(data, indent=indent, ensure_ascii=bool(text) and _is_ascii(text))
    return dumped + ("\n" if not text or text.endswith("\n") else "")


def _is_ascii(text: str) -> bool:
    return all(ord(letter) < 128 for letter in text)


def _read_json(text: str) -> Dict[str, Any]:
    if not text.strip():
        return {}
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except ValueError as error:
        raise ClientError("it is not plain JSON (%s); with comments in it, add the server by hand" % error) from None
    if not isinstance(data, dict):
        raise ClientError("it is not a JSON object; mend it by hand")
    return data


def _object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [key for key, value in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ClientError("it has %r twice in one object, of which a program sees the last only; mend it by hand" % twice)
    return result


def _codex(text: str, name: str, server: Optional[Server]) -> str:
    data = _read_toml(text)
    servers = data.get("mcp_servers", {})
    old = servers.get(name) if isinstance(servers, dict) else None
    if not isinstance(servers, dict) or not isinstance(old, (dict, type(None))):
        raise ClientError("mcp_servers is not a table of servers; mend it by hand")
    table = ["mcp_servers", name]
    wanted = copy.deepcopy(data)
    if server is None:
        if old is None:
            return text
        del wanted["mcp_servers"][name]
    else:
        new = entry("codex", server, old or {})
        if new == old:
            return text
        wanted.setdefault("mcp_servers", {})[name] = new
    try:
        result = toml_text.without_table(text, table) if server is None else _with_server(text, table, old or {}, new)
        meant = tomllib.loads(result)
    except (toml_text.TomlError, tomllib.TOMLDecodeError):
        meant = None
    if meant is not None and server is None and "mcp_servers" not in meant and not wanted["mcp_servers"]:
        del wanted["mcp_servers"]
    if meant != wanted:
        raise ClientError("the server %s is written there in a form that is not changed safely; write it as a table [mcp_servers.%s]" % (name, name))
    return result


def _with_server(text: str, table: List[str], old: Dict[str, Any], new: Dict[str, Any]) -> str:
    plain = {key: value for key, value in new.items() if key != "env" and old.get(key) != value}
    env, kept = new.get("env", {}), old.get("env", {})
    inline = kept and toml_text.find(text, [*table, "env"]) is None
    if inline and env != kept:
        plain["env"] = env
    text = toml_text.with_values(text, table, plain)
    if env != kept and not inline:
        unset = [key for key in kept if key not in env]
        text = toml_text.with_values(text, [*table, "env"], {key: value for key, value in env.items() if kept.get(key) != value}, unset)
        if not env:
            text = toml_text.without_table(text, [*table, "env"])
    return text


def _read_toml(text: str) -> Dict[str, Any]:
    if tomllib is None:
        raise ClientError("codex needs a Python of at least 3.11 for this module; set ansible_python_interpreter to one")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClientError("it is not valid TOML (%s); mend it by hand" % error) from None

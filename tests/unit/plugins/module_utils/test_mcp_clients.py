# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import json

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _mcp_clients as clients
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _toml_text as toml_text

SERVER = clients.Server("telebrowser", "/usr/local/bin/telebrowser", ["mcp"], {})
PLACED = clients.Server("telebrowser", "/usr/local/bin/telebrowser", ["mcp"], {"TELEBROWSER_CONFIG_DIR": "/etc/agent"})

JSON = {
    "claude": {"mcpServers": {"telebrowser": {"command": "/usr/local/bin/telebrowser", "args": ["mcp"]}}},
    "opencode": {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {"telebrowser": {"type": "local", "command": ["/usr/local/bin/telebrowser", "mcp"], "enabled": True}},
    },
    "vscode": {"servers": {"telebrowser": {"type": "stdio", "command": "/usr/local/bin/telebrowser", "args": ["mcp"]}}},
    "cursor": {"mcpServers": {"telebrowser": {"command": "/usr/local/bin/telebrowser", "args": ["mcp"]}}},
}

FULL = '''# mine
model = "o9" # the good one
notes = """
[mcp_servers.telebrowser]
command = 'not a table'
"""

[mcp_servers.other]
command = "other"
args = [
  "a", # ]
  ["b"],
]

# and this
[mcp_servers."telebrowser"] # here
args = [
  "mcp",
]
startup_timeout_sec = 20
command = '/old/telebrowser'

[mcp_servers.telebrowser.env]
HTTPS_PROXY = "http://proxy"
TELEBROWSER_URL = "http://old"

[profiles.x]
model = 1
'''

needs_toml = pytest.mark.skipif(clients.tomllib is None, reason="tomllib came with Python 3.11")


@pytest.mark.parametrize("client", sorted(JSON))
def test_a_new_json_file_is_what_the_launcher_prints(client):
    text = clients.changed(client, "", "telebrowser", SERVER)
    assert json.loads(text) == JSON[client]
    assert text.endswith("}\n")


@pytest.mark.parametrize("client", sorted(JSON))
def test_everything_else_in_json_stays_with_its_order(client):
    other = '{\n    "z": [1, 2.50, "é"],\n    "mcpServers": {"x": {"command": "x"}},\n    "mcp": {"x": {}},\n    "servers": {"x": {}},\n    "a": null\n}'
    text = clients.changed(client, other, "telebrowser", SERVER)
    data = json.loads(text)
    section = clients.SECTIONS[client]
    added = data[section].pop("telebrowser")
    assert added == JSON[client][section]["telebrowser"]
    assert data == json.loads(other)
    assert list(data) == ["z", "mcpServers", "mcp", "servers", "a"]
    assert '\n    "z"' in text and "é" in text and not text.endswith("\n")
    assert clients.changed(client, text, "telebrowser", SERVER) == text
    assert json.loads(clients.changed(client, text, "telebrowser", None)) == json.loads(other)


def test_what_a_person_added_to_the_entry_stays():
    old = {"mcpServers": {"telebrowser": {"command": "old", "timeout": 5, "env": {"HTTPS_PROXY": "p", "TELEBROWSER_URL": "http://old"}}}}
    new = json.loads(clients.changed("claude", json.dumps(old), "telebrowser", PLACED))["mcpServers"]["telebrowser"]
    assert new == {
        "command": "/usr/local/bin/telebrowser",
        "args": ["mcp"],
        "timeout": 5,
        "env": {"HTTPS_PROXY": "p", "TELEBROWSER_CONFIG_DIR": "/etc/agent"},
    }


def test_a_disabled_server_stays_disabled():
    old = {"mcp": {"telebrowser": {"type": "local", "command": ["old"], "enabled": False}}}
    assert json.loads(clients.changed("opencode", json.dumps(old), "telebrowser", SERVER))["mcp"]["telebrowser"]["enabled"] is False


@pytest.mark.parametrize(
    "text, words",
    [
        ('{"a": 1, // mine\n}', "not plain JSON"),
        ("[1]", "not a JSON object"),
        ('{"mcpServers": []}', "not a table"),
        ('{"mcpServers": {"telebrowser": "x"}}', "not a table"),
        ('{"a": 1, "a": 2}', "twice"),
    ],
)
def test_json_that_would_lose_something_is_refused(text, words):
    with pytest.raises(clients.ClientError, match=words):
        clients.changed("claude", text, "telebrowser", SERVER)


@needs_toml
def test_a_new_toml_file_is_what_the_launcher_prints():
    assert clients.changed("codex", "", "telebrowser", SERVER) == (
        '[mcp_servers.telebrowser]\ncommand = "/usr/local/bin/telebrowser"\nargs = ["mcp"]\ntool_timeout_sec = 180\n'
    )


@needs_toml
def test_one_table_of_toml_changes_and_every_other_line_stays():
    text = clients.changed("codex", FULL, "telebrowser", PLACED)
    assert text == (
        FULL.replace("command = '/old/telebrowser'\n", 'command = "/usr/local/bin/telebrowser"\ntool_timeout_sec = 180\n').replace(
            'TELEBROWSER_URL = "http://old"\n', 'TELEBROWSER_CONFIG_DIR = "/etc/agent"\n'
        )
    )
    assert clients.changed("codex", text, "telebrowser", PLACED) == text


@needs_toml
def test_a_table_of_toml_goes_with_its_variables_and_nothing_else():
    text = clients.changed("codex", FULL, "telebrowser", None)
    data, before = clients.tomllib.loads(text), clients.tomllib.loads(FULL)
    del before["mcp_servers"]["telebrowser"]
    assert data == before
    assert "# and this" in text and "[profiles.x]" in text
    assert clients.changed("codex", text, "telebrowser", None) == text


@needs_toml
@pytest.mark.parametrize("text", ["", "a = 1", "a = 1\n", "[x]\ny = [\n 1,\n]\n# end"])
def test_in_and_out_again_keeps_what_was_there(text):
    inside = clients.changed("codex", text, "telebrowser", PLACED)
    outside = clients.changed("codex", inside, "telebrowser", None)
    assert outside.strip() == text.strip()


@needs_toml
def test_variables_within_the_table_are_changed_there():
    old = '[mcp_servers.telebrowser]\ncommand = "x"\nenv = { A = "1", TELEBROWSER_URL = "u" }\n'
    text = clients.changed("codex", old, "telebrowser", SERVER)
    assert clients.tomllib.loads(text)["mcp_servers"]["telebrowser"]["env"] == {"A": "1"}
    assert 'env = { A = "1" }' in text


@needs_toml
@pytest.mark.parametrize(
    "text, words",
    [
        ('mcp_servers = { telebrowser = { command = "x" } }\n', "form"),
        ('mcp_servers = { other = { command = "x" } }\n', "form"),
        ('[mcp_servers]\ntelebrowser.command = "x"\n', "form"),
        ("a = \n", "not valid TOML"),
        ("mcp_servers = 1\n", "not a table"),
    ],
)
def test_toml_that_would_lose_something_is_refused(text, words):
    with pytest.raises(clients.ClientError, match=words):
        clients.changed("codex", text, "telebrowser", SERVER)


@pytest.mark.parametrize(
    "text, keys",
    [
        ("a.b = 1\n", [("a", "b")]),
        ("\"a b\".'c' = 1", [("a b", "c")]),
        ("[a]\nb = '''\n[c]\n'''\n[d]", [("a",), ("b",), ("d",)]),
        ('a = """x\\"""" \n[b]', [("a",), ("b",)]),
        ('a = """x""""\nb = 1', [("a",), ("b",)]),
        ("a = [ # [\n [1],\n]\n[[b]]\n", [("a",), ("b",)]),
        ("a = { b = [1] }\n\n# x = 1\n", [("a",)]),
        ("a = 1\r\n[b]\r\n", [("a",), ("b",)]),
    ],
)
def test_text_is_cut_into_statements(text, keys):
    assert [part.keys for part in toml_text.statements(text)] == keys


@pytest.mark.parametrize("text", ["a", "a = [1\n", "a = 'x\n", "= 1\n", "[", "[a"])
def test_text_that_is_no_toml_is_cut_nowhere_or_harmlessly(text):
    with contextlib.suppress(toml_text.TomlError):
        assert all(0 <= part.start < part.end <= len(text) for part in toml_text.statements(text))

"""What is in a client's file stays in it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from telebrowser.cli import merge
from telebrowser.cli.clients import CLIENTS
from telebrowser.cli.config import PASSED_ON
from telebrowser.errors import EXIT_CONFIG, EXIT_FAILED, ExitError

URL = {"TELEBROWSER_URL": "http://10.0.0.1:5858"}


def install(client: str, file: Path, command: str = "/opt/telebrowser", environment: dict[str, str] | None = None) -> merge.Installed:
    return merge.install(CLIENTS[client], str(file), command, environment or {}, PASSED_ON)


def test_other_servers_and_keys_stay_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    before = {"numStartups": 12, "mcpServers": {"other": {"command": "x", "env": {"KEY": "1"}}}, "projects": {"/a": {"history": ["ü"]}}, "ratio": 0.1}
    file.write_text(json.dumps(before, indent=4, ensure_ascii=False))
    file.chmod(0o640)
    done = install("claude", file, environment=URL)
    after = json.loads(file.read_text())
    assert done.changed and done.backup and json.loads(Path(done.backup).read_text()) == before
    assert after == {**before, "mcpServers": {**before["mcpServers"], "telebrowser": {"command": "/opt/telebrowser", "args": ["mcp"], "env": URL}}}  # type: ignore[dict-item]
    assert list(after) == list(before) and "ü" in file.read_text() and '\n    "numStartups"' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    assert install("claude", file, environment=URL) == merge.Installed(str(file), False, None)
    assert len(os.listdir(tmp_path)) == 2


def test_what_a_person_added_to_our_entry_stays_and_our_variables_follow(tmp_path: Path) -> None:
    file = tmp_path / "opencode.json"
    ours = {"type": "local", "command": ["/old", "mcp"], "enabled": False, "timeout": 9, "environment": {"TELEBROWSER_URL": "http://old", "LANG": "C"}}
    file.write_text(json.dumps({"mcp": {"telebrowser": ours}}))
    install("opencode", file)
    expected = {"type": "local", "command": ["/opt/telebrowser", "mcp"], "enabled": False, "timeout": 9, "environment": {"LANG": "C"}}
    assert json.loads(file.read_text())["mcp"]["telebrowser"] == expected


@pytest.mark.parametrize("text", ['{"a": 1, // note\n}', "[]", '{"a": 1, "a": 2}', '{"servers": []}', '{"servers": {"telebrowser": 1}}', "\x00"])
def test_json_that_cannot_be_changed_without_loss_is_left(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(ExitError) as error:
        install("vscode", file)
    assert error.value.exit_code == EXIT_CONFIG and str(file) in str(error.value) and "\n" not in str(error.value)
    assert file.read_text() == text and os.listdir(tmp_path) == ["mcp.json"]


CODEX = """# my settings
model = "o9"   # keep

[mcp_servers.other]
command = "x"

[mcp_servers.telebrowser]  # the browser
startup_timeout_sec = 20
command = "/old"   # a note of mine
args = ["mcp"]
tool_timeout_sec = 60

[mcp_servers.telebrowser.env]
TELEBROWSER_URL = "http://old"
LANG = "C"

[profiles.x]
text = '''
[not.a.header]
'''
"""


def test_toml_keeps_comments_order_and_what_a_person_added(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(CODEX)
    done = install("codex", file, environment={"TELEBROWSER_CONFIG_DIR": "/c"})
    text = file.read_text()
    expected: dict[str, Any] = tomllib.loads(CODEX)
    expected["mcp_servers"]["telebrowser"] |= {"command": "/opt/telebrowser", "env": {"LANG": "C", "TELEBROWSER_CONFIG_DIR": "/c"}}
    assert tomllib.loads(text) == expected and done.backup and Path(done.backup).read_text() == CODEX
    assert set(CODEX.splitlines()) - set(text.splitlines()) == {'command = "/old"   # a note of mine', 'TELEBROWSER_URL = "http://old"'}
    assert not install("codex", file, environment={"TELEBROWSER_CONFIG_DIR": "/c"}).changed


@pytest.mark.parametrize("before", ["", "x = 1", "x = 1\n", "[mcp_servers]\n", "[mcp_servers.other]\ncommand = 'x'\n"])
def test_toml_gets_a_new_entry(tmp_path: Path, before: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    install("codex", file, environment=URL)
    entry = {"command": "/opt/telebrowser", "args": ["mcp"], "tool_timeout_sec": 180, "env": URL}
    read = tomllib.loads(file.read_text())
    assert read["mcp_servers"].pop("telebrowser") == entry and file.read_text().startswith(before)
    assert read == {"mcp_servers": {}, **tomllib.loads(before)}
    assert not install("codex", file, environment=URL).changed


@pytest.mark.parametrize(
    "text",
    [
        "broken = ",
        'mcp_servers = { telebrowser = { command = "/old" } }\n',
        '[mcp_servers.telebrowser]\ncommand = """\n/old\n"""\n',
        "mcp_servers = 1\n",
        "[mcp_servers]\ntelebrowser = 1\n",
    ],
)
def test_toml_that_cannot_be_changed_without_loss_is_left(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ExitError) as error:
        install("codex", file)
    assert error.value.exit_code == EXIT_CONFIG and "\n" not in str(error.value)
    assert file.read_text() == text and os.listdir(tmp_path) == ["config.toml"]


def test_a_link_to_dotfiles_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "mcp.json"
    real.write_text("{}")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    install("cursor", link)
    assert link.is_symlink() and "telebrowser" in real.read_text()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExitError) as error:
        install("cursor", tmp_path / "file" / "mcp.json")
    assert error.value.exit_code in (EXIT_FAILED, EXIT_CONFIG)

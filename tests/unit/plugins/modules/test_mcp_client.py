# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.modules import mcp_client

ENTRY = {"command": "/usr/bin/telebrowser", "args": ["mcp"]}


@pytest.fixture
def register(run_module, tmp_path):
    """Runs the module for Claude Code with a file in the test's folder."""

    def run(**params):
        given = {"client": "claude", "path": str(tmp_path / "home" / ".claude.json"), "command": "/usr/bin/telebrowser", **params}
        return run_module(mcp_client.main, **given)

    return run


def test_a_new_file_is_private(register, tmp_path):
    assert register(check_mode=True)["changed"]
    assert not (tmp_path / "home").exists()
    result = register()
    path = tmp_path / "home" / ".claude.json"
    assert result["changed"] and "backup_file" not in result
    assert json.loads(path.read_text()) == {"mcpServers": {"telebrowser": ENTRY}}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not register()["changed"]


def test_a_file_keeps_its_mode_and_a_copy(register, tmp_path):
    path = tmp_path / "home" / ".claude.json"
    path.parent.mkdir()
    path.write_text('{"key": "sk-secret"}')
    path.chmod(0o640)
    result = register(backup=True)
    assert path.stat().st_mode & 0o777 == 0o640
    with open(result["backup_file"], encoding="utf-8") as file:
        assert file.read() == '{"key": "sk-secret"}'
    # The diff is of the entry alone.
    assert "sk-secret" not in json.dumps(result["diff"])
    assert [name for name in os.listdir(path.parent) if not name.startswith(".claude.json")] == []


def test_a_link_of_the_users_own_is_followed(register, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "dotfiles.json").write_text("{}")
    (tmp_path / "home" / ".claude.json").symlink_to(tmp_path / "dotfiles.json")
    register()
    assert (tmp_path / "home" / ".claude.json").is_symlink()
    assert json.loads((tmp_path / "dotfiles.json").read_text())["mcpServers"]["telebrowser"] == ENTRY


def test_other_variables_are_not_shown(register, tmp_path):
    (tmp_path / "home").mkdir()
    old = {"mcpServers": {"telebrowser": {"command": "x", "env": {"KEY": "sk-secret", "TELEBROWSER_URL": "http://old"}}}}
    (tmp_path / "home" / ".claude.json").write_text(json.dumps(old))
    result = register(env={"TELEBROWSER_URL": "http://new"})
    assert "sk-secret" not in json.dumps(result)
    assert "http://old" in result["diff"]["before"] and "http://new" in result["diff"]["after"]
    assert json.loads((tmp_path / "home" / ".claude.json").read_text())["mcpServers"]["telebrowser"]["env"]["KEY"] == "sk-secret"


def test_absent(register, tmp_path):
    assert not register(state="absent")["changed"]
    register()
    assert register(state="absent", check_mode=True)["changed"]
    assert register(state="absent")["changed"]
    assert json.loads((tmp_path / "home" / ".claude.json").read_text()) == {}
    assert not register(state="absent")["changed"]


@pytest.mark.parametrize(
    "params, words",
    [
        ({"command": "telebrowser"}, "absolute path"),
        ({"user": "nobody-here"}, "there is no user"),
        ({"client": "vim"}, "value of client must be one of"),
        ({"command": None}, "absolute path"),
    ],
)
def test_what_cannot_work_is_refused(register, params, words):
    result = register(**params)
    assert result["failed"] and words in result["msg"]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[]"])
def test_a_file_that_is_not_understood_stays(register, tmp_path, content):
    (tmp_path / "home").mkdir()
    path = tmp_path / "home" / ".claude.json"
    path.write_bytes(content)
    assert register()["failed"]
    assert path.read_bytes() == content


def test_a_folder_or_a_pipe_in_its_place_is_an_error_and_not_a_wait(register, tmp_path):
    (tmp_path / "home").mkdir()
    os.mkfifo(tmp_path / "home" / ".claude.json")
    assert "is not a configuration file" in register()["msg"]

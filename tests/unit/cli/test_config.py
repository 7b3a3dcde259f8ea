"""The configuration of MCP clients."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from telebrowser.cli import config
from telebrowser.cli.clients import CLIENTS, expand
from telebrowser.cli.main import main
from telebrowser.errors import EXIT_CONFIG, EXIT_USAGE, ExitError

Capture = pytest.CaptureFixture[str]
BINARY = '/opt/with "quotes" and spaces/telebrowser'
ENVIRONMENT = {"TELEBROWSER_URL": "http://10.0.0.1:5858"}


@pytest.mark.parametrize(
    ("client", "section", "entry"),
    [
        ("claude", "mcpServers", {"command": BINARY, "args": ["mcp"], "env": ENVIRONMENT}),
        ("cursor", "mcpServers", {"command": BINARY, "args": ["mcp"], "env": ENVIRONMENT}),
        ("vscode", "servers", {"type": "stdio", "command": BINARY, "args": ["mcp"], "env": ENVIRONMENT}),
        ("opencode", "mcp", {"type": "local", "command": [BINARY, "mcp"], "enabled": True, "environment": ENVIRONMENT}),
        ("codex", "mcp_servers", {"command": BINARY, "args": ["mcp"], "tool_timeout_sec": 180, "env": ENVIRONMENT}),
    ],
)
def test_each_client_gets_what_it_reads(client: str, section: str, entry: dict[str, object]) -> None:
    text = CLIENTS[client].text(BINARY, ENVIRONMENT)
    read = tomllib.loads(text) if client == "codex" else json.loads(text)
    assert read[section] == {"telebrowser": entry}
    assert set(read) - {section} == ({"$schema"} if client == "opencode" else set())


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_passed_on_that_is_not_set(client: str) -> None:
    assert "env" not in CLIENTS[client].text(BINARY, {}).replace("telebrowser", "")


def test_the_files_lie_where_the_clients_look() -> None:
    environ = {"CODEX_HOME": "/c", "XDG_CONFIG_HOME": ""}
    home = os.path.expanduser("~")
    assert {name: expand(client.file, environ).replace(home, "~") for name, client in CLIENTS.items()} == {
        "claude": "~/.claude.json",
        "codex": "/c/config.toml",
        "opencode": "~/.config/opencode/opencode.json",
        "vscode": "~/.config/Code/User/mcp.json",
        "cursor": "~/.cursor/mcp.json",
    }


def test_the_address_and_folder_are_passed_on_and_never_the_secret() -> None:
    environ = {"TELEBROWSER_URL": "http://x", "TELEBROWSER_CONFIG_DIR": "~/c", "TELEBROWSER_SECRET": "s" * 20, "TELEBROWSER_PROJECT": "p"}
    assert config.passed_on({}, environ) == {"TELEBROWSER_URL": "http://x", "TELEBROWSER_CONFIG_DIR": os.path.expanduser("~/c")}
    assert config.passed_on({"url": "http://y"}, environ)["TELEBROWSER_URL"] == "http://y"


def test_all_clients_by_default_and_one_on_demand(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEBROWSER_SECRET", "very secret indeed")
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert all(client.title in shown for client in CLIENTS.values()) and "very secret" not in shown
    assert main(["config", "--client", "codex"]) == 0
    shown = capsys.readouterr().out
    assert "mcp_servers" in shown and "mcpServers" not in shown
    assert main(["config", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"command", "args", "env", "clients", "files"}
    assert set(told["clients"]) == set(told["files"]) == {"claude", "codex", "opencode", "vscode", "cursor"}


@pytest.mark.parametrize("words", [["--client", "emacs"], ["--install"], ["--file", "/tmp/x", "--client", "claude"]])
def test_what_cannot_be_meant_is_refused(words: list[str]) -> None:
    assert main(["config", *words]) == EXIT_USAGE


def test_install_and_install_again(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "deep" / "mcp.json"
    for changed in (True, False):
        assert main(["config", "--client", "cursor", "--install", "--file", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"client": "cursor", "file": str(file), "changed": changed, "backup": None}
    assert json.loads(file.read_text())["mcpServers"]["telebrowser"]["args"] == ["mcp"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_skill_is_printed_and_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["config", "--skill"]) == 0
    shown = capsys.readouterr().out
    assert main(["config", "--skill", "--client", "claude", "--install"]) == 0
    assert (tmp_path / ".claude" / "skills" / "telebrowser" / "SKILL.md").read_text().rstrip() == shown.rstrip()
    assert main(["config", "--skill", "--client", "codex", "--install"]) == 0
    assert (tmp_path / ".agents" / "skills" / "telebrowser" / "SKILL.md").exists()


def test_the_skill_is_what_clients_expect_of_one() -> None:
    head, _, body = config.skill().removeprefix("---\n").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.split("\n"))
    assert fields["name"] == "telebrowser" and 100 < len(fields["description"]) <= 1024 and set(fields) == {"name", "description"}
    assert len(body) < 5000  # it costs the agent's context


def test_the_skill_of_the_collection_is_the_one_of_the_package() -> None:
    collection = Path(__file__).parents[3] / "files" / "skill" / "telebrowser" / "SKILL.md"
    assert collection.read_text() == config.skill()


def test_the_skill_names_tools_that_there_are() -> None:
    import re

    from telebrowser.mcp.tools import BY_NAME

    assert set(re.findall(r"browser_\w+", config.skill().replace("browser_*", ""))) <= set(BY_NAME)


def test_the_command_is_an_absolute_path() -> None:
    assert config.launcher_path() == str(Path(sys.executable).parent / "telebrowser")


def test_a_missing_command_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExitError) as caught:
        config.launcher_path()
    assert caught.value.exit_code == EXIT_CONFIG

"""The configuration of MCP clients."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from telebrowser.cli import config
from telebrowser.cli.main import main
from telebrowser.errors import EXIT_CONFIG, EXIT_USAGE, ExitError

Capture = pytest.CaptureFixture[str]
BINARY = '/opt/with "quotes" and spaces/telebrowser'
ENVIRONMENT = {"TELEBROWSER_URL": "http://10.0.0.1:5858"}


def test_each_client_gets_what_it_reads() -> None:
    claude = json.loads(config.claude(BINARY, ENVIRONMENT))
    assert claude == {"mcpServers": {"telebrowser": {"command": BINARY, "args": ["mcp"], "env": ENVIRONMENT}}}
    codex = tomllib.loads(config.codex(BINARY, ENVIRONMENT))["mcp_servers"]["telebrowser"]
    assert codex["command"] == BINARY and codex["args"] == ["mcp"] and codex["env"] == ENVIRONMENT
    opencode = json.loads(config.opencode(BINARY, ENVIRONMENT))["mcp"]["telebrowser"]
    assert opencode == {"type": "local", "command": [BINARY, "mcp"], "enabled": True, "environment": ENVIRONMENT}


def test_nothing_is_passed_on_that_is_not_set() -> None:
    assert "env" not in config.claude(BINARY, {}) and "env" not in config.codex(BINARY, {}) and "environment" not in config.opencode(BINARY, {})


def test_the_address_and_folder_are_passed_on_and_never_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"TELEBROWSER_URL": "http://x", "TELEBROWSER_CONFIG_DIR": "~/c", "TELEBROWSER_SECRET": "s" * 20, "TELEBROWSER_PROJECT": "p"}
    assert config.passed_on({}, environ) == {"TELEBROWSER_URL": "http://x", "TELEBROWSER_CONFIG_DIR": os.path.expanduser("~/c")}
    assert config.passed_on({"url": "http://y"}, environ)["TELEBROWSER_URL"] == "http://y"


def test_all_clients_by_default_and_one_on_demand(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEBROWSER_SECRET", "very secret indeed")
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("Claude Code", "Codex CLI", "opencode")) and "very secret" not in shown
    assert main(["config", "--client", "codex"]) == 0
    shown = capsys.readouterr().out
    assert "mcp_servers" in shown and "mcpServers" not in shown
    assert main(["config", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["clients"]) == set(config.CLIENTS)
    assert main(["config", "--client", "emacs"]) == EXIT_USAGE


def test_the_command_is_an_absolute_path(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.launcher_path() == str(Path(sys.executable).parent / "telebrowser")


def test_a_missing_command_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExitError) as caught:
        config.launcher_path()
    assert caught.value.exit_code == EXIT_CONFIG

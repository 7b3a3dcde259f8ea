"""Dispatch, help, and every error as one line and an exit code."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from telebrowser import __version__
from telebrowser.cli import main as entry
from telebrowser.cli import project as some_verb
from telebrowser.cli.main import VERBS, main
from telebrowser.cli.options import Verb
from telebrowser.errors import (
    CODES,
    EXIT_BROWSER,
    EXIT_FAILED,
    EXIT_FORBIDDEN,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_TIMEOUT,
    EXIT_USAGE,
    EXITS,
    ConfigError,
    TelebrowserError,
)

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_a_module_that_describes_it(verb: str, capsys: Capture) -> None:
    module = importlib.import_module(f"telebrowser.cli.{verb}")
    assert isinstance(module.VERB, Verb) and module.VERB.name == verb and callable(module.run)
    names = [option.name for option in module.VERB.options]
    assert len(set(names)) == len(names)
    assert main([verb, "--help"]) == EXIT_OK
    assert f"usage: telebrowser {verb}" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["status", "start", "stop", "focus", "hold", "downloads", "ws", "http", "project", "doctor", "config"])
def test_verbs_that_print_data_take_json(verb: str) -> None:
    assert "json" in {option.name for option in importlib.import_module(f"telebrowser.cli.{verb}").VERB.options}


@pytest.mark.parametrize("verb", ["ws", "http"])
def test_addresses_that_hold_a_token_say_so(verb: str, capsys: Capture) -> None:
    main([verb, "--help"])
    assert "token" in capsys.readouterr().out


def test_help_lists_every_verb_and_exit_code(capsys: Capture) -> None:
    assert main(["--help"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert all(f"  {verb} " in shown for verb in VERBS) and all(meaning in shown for meaning in EXITS.values())


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == EXIT_OK
    assert capsys.readouterr().out == f"telebrowser {__version__}\n"


@pytest.mark.parametrize("line", [[], ["nothing"], ["--project", "x", "status"], ["../project"], ["common"], ["main"]])
def test_an_unknown_verb_is_one_line(line: list[str], capsys: Capture) -> None:
    assert main(line) == EXIT_USAGE
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("telebrowser: ") and err.count("\n") == 1 and "--help" in err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("bad\nvalue"), 3, "bad value"),
        (TelebrowserError("BROWSER_UNAVAILABLE", "none"), EXIT_BROWSER, "[BROWSER_UNAVAILABLE] none. "),
        (TelebrowserError("FORBIDDEN", "no"), EXIT_FORBIDDEN, "[FORBIDDEN]"),
        (TelebrowserError("TIMEOUT", "late"), EXIT_TIMEOUT, "[TIMEOUT]"),
        (TelebrowserError("NOT_FOUND", "gone"), EXIT_FAILED, "[NOT_FOUND]"),
        (KeyboardInterrupt(), EXIT_INTERRUPTED, "interrupted"),
        (ValueError("http://x/t/shop.secretdigest"), EXIT_FAILED, "ValueError at test_main.py:"),
    ],
)
def test_errors_of_a_verb(error: BaseException, code: int, said: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: Any) -> int:
        raise error

    monkeypatch.setattr(some_verb, "run", fail)
    assert main(["project"]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("telebrowser: ") and err.count("\n") == 1 and said in err
    assert "secretdigest" not in err


def test_codes_that_become_exit_codes_exist() -> None:
    assert set(entry._EXIT_OF_CODE) <= set(CODES) and set(entry._EXIT_OF_CODE.values()) <= set(EXITS)


def imported(*arguments: str, cwd: Path) -> set[str]:
    """The modules that a verb imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "telebrowser", *arguments], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_project_imports_next_to_nothing(tmp_path: Path) -> None:
    modules = imported("project", cwd=tmp_path)
    assert not modules & {
        "argparse",
        "asyncio",
        "json",
        "socket",
        "ssl",
        "subprocess",
        "logging",
        "hashlib",
        "telebrowser.config",
        "telebrowser.launcher",
        "websockets",
    }


def test_mcp_imports_no_event_loop_and_no_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEBROWSER_SECRET", "x" * 32)
    monkeypatch.setenv("TELEBROWSER_URL", "http://127.0.0.1:1")
    modules = imported("mcp", cwd=tmp_path)
    assert "websockets.client" in modules
    assert not modules & {"argparse", "asyncio", "ssl", "subprocess", "ctypes", "http.client", "urllib.request", "mcp", "pydantic", "anyio", "aiohttp"}


def test_a_closed_stdout_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m telebrowser --help | true; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash", capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("0\n", "")

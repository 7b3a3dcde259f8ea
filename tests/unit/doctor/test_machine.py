"""What a machine needs, with machines that lack it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from telebrowser import config
from telebrowser.doctor import machine
from telebrowser.doctor.report import Failure, Note
from telebrowser.errors import ConfigError
from telebrowser.supervisor import chromium


@pytest.fixture
def settings() -> config.Settings:
    return config.load(config.SUPERVISOR, config.ENGINE, environ={})


def program(folder: Path, name: str, script: str) -> None:
    """A shell script that stands for a program."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_python_by_way_of_a_shim(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sys.executable in machine.python_version()
    monkeypatch.setattr(sys, "executable", "/root/.pyenv/shims/python3")
    with pytest.raises(Note, match="shim"):
        machine.python_version()


def test_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Failure) as caught:
        machine.program("Xvfb", "xvfb")
    assert "apt-get install xvfb" in caught.value.advice
    program(tmp_path, "Xvfb", "")
    assert machine.program("Xvfb", "xvfb") == str(tmp_path / "Xvfb")


def test_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Note, match="fc-list"):
        machine.fonts()
    program(tmp_path, "fc-list", "echo Some")
    assert machine.fonts() == "Latin, CJK and emoji"
    program(tmp_path, "fc-list", '[ "$1" = "" ] && echo Some; exit 0')
    with pytest.raises(Note, match="ja") as note:
        machine.fonts()
    assert note.value.advice.endswith("fonts-noto-cjk fonts-noto-color-emoji")
    program(tmp_path, "fc-list", "")
    with pytest.raises(Failure, match="no fonts"):
        machine.fonts()


def test_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_blocks=64 << 8, f_frsize=4096))
    with pytest.raises(Note, match="64 MiB"):
        machine.shared_memory()


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch, settings: config.Settings) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Note, match="root"):
        machine.sandbox(settings)
    assert machine.sandbox(settings.replace(browser_user="nobody")) == "on, as user nobody"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(chromium, "find_program", lambda path: "/usr/bin/chromium")
    monkeypatch.setattr(chromium, "choose_sandbox", lambda path, identity: chromium.Sandbox(False, "no"))
    with pytest.raises(Note, match="namespaces"):
        machine.sandbox(settings)
    monkeypatch.setattr(chromium, "choose_sandbox", lambda path, identity: chromium.Sandbox(True, None))
    assert machine.sandbox(settings) == "on"


def test_the_walls(monkeypatch: pytest.MonkeyPatch, settings: config.Settings, tmp_path: Path) -> None:
    monkeypatch.setattr(chromium, "find_program", lambda path: "/usr/bin/chromium")
    monkeypatch.setattr(chromium, "choose_sandbox", lambda path, identity: chromium.Sandbox(True, None))
    monkeypatch.setenv("PATH", str(tmp_path))
    for wanted, said in (("off", "TELEBROWSER_WALLS is off"), ("auto", "util-linux is not installed")):
        with pytest.raises(Note, match=said) as note:
            machine.walls_check(settings.replace(walls=wanted))
        assert "required" in note.value.advice
    with pytest.raises(ConfigError, match="util-linux is not installed"):
        machine.walls_check(settings.replace(walls="required"))
    for name in ("bwrap", "setsid"):
        program(tmp_path, name, "")
    assert machine.walls_check(settings).startswith("on")


def test_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert str(tmp_path / "not/there") in machine.disk(str(tmp_path / "not/there"))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5 << 20))
    with pytest.raises(Failure, match="5 MiB"):
        machine.disk(str(tmp_path))

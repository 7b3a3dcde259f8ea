"""The command line, environment and sandbox of browsers, and which program is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from telebrowser.datadir import DataDir
from telebrowser.errors import ConfigError, TelebrowserError
from telebrowser.supervisor import chromium
from telebrowser.supervisor.children import Identity
from telebrowser.supervisor.display import parse_size
from telebrowser.supervisor.profile import Profile, find_identity


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """The profile of a project; nothing is on disk."""
    return Profile(DataDir(tmp_path), "proj", None)


def test_the_command_line(profile: Profile) -> None:
    line = chromium.command("/usr/bin/chromium", profile, chromium.Sandbox(True, None), "1600x900")
    assert line[0] == "/usr/bin/chromium" and line[-1] == "about:blank"
    assert "--no-sandbox" not in line
    assert {f"--user-data-dir={profile.path}", "--window-name=[proj]", "--window-size=1600,900", "--remote-debugging-pipe"} <= set(line)
    assert not any("port" in option or "automation" in option.lower().replace("automationcontrolled", "") for option in line)
    # This one makes every navigation end in net::ERR_ABORTED (Chromium 156).
    assert "--disable-crashpad-for-testing" not in line
    assert "--no-sandbox" in chromium.command("/usr/bin/chromium", profile, chromium.Sandbox(False, "why"), "1600x900")


@pytest.mark.parametrize("with_gpu", [True, False])
def test_the_gpu_is_turned_off_only_where_there_is_none(profile: Profile, monkeypatch: pytest.MonkeyPatch, with_gpu: bool) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: with_gpu if str(path) == "/dev/dri" else os.path.exists(path))
    assert ("--disable-gpu" in chromium.command("c", profile, chromium.Sandbox(True, None), "1x1")) is not with_gpu


def test_the_environment_has_nothing_that_is_not_needed(profile: Profile) -> None:
    around = {
        "PATH": "/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "Europe/Berlin", "https_proxy": "http://p:1",
        "TELEBROWSER_SECRET": "s", "AWS_SECRET_ACCESS_KEY": "s", "DBUS_SESSION_BUS_ADDRESS": "x", "DISPLAY": ":9", "XDG_RUNTIME_DIR": "/run/user/0",
        "XAUTHORITY": "/root/.Xauthority", "WAYLAND_DISPLAY": "w", "SSH_AUTH_SOCK": "/x", "HOME": "/root", "CHROMIUM_FLAGS": "--x", "LD_PRELOAD": "/x.so",
    }  # fmt: skip
    environ = chromium.environment(profile, {"DISPLAY": ":5", "XAUTHORITY": "/own"}, around)
    home = profile.home
    assert environ == {
        "PATH": "/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "Europe/Berlin", "https_proxy": "http://p:1",
        "DISPLAY": ":5", "XAUTHORITY": "/own", "HOME": str(home), "TMPDIR": str(profile.temporary),
        "XDG_CONFIG_HOME": str(home / ".config"), "XDG_CACHE_HOME": str(home / ".cache"), "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"), "XDG_RUNTIME_DIR": str(home / ".run"),
    }  # fmt: skip
    assert chromium.environment(profile, {}, {})["PATH"]


def test_which_program_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "browser"
    program.write_text("#!/bin/sh\necho ' Chromium 9.8.7 '\n")
    with pytest.raises(TelebrowserError, match="CHROMIUM_PATH names no program") as caught:
        chromium.find_program(str(program))
    assert caught.value.code == "BROWSER_UNAVAILABLE"
    program.chmod(0o755)
    assert chromium.find_program(str(program)) == str(program)
    assert chromium.read_version(str(program)) == "Chromium 9.8.7"
    with pytest.raises(TelebrowserError, match="CHROMIUM_PATH names no program"):
        chromium.find_program(str(tmp_path))
    monkeypatch.setattr(chromium, "PROGRAMS", ("no-such-browser-anywhere",))
    with pytest.raises(TelebrowserError, match="not installed"):
        chromium.find_program(None)


@pytest.mark.parametrize("body", ["exit 3", "sleep 60"])
def test_a_program_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    program = tmp_path / "browser"
    program.write_text(f"#!/bin/sh\nexec {body}\n" if body.startswith("sleep") else f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setattr(chromium, "VERSION_DEADLINE", 0.5)
    with pytest.raises(TelebrowserError, match="does not run"):
        chromium.read_version(str(program))


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    someone = Identity("someone", 1234, 1234, ())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert chromium.choose_sandbox("/nowhere/chromium", None).on is False
    for helper, namespaces, on in ((True, False, True), (False, True, True), (False, False, False)):
        monkeypatch.setattr(chromium, "_has_setuid_helper", lambda program, helper=helper: helper)
        monkeypatch.setattr(chromium, "_has_user_namespaces", lambda identity, namespaces=namespaces: namespaces)
        chosen = chromium.choose_sandbox("/nowhere/chromium", someone)
        assert chosen.on is on and (chosen.warning is None) is on
        monkeypatch.setattr(os, "geteuid", lambda: 1234)
        assert chromium.choose_sandbox("/nowhere/chromium", None).on is on
        monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_users() -> None:
    assert find_identity("nobody").uid != 0
    with pytest.raises(ConfigError, match="does not exist"):
        find_identity("no-such-user-anywhere")
    with pytest.raises(ConfigError, match="unprivileged"):
        find_identity("root")


@pytest.mark.parametrize("text", ["", "1600", "1600x", "x900", "1600x900x24", "-1x900", "319x900", "1600x239", "16385x900", "a x b", "1600×900"])
def test_screen_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="TELEBROWSER_SCREEN"):
        parse_size(text)


def test_screen_sizes() -> None:
    assert parse_size(" 01600X900 ") == "1600x900"

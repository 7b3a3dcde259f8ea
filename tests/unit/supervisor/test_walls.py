"""Which walls are chosen, what is mounted inside of them, and what bubblewrap's numbers mean."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from telebrowser.datadir import DataDir
from telebrowser.errors import EXIT_CONFIG, ConfigError
from telebrowser.supervisor import mounts, walls
from telebrowser.supervisor.chromium import Sandbox
from telebrowser.supervisor.enclosure import Enclosure, exit_code
from telebrowser.supervisor.profile import Profile

ON = Sandbox(True, None)


def pairs(options: list[str], name: str) -> list[tuple[str, str]]:
    """The sources and places of every option ``name`` that has two values."""
    return [(options[index + 1], options[index + 2]) for index, word in enumerate(options) if word == name]


def places(options: list[str], name: str) -> list[str]:
    """The places of every option ``name`` that has one value."""
    return [options[index + 1] for index, word in enumerate(options) if word == name]


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """The profile of a project, not prepared."""
    return Profile(DataDir(tmp_path / "d"), "p", None)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with setsid only."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "setsid").symlink_to("/usr/bin/setsid")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def bubblewrap(folder: Path, script: str) -> None:
    """A bubblewrap of the test's own."""
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)


def test_without_bubblewrap_they_are_built_by_ourselves(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "bwrap" else found(name))
    # For root there is no sandbox to fit in, nor could it.
    chosen = walls.choose("required", None, ON if os.geteuid() else Sandbox(False, "root"), None, [])
    assert chosen.builder == walls.MASON and chosen.own_proc and chosen.warning is None


def test_where_proc_cannot_be_mounted_it_is_shared_and_told(programs: Path) -> None:
    bubblewrap(programs, 'case "$*" in *"--proc /proc"*) echo "bwrap: Can\'t mount proc" >&2; exit 1;; esac')
    chosen = walls.choose("required", None, ON, None, [])
    assert chosen.on and not chosen.own_proc and "names of each other's processes" in str(chosen.warning)
    command = chosen.command(["/usr/bin/chromium"], Profile(DataDir("/nowhere"), "p", None), {}, {})
    assert ("/proc", "/proc") in pairs(command, "--bind")


def test_off_is_said(programs: Path) -> None:
    chosen = walls.choose("off", None, ON, None, [])
    assert chosen.on is False and "TELEBROWSER_WALLS is off" in str(chosen.warning)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        # Without bubblewrap walls are built all the same; here no program can be found inside of them.
        (None, "cannot run true"),
        ("echo first >&2; echo 'bwrap: refused' >&2; exit 1", "(bwrap: refused)"),
        ("exit 7", "(exit code 7)"),
        ('case "$*" in *--map-root-user*) exit 3;; esac', "own sandbox does not work inside of them (exit code 3)"),
        ('case "$*" in *--version) exit 4;; esac', "/usr/bin/browser does not run inside of them (exit code 4)"),
        ("exec /bin/sleep 60", "no end within"),
    ],
)
def test_what_keeps_walls_away(programs: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, said: str) -> None:
    monkeypatch.setattr(walls, "PROBE_SECONDS", 0.5 if script and "sleep" in script else 20.0)
    if script is not None:
        bubblewrap(programs, script)
    chosen = walls.choose("auto", "/usr/bin/browser", ON, None, [])
    assert chosen.on is False and said in str(chosen.warning) and "without walls" in str(chosen.warning)
    with pytest.raises(ConfigError, match="TELEBROWSER_WALLS is required, but") as caught:
        walls.choose("required", "/usr/bin/browser", ON, None, [])
    assert said in str(caught.value) and caught.value.exit_code == EXIT_CONFIG


def test_without_a_sandbox_nothing_need_nest(programs: Path) -> None:
    bubblewrap(programs, 'case "$*" in *--map-root-user*) exit 3;; esac')
    assert walls.choose("auto", None, ON, None, []).on is False
    assert walls.choose("auto", None, Sandbox(False, "no"), None, []).on is True


def test_the_command(programs: Path, profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    bubblewrap(programs, "exit 0")
    chosen = walls.choose("auto", None, ON, None, [])
    assert chosen.on is True and chosen.warning is None
    display = {"DISPLAY": ":47", "XAUTHORITY": str(profile.home / ".Xauthority")}
    command = chosen.command(["/usr/bin/chromium", "--user-data-dir=x"], profile, display, {})
    assert command[0] == str(programs / "bwrap") and command[-3:] == [str(programs / "setsid"), "/usr/bin/chromium", "--user-data-dir=x"]
    assert {"--unshare-user", "--unshare-pid"} <= set(command) and "--die-with-parent" not in command and "--unshare-net" not in command
    assert ("--cap-drop" in command) is (os.geteuid() == 0)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    assert "--cap-drop" not in chosen.command(["/usr/bin/chromium"], profile, display, {})


def test_of_the_data_directory_there_is_the_project(profile: Profile) -> None:
    options = mounts.project(profile, {"DISPLAY": ":47.0", "XAUTHORITY": str(profile.home / ".Xauthority")})
    assert {place for _, place in pairs(options, "--bind")} == {str(profile.folder / name) for name in ("profile", "downloads", "home")} | {
        str(profile.temporary)
    }
    assert pairs(options, "--ro-bind") == [(str(profile.uploads), str(profile.uploads))]
    assert pairs(options, "--ro-bind-try") == [("/tmp/.X11-unix/X47", "/tmp/.X11-unix/X47")]
    elsewhere = mounts.project(profile, {"DISPLAY": "host:1", "XAUTHORITY": "/somewhere/cookie"})
    assert ("/somewhere/cookie", "/somewhere/cookie") in pairs(elsewhere, "--ro-bind-try")


def test_a_temporary_folder_outside_of_the_project(tmp_path: Path) -> None:
    deep = Profile(DataDir(tmp_path / ("d" * 60)), "p", None)
    assert (str(deep.temporary), str(deep.temporary)) in pairs(mounts.project(deep, {}), "--bind") and "d" * 60 not in str(deep.temporary)


def test_what_is_not_open_to_everyone_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, mode in (("open", 0o644), ("closed", 0o640), ("folder", 0o755), ("folder/inner", 0o600), ("shut", 0o750), ("shut/in", 0o644), ("half", 0o754)):
        path = tmp_path / name
        if mode & 0o100:
            path.mkdir()
        else:
            path.write_text("x")
    for name, mode in (("closed", 0o640), ("folder/inner", 0o600), ("shut", 0o750), ("half", 0o754)):
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to("/etc/shadow")
    monkeypatch.setattr(mounts, "ETC", str(tmp_path))
    options = mounts.system(None, {}, [])
    assert {place for source, place in pairs(options, "--ro-bind") if source == "/dev/null"} == {str(tmp_path / "closed"), str(tmp_path / "folder/inner")}
    assert {place for place in places(options, "--tmpfs") if place.startswith(str(tmp_path))} == {str(tmp_path / "shut"), str(tmp_path / "half")}


def test_what_is_hidden_below_something_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "etc" / "secrets"
    secrets.mkdir(parents=True)
    monkeypatch.setattr(mounts, "SYSTEM", ("/usr", str(tmp_path / "etc")))
    assert str(secrets) in places(mounts.system(None, {}, [str(secrets), str(tmp_path / "elsewhere")]), "--tmpfs")
    assert str(tmp_path / "elsewhere") not in mounts.system(None, {}, [str(tmp_path / "elsewhere")])


def test_a_program_of_the_operator(tmp_path: Path) -> None:
    """Its folder is shown, unless more than a browser lies in it; then the program alone."""
    folder = tmp_path / "browser"
    folder.mkdir()
    (folder / "chrome").write_text("")
    (tmp_path / "link").symlink_to(folder / "chrome")
    shown = mounts.system(str(folder / "chrome"), {}, [str(tmp_path / "data")])
    assert (str(folder), str(folder)) in pairs(shown, "--ro-bind-try")
    linked = mounts.system(str(tmp_path / "link"), {}, [])
    assert (str(folder / "chrome"), str(tmp_path / "link")) in pairs(linked, "--symlink")
    broad = mounts.system(str(folder / "chrome"), {}, [str(folder / "data")])
    assert (str(folder / "chrome"), str(folder / "chrome")) in pairs(broad, "--ro-bind-try") and str(folder) not in broad


def test_what_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    fonts = home / "fonts"
    fonts.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    environ = {"FONTCONFIG_PATH": str(fonts), "LD_LIBRARY_PATH": f"{home}:relative:/usr/lib/x:", "SSL_CERT_DIR": "/", "SSL_CERT_FILE": "/tmp"}
    shown = {place for _, place in pairs(mounts.system(None, environ, []), "--ro-bind-try")}
    assert str(fonts) in shown and not shown & {str(home), "relative", "/", "/tmp", "", "/usr/lib/x"}


def test_exit_codes() -> None:
    assert [exit_code(code) for code in (0, 1, 128, 129, 137, 143, -9)] == [0, 1, 128, -1, -9, -15, -9]
    assert exit_code(128 + signal.SIGSEGV) == -signal.SIGSEGV


async def test_an_enclosure_that_never_came_to_be() -> None:
    """bubblewrap wrote nothing: nobody is inside, nothing is to be ended, no descriptor is left."""
    before = set(os.listdir("/proc/self/fd"))
    enclosure = Enclosure()
    enclosure.started()
    assert await asyncio.wait_for(enclosure.end(5.0), 5.0) is False
    assert enclosure.first is None and enclosure.main is None
    enclosure.close()
    enclosure.close()
    assert set(os.listdir("/proc/self/fd")) <= before

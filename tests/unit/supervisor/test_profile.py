"""A project's folders: preparation, preferences, locks, and wiping that stays inside."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from telebrowser.datadir import DataDir
from telebrowser.errors import TelebrowserError
from telebrowser.processes import command_line
from telebrowser.supervisor.profile import Profile


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    """A prepared data directory."""
    made = DataDir(tmp_path / "d")
    made.prepare()
    return made


@pytest.fixture
def profile(data: DataDir) -> Iterator[Profile]:
    """The profile of a project, prepared."""
    made = Profile(data, "p", None)
    made.prepare()
    yield made
    made.clear_temporary()


def test_folders_are_private(profile: Profile) -> None:
    for folder in (profile.folder, profile.path, profile.downloads, profile.home, profile.home / ".run", profile.temporary):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


def test_preferences_are_set_and_the_others_kept(profile: Profile) -> None:
    path = profile.path / "Default" / "Preferences"
    path.write_text(json.dumps({"download": {"prompt_for_download": True, "extra": 1}, "other": [1, 2]}))
    profile.prepare()
    preferences = json.loads(path.read_text())
    assert preferences["download"] == {"prompt_for_download": False, "extra": 1, "default_directory": str(profile.downloads), "directory_upgrade": True}
    assert preferences["other"] == [1, 2] and preferences["credentials_enable_service"] is False
    before = path.stat()
    profile.prepare()
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.stat().st_ino == before.st_ino, "nothing to change, nothing written"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00\x01"])
def test_broken_preferences_are_left_to_chromium(profile: Profile, content: str) -> None:
    path = profile.path / "Default" / "Preferences"
    path.write_text(content)
    profile.prepare()
    assert path.read_text() == content


def test_the_temporary_folder_is_emptied_at_each_start(profile: Profile) -> None:
    (profile.temporary / "org.chromium.Chromium.abc").mkdir()
    profile.prepare()
    assert list(profile.temporary.iterdir()) == []
    profile.clear_temporary()
    assert not profile.temporary.exists()


def test_a_deep_data_directory_gets_a_short_temporary_folder(tmp_path: Path) -> None:
    deep = DataDir(tmp_path / ("x" * 60))
    one, other = Profile(deep, "one", None), Profile(deep, "other", None)
    assert one.temporary.parent == Path("/tmp") and len(str(one.temporary)) < 60
    assert one.temporary != other.temporary and one.temporary == Profile(deep, "one", None).temporary


def test_a_link_in_place_of_the_temporary_folder_is_not_followed(profile: Profile, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    profile.clear_temporary()
    profile.temporary.symlink_to(outside)
    profile.prepare()
    assert (outside / "kept").exists() and not profile.temporary.is_symlink()


def test_a_project_that_is_a_link_is_refused(data: DataDir, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (data.projects / "p").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link"):
        Profile(data, "p", None).prepare()
    with pytest.raises(OSError):
        Profile(data, "p", None).wipe()


def test_a_full_disk_is_named(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=3, f_frsize=1 << 20))
    with pytest.raises(TelebrowserError, match=f"{profile.folder} has 3 MiB left") as caught:
        profile.prepare()
    assert caught.value.code == "DISK_FULL"


def test_locks_are_removed_whatever_they_point_at(profile: Profile) -> None:
    (profile.path / "SingletonLock").symlink_to("nowhere-1")
    (profile.path / "SingletonCookie").symlink_to("/dev/null")
    profile.unlock()
    assert not [path for path in profile.path.iterdir() if path.name.startswith("Singleton")]
    profile.unlock()


def stand_in(*arguments: str, cwd: Path | None = None, name: str = "stand-in") -> subprocess.Popen[bytes]:
    """A process with a command line like Chromium's."""
    script = "import sys; print(1, flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [name, "-S", "-c", script, *arguments], executable=sys.executable, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout
    process.stdout.readline()
    return process


@pytest.mark.parametrize(
    ("arguments", "held", "ours"),
    [
        (["--user-data-dir={path}", "--remote-debugging-pipe", "--window-name=[p]"], True, True),
        (["--user-data-dir={path}/", "--remote-debugging-pipe", "--window-name=[p]", "about:blank"], True, True),
        (["--user-data-dir={path}", "--remote-debugging-pipe", "--window-name=[p] x"], True, True),
        (["--user-data-dir={path}", "--remote-debugging-pipe", "--window-name=[pp]"], True, False),
        (["--user-data-dir={path}/../profile"], True, False),
        (["--user-data-dir=profile"], True, False),
        (["--user-data-dir={path}", "--window-name=[p]"], True, False),
        (["--user-data-dir={path}", "--type=renderer"], False, False),
        (["--user-data-dir={path}x"], False, False),
        (["--user-data-dir="], False, False),
    ],
)
@pytest.mark.parametrize("joined", [False, True])
def test_who_holds_the_profile(profile: Profile, monkeypatch: pytest.MonkeyPatch, arguments: list[str], held: bool, ours: bool, joined: bool) -> None:
    """Chromium's own rewriting of its arguments, with blanks between them, included."""
    process = stand_in(*(argument.format(path=profile.path) for argument in arguments), cwd=profile.folder)
    if joined:
        real = command_line
        monkeypatch.setattr("telebrowser.supervisor.profile.command_line", lambda pid: [" ".join(real(pid))] if pid == process.pid else real(pid))
    with process:
        found = profile.holders()
        assert [holder.pid for holder in found] == ([process.pid] if held else [])
        assert all(profile.is_ours(holder) is ours for holder in found)
        process.kill()
    assert profile.holders() == []


@pytest.mark.parametrize(
    ("host", "name", "arguments", "held"),
    [
        ("", "/usr/lib/chromium/chromium", [], True),
        ("another-", "/usr/lib/chromium/chromium", [], False),
        ("", "/bin/something", [], False),
        ("", "/usr/lib/chromium/chromium", ["--user-data-dir=/elsewhere"], False),
    ],
)
def test_the_owner_of_the_lock_holds_the_profile(profile: Profile, host: str, name: str, arguments: list[str], held: bool) -> None:
    """A Chromium that was given the profile in some other way; a recycled pid of something else is none."""
    with stand_in(*arguments, name=name) as process:
        (profile.path / "SingletonLock").symlink_to(f"{host}{socket.gethostname()}-{process.pid}")
        assert [holder.pid for holder in profile.holders()] == ([process.pid] if held else [])
        process.kill()
    assert profile.holders() == []


def test_wipe_takes_the_profile_and_leaves_files_of_people(profile: Profile, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (profile.path / "Default" / "in").symlink_to(outside)
    (profile.home / "in").symlink_to(outside / "kept")
    (profile.downloads / "file").write_text("kept")
    profile.wipe()
    assert sorted(path.name for path in profile.folder.iterdir()) == ["downloads", "uploads"]
    assert (outside / "kept").read_text() == "kept"
    profile.wipe()


def test_wipe_of_a_profile_that_is_a_link_removes_the_link(profile: Profile, tmp_path: Path) -> None:
    profile.wipe()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    profile.path.symlink_to(outside)
    profile.home.write_text("a file in its place")
    profile.wipe()
    assert not profile.path.is_symlink() and not profile.home.exists() and (outside / "kept").exists()


def test_wipe_of_a_project_that_never_ran(data: DataDir) -> None:
    Profile(data, "never", None).wipe()
    assert not (data.projects / "never").exists()

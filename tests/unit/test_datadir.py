"""The data directory: owner, modes, and files written in one step."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from telebrowser.datadir import PROJECT_NAME, DataDir, is_disk_full, read_json, write_atomic, write_json
from telebrowser.errors import ConfigError
from telebrowser.project import is_valid


def mode(path: Path) -> int:
    """The permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def test_prepare_makes_a_private_directory(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "a" / "data")
    data.prepare()
    data.prepare()
    for folder in (data.root, data.projects, data.run, data.want, data.up, data.sessions, data.audit):
        assert mode(folder) == 0o700, folder
    assert [path for path in data.run.iterdir() if path.is_file()] == []


def test_prepare_closes_an_open_directory_and_opens_a_way_for_browser_users(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    data.root.mkdir()
    data.root.chmod(0o755)
    data.prepare()
    assert mode(data.root) == 0o700
    data.prepare(traversable=True)
    assert (mode(data.root), mode(data.projects), mode(data.run)) == (0o711, 0o711, 0o700)
    data.prepare()
    assert (mode(data.root), mode(data.projects)) == (0o700, 0o700)


def test_a_directory_of_someone_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataDir(tmp_path / "data")
    data.root.mkdir()
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(ConfigError, match=f"{data.root} belongs to user {own}, but this program runs as user {own + 1}"):
        data.prepare()
    assert list(data.root.iterdir()) == []


def test_what_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError) as caught:
            DataDir(path).prepare()
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ConfigError, match=f"No space left on device: {tmp_path}"):
        DataDir(tmp_path).prepare()


def test_a_path_too_long_for_sockets(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too long"):
        DataDir(tmp_path / ("ä" * 60)).prepare()


def test_files_are_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"one")
    before = path.stat().st_ino
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two" and path.stat().st_ino != before and mode(path) == 0o600
    with pytest.raises(OSError):
        write_atomic(tmp_path / "missing" / "file", b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_atomic(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_text() == "kept" and not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff", b"3"])
def test_json_that_is_no_object(tmp_path: Path, content: bytes) -> None:
    assert read_json(tmp_path / "missing") is None
    (tmp_path / "file").write_bytes(content)
    assert read_json(tmp_path / "file") is None
    write_json(tmp_path / "file", {"a": 1})
    assert read_json(tmp_path / "file") == {"a": 1}


def test_which_errors_mean_a_full_disk() -> None:
    assert is_disk_full(OSError(errno.ENOSPC, "")) and is_disk_full(OSError(errno.EDQUOT, "")) and not is_disk_full(OSError(errno.EIO, ""))


@pytest.mark.parametrize("name", ["a", "A.b-c_d", "9", "a" * 64, "", ".a", "-a", "_a", "a" * 65, "a/b", "a b", "ä", "a\n", "a\0"])
def test_names_are_those_of_the_launcher(name: str) -> None:
    assert (PROJECT_NAME.fullmatch(name) is not None) == is_valid(name)

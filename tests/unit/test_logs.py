"""Logs under the hands of their writers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from telebrowser.logs import last_line, open_log, rotate


def test_a_log_is_cut_under_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "log"
    writer = open_log(path)
    os.write(writer, b"x" * 100)
    rotate(path, 100)
    assert not (tmp_path / "log.1").exists()
    os.write(writer, b"y")
    rotate(path, 100)
    assert path.read_bytes() == b"" and (tmp_path / "log.1").read_bytes() == b"x" * 100 + b"y"
    os.write(writer, b"after")
    assert path.read_bytes() == b"after", "no hole: the writer appends"
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "log.1").stat().st_mode) == 0o600
    os.close(writer)
    rotate(tmp_path / "missing", 1)


def test_without_room_for_a_copy_it_is_cut_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 10)
    (tmp_path / "log.1").mkdir()
    rotate(path, 5)
    assert path.read_bytes() == b""


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        open_log(tmp_path / "log")


@pytest.mark.parametrize(
    ("content", "offset", "line"),
    [
        (b"", 0, ""),
        (b"one\ntwo\n\n  \n", 0, "two"),
        (b"one\ntwo\n", 8, ""),
        (b"one\ntwo\nthree", 4, "three"),
        (b"\xff\n", 0, "\ufffd"),
        (b"one\n", 99, ""),
    ],
)
def test_last_line(tmp_path: Path, content: bytes, offset: int, line: str) -> None:
    (tmp_path / "log").write_bytes(content)
    assert last_line(tmp_path / "log", offset) == line
    assert last_line(tmp_path / "missing") == ""

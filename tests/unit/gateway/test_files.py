"""Uploads arrive whole or not at all, and downloads leave by plain names only."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.gateway import files


class Body:
    """A request whose body comes in chunks, and may break off."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self.content = self
        self._chunks = chunks

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


async def receive(folder: Path, name: str, *chunks: bytes | Exception) -> dict[str, Any]:
    return await files.receive(Body(*chunks), folder, name)  # type: ignore[arg-type]


async def test_a_file_is_stored_privately_and_replaces_its_namesake(tmp_path: Path) -> None:
    folder = tmp_path / "p" / "uploads"
    for content in (b"first, which is longer", b"second"):
        stored = await receive(folder, "a b.txt", content[:3], content[3:])
        assert stored == {"path": str(folder / "a b.txt"), "size": len(content)} and (folder / "a b.txt").read_bytes() == content
    assert (folder / "a b.txt").stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_full_disk_has_a_code_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    await receive(tmp_path, "old.txt", b"kept")
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        if bytes(data).startswith(b"no room"):
            raise OSError(number, os.strerror(number))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    for name in ("new.txt", "old.txt"):
        with pytest.raises(TelebrowserError) as error:
            await receive(tmp_path, name, b"some", b"no room")
        assert error.value.code == "DISK_FULL" and str(tmp_path) in error.value.message and error.value.status == 507
    assert os.listdir(tmp_path) == ["old.txt"] and (tmp_path / "old.txt").read_bytes() == b"kept"


async def test_a_body_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        await receive(tmp_path, "a.txt", b"some", ConnectionResetError())
    assert os.listdir(tmp_path) == []


async def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("a file in its place")
    with pytest.raises(TelebrowserError) as error:
        await receive(tmp_path / "uploads", "a.txt", b"x")
    assert error.value.code == "INTERNAL"


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "..\\x", "a\0b", "a\nb", "x" * 256, "\u202egnp.exe"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(TelebrowserError) as error:
        files.checked_name(name)
    assert error.value.code == "UNSAFE_PATH"


def test_the_listing_shows_plain_files_the_newest_first(tmp_path: Path) -> None:
    assert files.listing(tmp_path / "missing")["files"] == []
    for number, name in enumerate(("old.txt", "new.txt", ".partial")):
        (tmp_path / name).write_text("x" * number)
        os.utime(tmp_path / name, (1000 + number, 1000 + number))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert [(row["name"], row["size"]) for row in files.listing(tmp_path)["files"]] == [("new.txt", 1), ("old.txt", 0)]

"""Uploads arrive whole or not at all, checked, and can be taken up where they broke off."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.gateway.uploads import KEEP_SECONDS, Partial, Uploads, remove_given, sweep

LIMIT = 1000
FOLDER = "0123456789abcdef"


class Pause(asyncio.Event):
    """A place in a body that waits for a word to go on; ``reached`` says that the request is there."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()


class Body:
    """A request whose body comes in chunks, may break off, and may wait for a word to go on."""

    def __init__(self, *chunks: bytes | Exception | Pause, **headers: str) -> None:
        self.content = self
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.content_length: int | None = None
        self._chunks = chunks

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Pause):
                chunk.reached.set()
                await chunk.wait()
            elif isinstance(chunk, Exception):
                raise chunk
            else:
                yield chunk


def digest(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "p" / "uploads", LIMIT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "p" / "uploads"


async def receive(uploads: Uploads, *chunks: Any, folder: str | None = None, name: str = "a.txt", **headers: str) -> dict[str, Any]:
    return await uploads.receive(Body(*chunks, **headers), folder, name)  # type: ignore[arg-type]


async def refused(uploads: Uploads, *chunks: Any, **more: Any) -> str:
    with pytest.raises(TelebrowserError) as error:
        await receive(uploads, *chunks, **more)
    return error.value.code


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_a_file_is_stored_privately_and_replaces_its_namesake(uploads: Uploads, folder: Path) -> None:
    for content in (b"first, which is longer", b"second"):
        stored = await receive(uploads, content[:3], content[3:])
        assert stored == {"path": str(folder / "a.txt"), "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        assert (folder / "a.txt").read_bytes() == content
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o600 and os.stat(folder).st_mode & 0o777 == 0o700


async def test_a_folder_of_its_own_keeps_namesakes_apart(uploads: Uploads, folder: Path) -> None:
    await receive(uploads, b"one", folder=FOLDER)
    await receive(uploads, b"two", folder=FOLDER[::-1])
    assert (folder / FOLDER / "a.txt").read_text() == "one" and (folder / FOLDER[::-1] / "a.txt").read_text() == "two"
    assert await refused(uploads, b"three", folder=FOLDER) == "CONFLICT"
    assert (folder / FOLDER / "a.txt").read_text() == "one" and await uploads.offset(FOLDER, "a.txt") == 3


@pytest.mark.parametrize("where", [None, FOLDER])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_full_disk_has_a_code_and_leaves_nothing(
    uploads: Uploads, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, where: str | None
) -> None:
    await receive(uploads, b"kept", name="old.txt")
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        if bytes(data).startswith(b"no room"):
            raise OSError(number, os.strerror(number))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    for name in ("new.txt", "old.txt"):
        assert await refused(uploads, b"some", b"no room", name=name, folder=where) == "DISK_FULL"
    assert left(folder) == ["old.txt"] and (folder / "old.txt").read_bytes() == b"kept"


async def test_a_plain_body_that_breaks_off_leaves_nothing(uploads: Uploads, folder: Path) -> None:
    with pytest.raises(TelebrowserError):
        await receive(uploads, b"some", ConnectionResetError())
    assert left(folder) == []


async def test_an_upload_that_broke_off_goes_on_where_it_was(uploads: Uploads, folder: Path) -> None:
    whole = b"the whole of it"
    with pytest.raises(TelebrowserError):
        await receive(uploads, whole[:5], ConnectionResetError(), folder=FOLDER, Repr_Digest=digest(whole))
    assert await uploads.offset(FOLDER, "a.txt") == 5 and not (folder / FOLDER / "a.txt").exists()
    span = f"bytes 5-{len(whole) - 1}/{len(whole)}"
    with pytest.raises(TelebrowserError):  # ends early once more
        await receive(uploads, whole[5:8], folder=FOLDER, Repr_Digest=digest(whole), Content_Range=span)
    assert await uploads.offset(FOLDER, "a.txt") == 8
    span = f"bytes 8-{len(whole) - 1}/{len(whole)}"
    assert (await receive(uploads, whole[8:], folder=FOLDER, Repr_Digest=digest(whole), Content_Range=span))["size"] == len(whole)
    assert (folder / FOLDER / "a.txt").read_bytes() == whole and left(folder) == [f"{FOLDER}/a.txt"]


async def test_an_upload_can_begin_again(uploads: Uploads, folder: Path) -> None:
    with pytest.raises(TelebrowserError):
        await receive(uploads, b"wrong", ConnectionResetError(), folder=FOLDER)
    await receive(uploads, b"right", folder=FOLDER)
    assert (folder / FOLDER / "a.txt").read_text() == "right" and left(folder) == [f"{FOLDER}/a.txt"]


async def test_a_request_that_was_given_up_writes_no_more(uploads: Uploads, folder: Path) -> None:
    go = Pause()
    old = asyncio.create_task(receive(uploads, b"abc", go, b"XXX", folder=FOLDER))
    await go.reached.wait()
    assert await uploads.offset(FOLDER, "a.txt") == 3
    stored = await receive(uploads, b"def", folder=FOLDER, Content_Range="bytes 3-5/6", Repr_Digest=digest(b"abcdef"))
    go.set()
    with pytest.raises(TelebrowserError) as error:
        await old
    assert error.value.code == "CONFLICT"
    assert stored["size"] == 6 and (folder / FOLDER / "a.txt").read_bytes() == b"abcdef" and left(folder) == [f"{FOLDER}/a.txt"]


@pytest.mark.parametrize("where", [None, FOLDER])
async def test_a_wrong_checksum_is_refused_and_leaves_nothing(uploads: Uploads, folder: Path, where: str | None) -> None:
    assert await refused(uploads, b"changed", folder=where, Repr_Digest=digest(b"announced")) == "INVALID_ARGS"
    assert left(folder) == []


@pytest.mark.parametrize("where", [None, FOLDER])
async def test_the_limit_holds_announced_or_not(uploads: Uploads, folder: Path, where: str | None) -> None:
    body = Body(b"")
    body.content_length = LIMIT + 1
    with pytest.raises(TelebrowserError) as error:
        await uploads.receive(body, where, "a.txt")  # type: ignore[arg-type]
    assert error.value.code == "TOO_LARGE" and left(folder) == []
    assert await refused(uploads, bytes(LIMIT), b"x", folder=where) == "TOO_LARGE"
    assert left(folder) == [] and (await receive(uploads, bytes(LIMIT), folder=where))["size"] == LIMIT


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Range": "bytes 0-5/7"},
        {"Content_Range": "bytes */6"},
        {"Repr_Digest": "md5=:x:"},
        {"Repr_Digest": "sha-256=:short:"},
    ],
)
async def test_headers_that_do_not_fit(uploads: Uploads, headers: dict[str, str]) -> None:
    assert await refused(uploads, b"abc", folder=FOLDER, **headers) == "INVALID_ARGS"


async def test_an_offset_that_does_not_fit(uploads: Uploads) -> None:
    assert await refused(uploads, b"abc", folder=FOLDER, Content_Range="bytes 3-5/6") == "CONFLICT"


async def test_of_two_that_begin_at_once_one_is_stored(uploads: Uploads, folder: Path) -> None:
    both = await asyncio.gather(*(receive(uploads, b"one", b"two", folder=FOLDER) for _ in range(2)), return_exceptions=True)
    assert sum(isinstance(each, dict) for each in both) == 1, both
    assert left(folder) == [f"{FOLDER}/a.txt"] and (folder / FOLDER / "a.txt").read_text() == "onetwo"


async def test_a_request_that_comes_late_adds_nothing_to_what_is_being_written(uploads: Uploads, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TelebrowserError):
        await receive(uploads, b"abc", ConnectionResetError(), folder=FOLDER)
    writing, go, real = threading.Event(), threading.Event(), Partial.write

    def slow(partial: Partial, chunk: bytes) -> None:
        writing.set()
        go.wait(10)
        real(partial, chunk)

    monkeypatch.setattr(Partial, "write", slow)
    rest = {"folder": FOLDER, "Content_Range": "bytes 3-5/6", "Repr_Digest": digest(b"abcdef")}
    first = asyncio.create_task(receive(uploads, b"def", **rest))
    await asyncio.to_thread(writing.wait, 10)
    late = asyncio.create_task(receive(uploads, b"def", **rest))
    await asyncio.sleep(0.05)
    go.set()
    with pytest.raises(TelebrowserError) as error:
        await late
    assert error.value.code == "CONFLICT" and (await first)["size"] == 6 and (folder / FOLDER / "a.txt").read_bytes() == b"abcdef"


@pytest.mark.parametrize("place", ["uploads", FOLDER])
async def test_a_link_in_any_part_is_not_followed(uploads: Uploads, folder: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "outside").mkdir()
    link = folder if place == "uploads" else folder / FOLDER
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside")
    assert await refused(uploads, b"x", folder=FOLDER) == "UNSAFE_PATH"
    assert os.listdir(tmp_path / "outside") == [] and await uploads.offset(FOLDER, "a.txt") == 0


async def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("a file in its place")
    assert await refused(Uploads(tmp_path / "uploads", LIMIT), b"x") == "INTERNAL"


async def test_what_is_old_is_swept_and_nothing_else(uploads: Uploads, folder: Path, tmp_path: Path) -> None:
    await receive(uploads, b"plain")
    await receive(uploads, b"old", folder=FOLDER)
    await receive(uploads, b"new", folder=FOLDER[::-1])
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    (folder / ("f" * 16)).symlink_to(tmp_path / "outside")
    (folder / "by hand").mkdir()
    (folder / "by hand" / "kept").write_text("kept")
    (folder / "a link").symlink_to(tmp_path / "outside" / "kept")
    (folder / ".proof").write_text("ours")
    (folder / "b.txt").write_text("new")
    (folder / "view-h1-abc").mkdir()
    (folder / "view-h1-abc" / "scan.pdf").write_text("a person's")
    for old in (FOLDER, "by hand", "a.txt", ".proof", "view-h1-abc"):
        os.utime(folder / old, (1, 1))
    os.utime(folder / "a link", (1, 1), follow_symlinks=False)
    sweep(folder, time.time() - KEEP_SECONDS)
    assert left(folder) == sorted([".proof", "a link", "b.txt", "by hand/kept", f"{FOLDER[::-1]}/a.txt"]) and (tmp_path / "outside" / "kept").exists()


def test_what_a_person_gave_goes_with_its_handoff(tmp_path: Path) -> None:
    for name in ("view-h1-abc", "view-h1-def", "view-h12-abc", "h1"):
        (tmp_path / "uploads" / name).mkdir(parents=True)
        (tmp_path / "uploads" / name / "scan.pdf").write_text("a person's")
    (tmp_path / "uploads" / "view-h1-link").symlink_to(tmp_path / "uploads" / "h1")
    remove_given(tmp_path / "uploads", "h1")
    assert sorted(os.listdir(tmp_path / "uploads")) == ["h1", "view-h1-link", "view-h12-abc"]
    assert (tmp_path / "uploads" / "h1" / "scan.pdf").exists()
    remove_given(tmp_path / "absent", "h1")


async def test_what_broke_off_goes_with_the_gateway(uploads: Uploads, folder: Path) -> None:
    with pytest.raises(TelebrowserError):
        await receive(uploads, b"some", ConnectionResetError(), folder=FOLDER)
    uploads.close()
    assert left(folder) == []

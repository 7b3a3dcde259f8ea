"""Files that agents send for file inputs: streamed to disk, taken up where they broke off, checked, and there whole or not at all."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from .. import beneath
from ..datadir import is_disk_full
from ..errors import TelebrowserError

T = TypeVar("T")
CHUNK_BYTES = 256 << 10
PARTIAL_SECONDS = 600.0
"""How long an upload that broke off may be taken up."""
KEEP_SECONDS = 86400.0
"""How long a file stays. Chromium reads it when the form is sent, which may be long after it was chosen."""
FOLDER = re.compile(r"[0-9a-f]{16}")
GIVEN = "view-"
"""How the folders of files begin that a person gave in a view; the handoff's id follows."""
_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})")
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")


class Superseded(TelebrowserError):
    """A newer request has taken the file over."""


class Partial:
    """One file on its way. The methods that touch the disk block; they are called in a thread."""

    def __init__(self, uploads: Path, folder: str | None, name: str) -> None:
        self.size = 0
        self.lock = asyncio.Lock()
        self.writer: object = None
        """The request that may write; an older one finds another here and gives up."""
        self.timer: asyncio.TimerHandle | None = None
        self._name = name
        self._path = uploads / folder / name if folder else uploads / name
        self._replace = folder is None
        uploads.mkdir(mode=0o700, parents=True, exist_ok=True)
        below = beneath.open_folder(uploads.parent, (uploads.name,))
        owner = os.fstat(below)
        if folder is not None:
            inner = beneath.open_folder(below, (folder,), make=0o700)
            os.close(below)
            below = inner
        self._arrival = beneath.Arrival(below, mode=0o600)
        self._hasher = hashlib.sha256()
        if os.geteuid() == 0:
            # The browser may run as a user of its own, to whom the folder then belongs.
            os.fchown(self._arrival.descriptor, owner.st_uid, owner.st_gid)
            if folder is not None:
                os.fchown(below, owner.st_uid, owner.st_gid)

    def write(self, chunk: bytes) -> None:
        """Append. Raises OSError."""
        self._arrival.write(chunk)
        self._hasher.update(chunk)
        self.size += len(chunk)

    def finish(self, digest: bytes | None) -> dict[str, Any]:
        """Give the file its name when the checksum fits; what the answer says. Raises `TelebrowserError` or OSError."""
        if digest is not None and self._hasher.digest() != digest:
            raise TelebrowserError("INVALID_ARGS", "The file's checksum is another than was announced: it changed on the way", "Send it again.")
        self._arrival.publish(self._name, replace=self._replace)
        self._arrival.close()
        return {"path": str(self._path), "size": self.size, "sha256": self._hasher.hexdigest()}

    def check(self, writer: object) -> None:
        """Raise `Superseded` unless this request may still write."""
        if self.writer is not writer or self._arrival.descriptor < 0:
            raise Superseded("CONFLICT", "Another request sends this file")

    def close(self) -> None:
        """Throw away what is not finished."""
        self._arrival.close()


class Uploads:
    """The uploads of one project. ``limit`` is in bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._uploads = folder
        self._limit = limit
        self._partial: dict[tuple[str, str], Partial] = {}

    async def offset(self, folder: str, name: str) -> int:
        """How many bytes of an upload are here, so that its sender can go on from there; whoever still sends it is cut off."""
        partial = self._partial.get((folder, name))
        if partial is not None:
            async with partial.lock:
                partial.writer = None
                return partial.size
        try:
            descriptor = beneath.open_file(self._uploads.parent, (self._uploads.name, folder, name))
        except OSError:
            return 0
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    async def receive(self, request: web.Request, folder: str | None, name: str) -> dict[str, Any]:
        """Store the body of a PUT as ``name``, or the rest of it. Raises `TelebrowserError`."""
        offset, total = _span(request)
        digest = _digest(request)
        if (total or 0) > self._limit:
            raise _too_large(self._limit)
        await asyncio.to_thread(sweep, self._uploads, time.time() - KEEP_SECONDS)
        key = (folder, name) if folder is not None else None
        try:
            me = object()
            partial = await self._take(key, name, offset, me)
        except OSError as error:
            raise self._refusal(error) from None
        resumable = False
        try:
            await self._copy(partial, me, request.content.iter_chunked(CHUNK_BYTES))
            if total is not None and partial.size != total:
                raise ConnectionResetError
            async with partial.lock:
                partial.check(me)
                return await _to_end(asyncio.to_thread(partial.finish, digest))
        except (asyncio.CancelledError, Superseded):
            resumable = key is not None
            raise
        except (ConnectionError, web.RequestPayloadError):
            resumable = key is not None
            raise TelebrowserError("CONFLICT", "The file did not come whole") from None
        except FileExistsError:
            raise TelebrowserError("CONFLICT", "This file has been sent already", "Use another folder.") from None
        except OSError as error:
            raise self._refusal(error) from None
        finally:
            if partial.writer in (me, None):
                self._leave(partial, key, resumable=resumable)

    async def _take(self, key: tuple[str, str] | None, name: str, offset: int, me: object) -> Partial:
        """The upload to go on with: a new one, or the one that broke off at ``offset``."""
        if offset == 0:
            if key is not None:
                await self._supersede(key)
            partial = await asyncio.to_thread(Partial, self._uploads, key[0] if key else None, name)
            partial.writer = me
            if key is not None:
                # Of two requests that begin at once, the later one is the sender's.
                await self._supersede(key)
                self._partial[key] = partial
            return partial
        former = self._partial.get(key) if key is not None else None
        if former is None:
            raise TelebrowserError("CONFLICT", f"There are no bytes of this file here, not {offset}")
        # What is being written now counts, and is the last of its request.
        async with former.lock:
            if former.size != offset:
                raise TelebrowserError("CONFLICT", f"There are {former.size} bytes of this file here, not {offset}")
            former.writer = me
        if former.timer is not None:
            former.timer.cancel()
            former.timer = None
        return former

    async def _supersede(self, key: tuple[str, str]) -> None:
        """Throw away what there is of a file, once nobody writes to it."""
        while (former := self._partial.get(key)) is not None:
            former.writer = None
            async with former.lock:
                self._forget(key, former)

    async def _copy(self, partial: Partial, me: object, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            async with partial.lock:
                partial.check(me)
                if partial.size + len(chunk) > self._limit:
                    raise _too_large(self._limit)
                await _to_end(asyncio.to_thread(partial.write, chunk))

    def _leave(self, partial: Partial, key: tuple[str, str] | None, *, resumable: bool) -> None:
        if key is None:
            partial.close()
        elif not resumable or self._partial.get(key) is not partial:
            self._forget(key, partial)
        elif partial.timer is None:
            partial.timer = asyncio.get_running_loop().call_later(PARTIAL_SECONDS, self._forget, key, partial)

    def _forget(self, key: tuple[str, str], partial: Partial) -> None:
        if partial.timer is not None:
            partial.timer.cancel()
        if self._partial.get(key) is partial:
            del self._partial[key]
        partial.close()

    def close(self) -> None:
        """Throw away what broke off."""
        for key, partial in list(self._partial.items()):
            self._forget(key, partial)

    def _refusal(self, error: OSError) -> TelebrowserError:
        if is_disk_full(error):
            return TelebrowserError("DISK_FULL", f"There is no room for the file in {self._uploads}")
        if beneath.is_link_error(error):
            return TelebrowserError("UNSAFE_PATH", f"A link stands in the way of {self._uploads}", "Remove it.")
        return TelebrowserError("INTERNAL", f"The file was not stored: {error.strerror}", "See gateway.log.")


async def _to_end(step: Coroutine[Any, Any, T]) -> T:
    """Wait for a step in a thread also when this task is cancelled: the thread would go on with a descriptor that is closed."""
    task = asyncio.get_running_loop().create_task(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def given(handoff: str) -> str:
    """How the folders of files begin that a person gave during a handoff."""
    return f"{GIVEN}{handoff}-"


def sweep(uploads: Path, before: float) -> None:
    """Remove the files that came before a moment, with their folders, and what of them was never finished; nothing that others put there."""

    def over(name: str, about: os.stat_result) -> bool:
        plain = stat.S_ISREG(about.st_mode) and not name.startswith(".")
        return about.st_mtime < before and (plain or FOLDER.fullmatch(name) is not None or name.startswith(GIVEN))

    _remove_all(uploads, over)


def remove_given(uploads: Path, handoff: str) -> None:
    """Remove the files that a person gave during a handoff."""
    _remove_all(uploads, lambda name, _: name.startswith(given(handoff)))


def _remove_all(uploads: Path, unwanted: Callable[[str, os.stat_result], bool]) -> None:
    try:
        folder = beneath.open_folder(uploads.parent, (uploads.name,))
    except OSError:
        return
    try:
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if unwanted(name, about):
                    _remove(folder, name, about)
    finally:
        os.close(folder)


def _remove(folder: int, name: str, about: os.stat_result) -> None:
    if stat.S_ISREG(about.st_mode):
        os.unlink(name, dir_fd=folder)
        return
    below = beneath.open_folder(folder, (name,))
    try:
        for entry in os.listdir(below):
            os.unlink(entry, dir_fd=below)
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=folder)


def _span(request: web.Request) -> tuple[int, int | None]:
    """Where the body begins and how large the file is in all, where that is known. Raises `TelebrowserError`."""
    text = request.headers.get("Content-Range")
    if text is None:
        return 0, request.content_length
    found = _RANGE.fullmatch(text)
    if found is None or int(found[2]) + 1 != int(found[3]) or int(found[1]) > int(found[2]):
        raise TelebrowserError("INVALID_ARGS", "Content-Range must be 'bytes FIRST-LAST/TOTAL' up to the end of the file")
    return int(found[1]), int(found[3])


def _digest(request: web.Request) -> bytes | None:
    text = request.headers.get("Repr-Digest")
    if text is None:
        return None
    found = _DIGEST.fullmatch(text.strip())
    if found is None:
        raise TelebrowserError("INVALID_ARGS", "Repr-Digest must be 'sha-256=:BASE64:'")
    return base64.b64decode(found[1])


def _too_large(limit: int) -> TelebrowserError:
    return TelebrowserError("TOO_LARGE", f"The file has more than {limit} bytes", "Send a smaller file, or raise TELEBROWSER_MAX_FILE_MB.")

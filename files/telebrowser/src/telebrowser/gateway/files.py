"""Files of a project over HTTP: downloads out, uploads in. Names are plain file names; nothing leaves its folder."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import secrets
from pathlib import Path
from typing import Any

from aiohttp import web

from ..datadir import is_disk_full
from ..errors import TelebrowserError

CHUNK_BYTES = 256 << 10
MAX_NAME_BYTES = 255


def checked_name(name: str) -> str:
    """``name`` when it is one plain, visible file name. Raises `TelebrowserError` UNSAFE_PATH."""
    plain = name not in ("", ".", "..") and not name.startswith(".") and not any(letter in name for letter in "/\\\0")
    if not plain or len(os.fsencode(name)) > MAX_NAME_BYTES or not name.isprintable():
        raise TelebrowserError("UNSAFE_PATH", "The name is not a plain file name")
    return name


def listing(folder: Path) -> dict[str, Any]:
    """The visible regular files of a folder, the newest first."""
    files = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    modified = datetime.datetime.fromtimestamp(status.st_mtime, datetime.UTC).isoformat(timespec="seconds")
                    files.append((status.st_mtime, {"name": entry.name, "size": status.st_size, "modified": modified}))
    except FileNotFoundError:
        pass
    files.sort(key=lambda pair: (-pair[0], pair[1]["name"]))
    return {"directory": str(folder), "files": [row for _, row in files]}


async def send(request: web.Request, folder: Path, name: str) -> web.StreamResponse:
    """The bytes of one file; never through a symbolic link. Raises `TelebrowserError`."""
    path = folder / checked_name(name)
    if path.is_symlink() or not path.is_file():
        raise TelebrowserError("NOT_FOUND", "There is no such file")
    headers = {"Content-Disposition": "attachment", "Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff"}
    return web.FileResponse(path, headers=headers)


class _Upload:
    """One file on its way: under a hidden name until it is whole. The methods block; they are called in a thread."""

    def __init__(self, folder: Path, name: str) -> None:
        self.size = 0
        self._folder = folder
        self._target = folder / name
        self._temporary = folder / f".upload-{secrets.token_hex(8)}"
        self._descriptor = -1

    def open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if os.geteuid() == 0:
            # The browser may run as a user of its own, to whom the folder then belongs.
            owner = os.stat(self._folder)
            os.fchown(self._descriptor, owner.st_uid, owner.st_gid)

    def write(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self.size += len(chunk)

    def finish(self) -> str:
        os.replace(self._temporary, self._target)
        return str(self._target)

    def clean_up(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        with contextlib.suppress(OSError):
            self._temporary.unlink()


async def receive(request: web.Request, folder: Path, name: str) -> dict[str, Any]:
    """Store the body as ``name``, whole or not at all. Raises `TelebrowserError`."""
    upload = _Upload(folder, checked_name(name))
    try:
        await asyncio.to_thread(upload.open)
        async for chunk in request.content.iter_chunked(CHUNK_BYTES):
            await asyncio.to_thread(upload.write, chunk)
        path = await asyncio.to_thread(upload.finish)
    except ConnectionError:
        raise
    except OSError as error:
        if is_disk_full(error):
            raise TelebrowserError("DISK_FULL", f"There is no room for the file in {folder}") from None
        raise TelebrowserError("INTERNAL", f"The file was not stored: {error.strerror}", "See gateway.log.") from None
    finally:
        await asyncio.shield(asyncio.to_thread(upload.clean_up))
    return {"path": path, "size": upload.size}

"""Files of a project over HTTP: downloads and what engines have written out, uploads in. Every part of a path is walked; no link is followed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import re
import secrets
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from .. import beneath
from ..config import Settings
from ..datadir import DataDir
from ..errors import TelebrowserError
from ..handover import PROOF, Offer, Shared
from ..listing import listing
from ..page.outbox import NAME as OUTBOX_NAME
from .uploads import CHUNK_BYTES, FOLDER, Uploads
from .wire import ProtocolError

MAX_NAME_BYTES = 255
MAX_NAMING_BYTES = 1 << 20
HEADERS = {"Content-Disposition": "attachment", "Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff"}
_WANTED = re.compile(r"(?:^|,)\s*sha-256\s*=\s*[1-9]")


def checked_name(name: str) -> str:
    """``name`` when it is one plain, visible file name. Raises `TelebrowserError` UNSAFE_PATH."""
    plain = name not in ("", ".", "..") and not name.startswith(".") and not any(letter in name for letter in "/\\\0")
    if not plain or len(os.fsencode(name)) > MAX_NAME_BYTES or not name.isprintable():
        raise TelebrowserError("UNSAFE_PATH", "The name is not a plain file name")
    return name


class _Opened(web.FileResponse):
    """An open file as an answer, by its descriptor: what was walked to is what is sent, and no compressed file beside it in its place."""

    def __init__(self, descriptor: int, **options: Any) -> None:
        super().__init__(f"/proc/self/fd/{descriptor}", **options)
        self._release = weakref.finalize(self, os.close, descriptor)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the file; its descriptor is closed then, or with this object when nobody is left to send it to."""
        try:
            return await super().prepare(request)
        finally:
            self._release()


class ProjectFiles:
    """The files of one project: ``downloads``, ``uploads`` and ``outbox`` below its folder."""

    def __init__(self, data: DataDir, project: str, settings: Settings) -> None:
        self._root = data.root
        self._folder = data.project(project)
        self._parts = self._folder.relative_to(data.root).parts
        self._limit = settings.max_file_mb << 20
        self.uploads = Uploads(data.uploads(project), self._limit)

    # What launchers are told

    def offer(self, tools: dict[str, dict[str, str]]) -> str:
        """The header that tells a launcher which arguments of ``tools`` are paths, and how to find out that it shares the disk. Blocks."""
        try:
            shared: Shared | None = Shared(str(self._folder), self._prove())
        except OSError:
            shared = None  # then everything goes over HTTP, where the trouble is told
        return Offer(tools, self._limit, shared).header()

    def _prove(self) -> str:
        """The SHA-256 of a secret file in the uploads, made when there is none: who can read it shares the disk."""
        (self._folder / "uploads").mkdir(mode=0o700, parents=True, exist_ok=True)
        uploads = self._open_folder("uploads")
        try:
            try:
                proof = beneath.open_file(uploads, (PROOF,))
            except FileNotFoundError:
                with beneath.Arrival(os.dup(uploads), mode=0o600) as arrival:
                    arrival.write(secrets.token_hex(32).encode())
                    with contextlib.suppress(FileExistsError):
                        arrival.publish(PROOF, replace=False)
                proof = beneath.open_file(uploads, (PROOF,))
            with open(proof, "rb") as file:
                return hashlib.sha256(file.read(256)).hexdigest()
        finally:
            os.close(uploads)

    # Out

    def downloads(self) -> dict[str, Any]:
        """The visible regular files of the downloads, the newest first. Blocks."""
        try:
            descriptor = self._open_folder("downloads")
        except FileNotFoundError:
            return listing(self._folder / "downloads")
        except OSError as error:
            raise TelebrowserError("UNSAFE_PATH", f"The downloads cannot be listed: {error.strerror}", "Remove what stands in their place.") from None
        try:
            return {**listing(Path(f"/proc/self/fd/{descriptor}")), "directory": str(self._folder / "downloads")}
        finally:
            os.close(descriptor)

    async def send_download(self, request: web.Request, name: str) -> web.StreamResponse:
        """The bytes of one download, or a part of them. Raises `TelebrowserError`."""
        return await self._send(request, "downloads", checked_name(name))

    async def send_outgoing(self, request: web.Request, name: str) -> web.StreamResponse:
        """The bytes of a file that an engine wrote for its agent. Raises `TelebrowserError`."""
        return await self._send(request, "outbox", _outgoing(name))

    def drop_outgoing(self, name: str) -> None:
        """The agent has its file. Blocks."""
        with contextlib.suppress(OSError):
            folder = self._open_folder("outbox")
            try:
                os.unlink(_outgoing(name), dir_fd=folder)
            finally:
                os.close(folder)

    async def _send(self, request: web.Request, kind: str, name: str) -> web.StreamResponse:
        try:
            descriptor = await asyncio.to_thread(beneath.open_file, self._root, (*self._parts, kind, name))
        except OSError:
            raise TelebrowserError("NOT_FOUND", "There is no such file") from None
        response = _Opened(descriptor, headers=HEADERS, chunk_size=CHUNK_BYTES)
        if _WANTED.search(request.headers.get("Want-Repr-Digest", "")):
            response.headers["Repr-Digest"] = f"sha-256=:{await asyncio.to_thread(_sha256, descriptor)}:"
        return response

    # In

    async def receive(self, request: web.Request, name: str) -> dict[str, Any]:
        """Store the body of a PUT. Raises `TelebrowserError`."""
        return await self.uploads.receive(request, _folder(request), checked_name(name))

    async def received(self, request: web.Request, name: str) -> web.Response:
        """How much of an upload is here."""
        folder = _folder(request)
        offset = await self.uploads.offset(folder, checked_name(name)) if folder is not None else 0
        return web.Response(headers={"Upload-Offset": str(offset), "Cache-Control": "no-store"})

    async def name(self, request: web.Request, take: Callable[[str, str], None]) -> None:
        """Read ``{path: "upload:FOLDER/NAME", …}`` and give each path with its file to ``take``. Raises `TelebrowserError`."""
        body = await request.content.read(MAX_NAMING_BYTES)
        try:
            names = {str(path): str(reference) for path, reference in json.loads(body).items()}
            for path, reference in names.items():
                kind, _, rest = reference.partition(":")
                take(path, str(self._folder / {"upload": "uploads", "download": "downloads"}[kind] / rest))
        except (ValueError, AttributeError, KeyError):
            raise TelebrowserError("INVALID_ARGS", "The body must be a JSON object of paths and references such as upload:NAME") from None
        except ProtocolError as error:
            raise TelebrowserError("NOT_FOUND", error.message) from None

    def close(self) -> None:
        """Throw away what broke off."""
        self.uploads.close()

    def _open_folder(self, kind: str) -> int:
        return beneath.open_folder(self._root, (*self._parts, kind))


def _outgoing(name: str) -> str:
    if not OUTBOX_NAME.fullmatch(name):
        raise TelebrowserError("NOT_FOUND", "There is no such file")
    return name


def _folder(request: web.Request) -> str | None:
    folder = request.query.get("folder")
    if folder is not None and not FOLDER.fullmatch(folder):
        raise TelebrowserError("INVALID_ARGS", "folder must have 16 digits from 0 to f")
    return folder


def _sha256(descriptor: int) -> str:
    hasher = hashlib.sha256()
    offset = 0
    while chunk := os.pread(descriptor, 1 << 20, offset):
        hasher.update(chunk)
        offset += len(chunk)
    return base64.b64encode(hasher.digest()).decode()

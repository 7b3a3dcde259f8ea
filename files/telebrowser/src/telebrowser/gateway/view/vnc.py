"""A desktop by VNC below the pages for people: noVNC's files, and the connection between its WebSocket and the display's Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import re

from aiohttp import WSMsgType, web

from ...errors import TelebrowserError
from ...novnc import NOVNC
from .credentials import Credential
from .rfb import BadMessage, ClientMessages

FILES = re.compile(r"novnc/((?:core|vendor)(?:/[A-Za-z0-9_-]+)*/[A-Za-z0-9_-][A-Za-z0-9._-]*\.js)")
# noVNC draws the pointer, and decodes pictures, from data.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
)
MAX_MESSAGE = 4 << 20
READ_BYTES = 1 << 16
CONNECT_SECONDS = 5.0
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0
SEND_SECONDS = 20.0


async def file(path: str) -> web.StreamResponse:
    """A file of noVNC. Raises `TelebrowserError` NOT_FOUND."""
    found = FILES.fullmatch(path)
    body: bytes | None = None
    if found is not None:
        with contextlib.suppress(OSError):
            body = await asyncio.to_thread((NOVNC / found[1]).read_bytes)
    if body is None:
        raise TelebrowserError("NOT_FOUND", "There is nothing here")
    return web.Response(body=body, content_type="text/javascript", charset="utf-8", headers={"Cache-Control": "private, max-age=3600"})


async def connect(request: web.Request, credential: Credential) -> web.StreamResponse:
    """The connection: pictures out, input in. Raises `TelebrowserError` BROWSER_UNAVAILABLE."""
    await credential.begin()
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_unix_connection(str(credential.socket), limit=READ_BYTES)
    except (OSError, TimeoutError):
        raise TelebrowserError("BROWSER_UNAVAILABLE", "The view of the desktop does not answer", "Open the browser again.") from None
    socket = web.WebSocketResponse(heartbeat=PING_SECONDS, max_msg_size=MAX_MESSAGE, compress=False, timeout=CLOSE_SECONDS)
    try:
        await socket.prepare(request)
        await credential.during(_to_display(socket, writer, ClientMessages(may_act=credential.role == "controller")), _to_person(reader, socket))
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await socket.close()
    return socket


async def _to_display(socket: web.WebSocketResponse, writer: asyncio.StreamWriter, messages: ClientMessages) -> None:
    async for message in socket:
        if message.type != WSMsgType.BINARY:
            return
        try:
            writer.write(messages.feed(message.data))
        except BadMessage:
            return
        async with asyncio.timeout(SEND_SECONDS):
            await writer.drain()


async def _to_person(reader: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
    while data := await reader.read(READ_BYTES):
        async with asyncio.timeout(SEND_SECONDS):
            await socket.send_bytes(data)

"""The view Selkies below the pages for people: its page and its connection, passed on to the Unix socket that nobody else can reach.

Selkies asks for nothing there, so who may see and who may act is decided here: by the credential in the path. The role goes out with the
connection, where the person cannot change it, and what a viewer sends is passed on only when it can move nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, ClientWebSocketResponse, ClientWSTimeout, UnixConnector, WSCloseCode, WSMsgType, web

from ...errors import TelebrowserError
from .credentials import Credential

# What the page of Selkies loads, and the question whether its connection can be had again. Everything else of Selkies' own interface
# stays closed: credentials, recordings, pictures, other people's connections, files.
FILES = re.compile(r"(?:index\.html|manifest\.json|favicon\.ico|icon(?:-512)?\.png|selkies\.svg|(?:assets|jsdb)/[A-Za-z0-9_-][A-Za-z0-9._-]*|api/websockets)?")
SOCKET = "api/websockets"
# Selkies' page looks at its own address for whether it only shows.
VIEWERS_PAGE = "index.html#shared"
# The page makes its workers and styles itself, and draws the pointer from data.
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
)
HARMLESS = ("START_VIDEO", "STOP_VIDEO", "REQUEST_KEYFRAME", "CLIENT_FRAME_ACK")
FORWARDED = ("Content-Type", "ETag", "Last-Modified")
# Selkies' own limit, in both directions.
MAX_MESSAGE = 32 << 20
ANSWER_SECONDS = 15.0
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0
SEND_SECONDS = 20.0

Send = Callable[[Any], Awaitable[None]]


async def show(request: web.Request, credential: Credential, path: str) -> web.StreamResponse:
    """A file of Selkies' page. Raises `TelebrowserError` NOT_FOUND, BROWSER_UNAVAILABLE."""
    if not FILES.fullmatch(path):
        raise TelebrowserError("NOT_FOUND", "There is nothing here")
    if path == "" and credential.role != "controller":
        raise web.HTTPSeeOther(VIEWERS_PAGE)
    conditions = {name: request.headers[name] for name in ("If-None-Match", "If-Modified-Since") if name in request.headers}
    try:
        async with _session(credential) as session, session.get(f"http://localhost/{path}", headers=conditions, allow_redirects=False) as answer:
            body = await answer.read() if answer.status == 200 else b""
            headers = {name: answer.headers[name] for name in FORWARDED if name in answer.headers}
            response = web.Response(status=answer.status if answer.status in (200, 204, 304, 404) else 502, body=body, headers=headers)
    except (ClientError, OSError, TimeoutError):
        raise _unavailable() from None
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    response.enable_compression()
    return response


async def connect(request: web.Request, credential: Credential) -> web.StreamResponse:
    """The connection: pictures out, input in. Raises `TelebrowserError` BROWSER_UNAVAILABLE."""
    await credential.begin()
    socket = web.WebSocketResponse(heartbeat=PING_SECONDS, max_msg_size=MAX_MESSAGE, compress=False, timeout=CLOSE_SECONDS)
    role = "controller" if credential.role == "controller" else "viewer"
    async with _session(credential) as session:
        try:
            server = await session.ws_connect(
                f"http://localhost/{SOCKET}?role={role}", max_msg_size=MAX_MESSAGE, compress=0, timeout=ClientWSTimeout(ws_close=CLOSE_SECONDS)
            )
        except (ClientError, OSError, TimeoutError):
            raise _unavailable() from None
        try:
            await socket.prepare(request)
            await _pass(socket, server, credential)
        finally:
            await server.close()
    return socket


async def _pass(socket: web.WebSocketResponse, server: ClientWebSocketResponse, credential: Credential) -> None:
    """Pass messages on until one side ends, or the credential is withdrawn; then nothing more goes either way.

    The server hears of the end before anybody else can come by this credential or the next: two who control at once are two people to it.
    """

    async def to_server() -> None:
        async for message in socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY) and (credential.role == "controller" or is_harmless(message.data)):
                await _send(server.send_str if message.type == WSMsgType.TEXT else server.send_bytes, message.data)

    async def to_person() -> None:
        try:
            async for message in server:
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    await _send(socket.send_str if message.type == WSMsgType.TEXT else socket.send_bytes, message.data)
        finally:
            await server.close()

    withdrawn = False
    try:
        withdrawn = await credential.during(to_server(), to_person())
    finally:
        code = WSCloseCode.GOING_AWAY if server.close_code is None else server.close_code
        with contextlib.suppress(ConnectionError, TimeoutError):
            await socket.close(code=code, message=b"withdrawn" if withdrawn else b"")


def is_harmless(message: str | bytes) -> bool:
    """Whether a viewer may send this: it asks for pictures and moves nothing."""
    return isinstance(message, str) and message.split(",", 1)[0].split(" ", 1)[0] in HARMLESS


async def _send(send: Send, data: Any) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send(data)


def _session(credential: Credential) -> ClientSession:
    socket: Path | None = credential.socket
    if socket is None:
        raise _unavailable()
    return ClientSession(connector=UnixConnector(path=str(socket)), timeout=ClientTimeout(total=None, sock_connect=ANSWER_SECONDS, sock_read=ANSWER_SECONDS))


def _unavailable() -> TelebrowserError:
    return TelebrowserError("BROWSER_UNAVAILABLE", "The view of the desktop does not answer", "Open the browser again: it comes back within a minute.")

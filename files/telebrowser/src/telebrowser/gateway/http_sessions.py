"""MCP over streamable HTTP: which requests are one session, and when it is over. The protocol itself is the SDK's.

Up to 2025-11-25 a client opens a session with ``initialize`` and names it in ``Mcp-Session-Id``; it ends with DELETE, soon
after its stream has closed, or when nothing has come for long. Later clients have no session on the wire: the path
names one, or the client's address and program stand for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable
from typing import Any

from aiohttp import web
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types import INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from ..config import Settings
from ..errors import TelebrowserError
from ..mcp.access import Access
from . import asgi
from .engines import Engines
from .wire import MAX_MESSAGE

log = logging.getLogger(__name__)

MAX_SESSIONS = 100
PATH = "/mcp"
END_SECONDS = 5.0

AccessOf = Callable[[str], Access]


class Served:
    """One session that is being served. ``ready`` gives the SDK's application for its requests."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready: asyncio.Future[asgi.App] = asyncio.get_running_loop().create_future()
        self.transport: StreamableHTTPServerTransport | None = None
        self.over = asyncio.Event()
        self.requests = 0
        self.streamed = False
        """The client has had a stream of its own: its end is told by the stream's."""
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def end(self) -> None:
        """Let it end."""
        self.over.set()
        if self.timer is not None:
            self.timer.cancel()


class HttpSessions:
    """The sessions of one project."""

    def __init__(self, engines: Engines, settings: Settings) -> None:
        self._engines, self._settings = engines, settings
        self._served: dict[tuple[str | None, str], Served] = {}

    async def handle(self, request: web.Request, session: str | None, access: AccessOf) -> web.StreamResponse:
        """Answer one request. ``session`` is what the path names. Raises `TelebrowserError`."""
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            name = session or _stand_in(request)
            served = self._served.get((None, name)) or self._open((None, name), Served(name), access(name))
            return await self._serve(request, served)
        number = request.headers.get(MCP_SESSION_ID_HEADER)
        if number is not None:
            known = self._served.get((session, number))
            # The code and the text are those of the SDK: clients know by the status that they must shake hands anew.
            return await self._serve(request, known) if known is not None else _error(404, "Session not found")
        if request.method != "POST":
            return _error(400, "Missing session ID")
        return await self._first(request, session, access)

    async def _first(self, request: web.Request, session: str | None, access: AccessOf) -> web.StreamResponse:
        """A request without a session opens one, if it succeeds."""
        number, name = os.urandom(16).hex(), session or f"http-{os.urandom(8).hex()}"
        served = Served(name)
        served.transport = StreamableHTTPServerTransport(mcp_session_id=number)
        self._open((session, number), served, access(name))
        established = False
        try:
            response = await self._serve(request, served)
            established = response.status < 400
            return response
        finally:
            if not established:
                served.end()

    def _open(self, key: tuple[str | None, str], served: Served, access: Access) -> Served:
        if len(self._served) >= MAX_SESSIONS:
            raise TelebrowserError("BUSY_QUEUE_FULL", f"{MAX_SESSIONS} sessions over HTTP are open already", "Close one, or wait until one is idle.")
        self._served[key] = served
        served.task = asyncio.get_running_loop().create_task(self._live(key, served, access))
        return served

    async def _live(self, key: tuple[str | None, str], served: Served, access: Access) -> None:
        try:
            async with self._engines.use(served.name) as endpoint:
                server = endpoint.server(access=access)
                if served.transport is None:
                    manager = StreamableHTTPSessionManager(app=server, stateless=True, max_request_body_size=MAX_MESSAGE + 1)
                    async with manager.run():
                        served.ready.set_result(manager.handle_request)
                        await served.over.wait()
                else:
                    async with served.transport.connect() as (read, write):
                        served.ready.set_result(served.transport.handle_request)
                        ending = asyncio.get_running_loop().create_task(_terminate(served))
                        try:
                            await server.run(read, write, server.create_initialization_options())
                        finally:
                            ending.cancel()
        except Exception as error:
            log.exception("a session over HTTP failed")
            if not served.ready.done():
                served.ready.set_exception(error)
        finally:
            served.ready.cancel()
            served.end()
            self._served.pop(key, None)
            log.info("the session over HTTP is over: %s", served.name)

    async def _serve(self, request: web.Request, served: Served) -> web.StreamResponse:
        served.requests += 1
        served.streamed = served.streamed or request.method == "GET"
        if served.timer is not None:
            served.timer.cancel()
        try:
            return await asgi.serve(request, await served.ready, PATH)
        finally:
            served.requests -= 1
            if served.requests == 0 and not served.over.is_set():
                seconds = self._settings.session_grace if served.streamed else self._settings.http_idle
                served.timer = asyncio.get_running_loop().call_later(seconds, served.end)
            if served.transport is not None and served.transport.is_terminated:
                served.end()

    async def aclose(self) -> None:
        """End all."""
        tasks = [served.task for served in self._served.values() if served.task is not None]
        for served in list(self._served.values()):
            served.end()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=END_SECONDS)
            for task in late:
                task.cancel()


async def _terminate(served: Served) -> None:
    await served.over.wait()
    assert served.transport is not None
    await served.transport.terminate()


def _stand_in(request: web.Request) -> str:
    """A session's name for a client that has none: the same for one program on one host."""
    who = f"{request.remote} {request.headers.get('User-Agent', '')}"
    return f"http-{hashlib.sha256(who.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _error(status: int, text: str) -> web.Response:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": text}}
    return web.Response(status=status, body=json.dumps(body), content_type="application/json")

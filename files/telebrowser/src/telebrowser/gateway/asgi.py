"""A request of aiohttp for an ASGI application, and its answer back: how the SDK's HTTP transport runs in this server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from ..errors import TelebrowserError
from .wire import MAX_MESSAGE

LOOK_SECONDS = 0.5

Message = Mapping[str, Any]
App = Callable[[dict[str, Any], Callable[[], Awaitable[dict[str, Any]]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


async def serve(request: web.Request, app: App, path: str) -> web.StreamResponse:
    """Answer ``request`` by ``app``, which sees ``path``: the real one holds the token. Raises `TelebrowserError` TOO_LARGE."""
    try:
        body = await _body(request)
    except ConnectionError:
        return web.Response(status=400)  # to nobody: the client has gone in the middle of its request
    exchange = _Exchange(request, body)
    watch = asyncio.get_running_loop().create_task(exchange.watch())
    try:
        await app(_scope(request, path), exchange.receive, exchange.send)
    finally:
        watch.cancel()
    return await exchange.finish()


async def _body(request: web.Request) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_MESSAGE:
            raise TelebrowserError("TOO_LARGE", f"The message is larger than {MAX_MESSAGE >> 20} MiB")
    return bytes(body)


def _scope(request: web.Request, path: str) -> dict[str, Any]:
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": tuple(peer[:2]) if isinstance(peer, tuple) else None,
        "server": None,
    }


class _Exchange:
    """One request's two directions."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self._request = request
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._response: web.StreamResponse | None = None
        self._ended = False

    async def watch(self) -> None:
        """Notice that the client has gone."""
        # aiohttp has no event for it.
        while self._request.transport is not None and not self._request.transport.is_closing():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        self._gone.set()

    async def receive(self) -> dict[str, Any]:
        """The body once, then the end of the connection."""
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Head or body of the answer. What a client that has gone would get is dropped."""
        try:
            if message["type"] == "http.response.start":
                self._response = _head(message)
            elif message["type"] == "http.response.body" and self._response is not None:
                if not self._response.prepared:
                    await self._response.prepare(self._request)
                if message.get("body"):
                    await self._response.write(message["body"])
                if not message.get("more_body"):
                    self._ended = True
                    await self._response.write_eof()
        except ConnectionError:
            self._gone.set()

    async def finish(self) -> web.StreamResponse:
        """The answer, complete."""
        response = self._response
        if response is None:
            raise TelebrowserError("INTERNAL", "The MCP server gave no answer", "See gateway.log.")
        with contextlib.suppress(ConnectionError):
            if not response.prepared:
                await response.prepare(self._request)
            if not self._ended:
                await response.write_eof()
        return response


def _head(message: Message) -> web.StreamResponse:
    response = web.StreamResponse(status=message["status"])
    for name, value in message.get("headers", ()):
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key == "content-length":
            response.content_length = int(text)
        elif key not in ("connection", "transfer-encoding"):
            response.headers.add(key, text)
    return response

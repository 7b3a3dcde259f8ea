"""WebSocket connections: CDP clients of a browser, and MCP clients of an engine.

Everything for a client goes through a bounded queue, because the browser's one stream must not wait for a client
that reads slowly: such a client is cut off, with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import WSCloseCode, WSMsgType, web

from .client import Client
from .engines import Receive, Send
from .prompt_socket import PromptSocket
from .wire import MAX_MESSAGE

log = logging.getLogger(__name__)

QUEUE_BYTES = 128 << 20
STALL_SECONDS = 30.0
CLOSE_SECONDS = 3.0
HARD_LIMIT = 512 << 20
"""A message above `MAX_MESSAGE` is answered by an error and the connection goes on; above this it ends."""
WRITER_LIMIT = 1 << 20
DIRECT_BYTES = 32 << 10
"""A message up to this size is written at once when nothing waits: it cannot fill an empty write buffer (64 KiB)."""

OpenClient = Callable[[Callable[[bytes], None], Callable[[str], None]], Awaitable[Client]]


def new_socket() -> web.WebSocketResponse:
    """A WebSocket without compression (on loopback it doubles the time of large messages) that gives text as bytes."""
    return web.WebSocketResponse(compress=False, max_msg_size=HARD_LIMIT, writer_limit=WRITER_LIMIT, decode_text=False, timeout=CLOSE_SECONDS)


class Outbox:
    """What waits to be sent to one client. `end` closes the connection after what was put before."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.overflowed = False
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._overflow: Callable[[str], None] | None = None
        self._socket: web.WebSocketResponse | None = None
        self._transport: asyncio.Transport | None = None
        self._sending = False

    def attach(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        """The upgraded connection; until then everything waits."""
        self._socket, self._transport = socket, transport

    def on_overflow(self, handler: Callable[[str], None]) -> None:
        """Called once when the client has fallen too far behind."""
        self._overflow = handler

    def put(self, data: bytes) -> None:
        """One message for the client."""
        if self.reason is not None:
            return
        if not self._queue and not self._sending and len(data) <= DIRECT_BYTES and self._write_now(data):
            return
        # One message of any size may wait; only what piles up behind it counts.
        if self._queue and self._bytes + len(data) > QUEUE_BYTES:
            self._fail(f"the client reads too slowly: {self._bytes >> 20} MiB wait for it")
            return
        self._queue.append(data)
        self._bytes += len(data)
        self._wake.set()

    def _write_now(self, data: bytes) -> bool:
        """Write without waking the pump, which saves a turn of the event loop for each message."""
        if self._socket is None or self._transport is None or self._transport.is_closing() or self._transport.get_write_buffer_size():
            return False
        sending = self._socket.send_frame(data, WSMsgType.TEXT)
        try:
            # Nothing in it waits while the write buffer stays below its mark, so that one step completes it.
            sending.send(None)
        except StopIteration:
            return True
        except (ConnectionError, RuntimeError):
            return False
        sending.close()
        self._fail("the connection could not be written")
        return True

    def end(self, reason: str) -> None:
        """No more messages: close once the queue is empty."""
        if self.reason is None:
            self.reason = reason
        self._wake.set()

    def _fail(self, reason: str) -> None:
        self._queue.clear()
        self._bytes = 0
        self.overflowed = True
        self.end(reason)
        if self._overflow is not None:
            self._overflow(reason)

    async def pump(self, socket: web.WebSocketResponse) -> None:
        """Send until `end`, then close. A send that takes `STALL_SECONDS` ends it too."""
        loop = asyncio.get_running_loop()
        while True:
            while self._queue:
                data = self._queue.popleft()
                self._sending = True
                stall = loop.call_later(STALL_SECONDS, self._fail, f"the client has read nothing for {STALL_SECONDS:.0f} s")
                try:
                    await socket.send_frame(data, WSMsgType.TEXT)
                except (ConnectionError, RuntimeError):
                    return
                finally:
                    stall.cancel()
                    self._sending = False
                self._bytes = max(0, self._bytes - len(data))
            if self.reason is not None:
                return
            self._wake.clear()
            if not self._queue and self.reason is None:
                await self._wake.wait()


async def serve_cdp(request: web.Request, open_client: OpenClient, sockets: set[web.WebSocketResponse]) -> web.WebSocketResponse:
    """Serve one CDP client. The client is opened before the upgrade, so that a failure is an HTTP error."""
    outbox = Outbox()
    client = await open_client(outbox.put, outbox.end)
    socket = PromptSocket(client.feed, max_message=HARD_LIMIT, writer_limit=WRITER_LIMIT, close_seconds=CLOSE_SECONDS)
    try:
        await socket.prepare(request)
    except BaseException:
        client.end("the connection was not made")
        raise
    sockets.add(socket)
    outbox.attach(socket, request.transport)
    pump = asyncio.get_running_loop().create_task(outbox.pump(socket))

    def cut(reason: str) -> None:
        log.warning("a client of %s is cut off: %s", client.session or "the whole browser", reason)
        client.end(reason)
        pump.cancel()

    outbox.on_overflow(cut)
    reader = asyncio.get_running_loop().create_task(_ended(socket))
    try:
        await asyncio.wait({pump, reader}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sockets.discard(socket)
        client.end("the client closed its connection")
        await _finish(request, socket, outbox, pump, reader)
    return socket


async def _ended(socket: PromptSocket) -> None:
    """Wait until the client closes, is gone, or sends what is no WebSocket."""
    async for _ in socket:
        pass


async def _finish(request: web.Request, socket: web.WebSocketResponse, outbox: Outbox, *tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, ConnectionError, RuntimeError):
            await task
    transport = request.transport
    if outbox.overflowed and transport is not None:
        # It reads nothing, so it would not read a goodbye either.
        transport.abort()
        return
    reason = (outbox.reason or "bye").encode()[:120]
    with contextlib.suppress(ConnectionError, RuntimeError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await socket.close(code=WSCloseCode.GOING_AWAY if outbox.reason else WSCloseCode.OK, message=reason)


async def serve_mcp(
    request: web.Request,
    headers: Mapping[str, str],
    sockets: set[web.WebSocketResponse],
    ready: Callable[[], Awaitable[None]],
    serve: Callable[[Receive, Send], Awaitable[None]],
) -> web.WebSocketResponse:
    """Give one MCP client to ``serve``, one JSON-RPC message per text frame, once the engine is ``ready``; ``headers`` go into the upgrade's answer."""
    socket = new_socket()
    socket.headers.update(headers)
    await socket.prepare(request)
    sockets.add(socket)

    async def receive() -> str | None:
        while True:
            message = await socket.receive()
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return None
            if len(message.data) > MAX_MESSAGE:
                await send(_too_large())
                continue
            return str(message.data, "utf-8", "replace")

    async def send(text: str) -> None:
        with contextlib.suppress(ConnectionError):
            await socket.send_frame(text.encode("utf-8", "replace"), WSMsgType.TEXT)

    try:
        await ready()
        await serve(receive, send)
    finally:
        sockets.discard(socket)
        with contextlib.suppress(ConnectionError, RuntimeError):
            await socket.close()
    return socket


def _too_large() -> str:
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": f"Message is larger than {MAX_MESSAGE >> 20} MiB"}})

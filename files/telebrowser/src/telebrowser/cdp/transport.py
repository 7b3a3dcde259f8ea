"""Carriers of CDP messages: the debugging pipe of a Chromium, and a WebSocket.

A message is one JSON object as bytes, without a terminator. On the pipe, messages are separated by
NUL (Chromium's ``--remote-debugging-pipe``); on a WebSocket each is one text frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Protocol

MAX_MESSAGE = 512 * 1024 * 1024


def _ignore_message(data: bytes) -> None:
    """The handler before a user has set its own."""


def _ignore_close(reason: str) -> None:
    """The handler before a user has set its own."""


class Transport(Protocol):
    """One ordered, two-way stream of CDP messages.

    The user sets `on_message` and `on_close` before the event loop runs again. `on_close` is called once,
    with a reason for people, when the other side ends the stream; not after `close`.
    """

    on_message: Callable[[bytes], None]
    on_close: Callable[[str], None]

    def send(self, data: bytes) -> None:
        """Queue one message; never blocks. Ignored once closed."""

    def close(self) -> None:
        """End the stream at once."""


class _PipeReader(asyncio.Protocol):
    """Splits what Chromium writes at NUL bytes."""

    def __init__(self, owner: PipeTransport, skip_first: bool) -> None:
        self._owner = owner
        self._parts: list[bytes] = []
        self._skip = skip_first

    def data_received(self, data: bytes) -> None:
        *complete, rest = data.split(b"\0")
        for part in complete:
            self._parts.append(part)
            message = b"".join(self._parts)
            self._parts.clear()
            if self._skip:
                self._skip = False
                continue
            if message:
                self._owner.on_message(message)
        if rest:
            self._parts.append(rest)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.lost("the browser closed its debugging pipe")


class _PipeWriter(asyncio.Protocol):
    """Notices that Chromium no longer reads."""

    def __init__(self, owner: PipeTransport) -> None:
        self._owner = owner

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.lost("the browser closed its debugging pipe")


class PipeTransport:
    """CDP over the two socket ends that belong to a Chromium's descriptors 3 and 4.

    ``takeover`` is for a stream that another process has used before: one NUL is written, so that a message
    which that process left half written ends there, and what is read up to the first NUL is dropped.
    """

    def __init__(self, write_sock: socket.socket, read_sock: socket.socket, *, takeover: bool = False) -> None:
        self.on_message: Callable[[bytes], None] = _ignore_message
        self.on_close: Callable[[str], None] = _ignore_close
        self._write_sock = write_sock
        self._read_sock = read_sock
        self._takeover = takeover
        self._writer: asyncio.WriteTransport | None = None
        self._reader: asyncio.BaseTransport | None = None
        self._closed = False
        self._gathers = False
        self._unsent: list[bytes] = []
        self._loop = asyncio.get_running_loop()

    async def open(self) -> PipeTransport:
        """Start reading and writing on the running loop."""
        loop = self._loop
        for sock in (self._write_sock, self._read_sock):
            sock.setblocking(False)
        self._writer, _ = await loop.create_connection(lambda: _PipeWriter(self), sock=self._write_sock)
        if self._takeover:
            self._writer.write(b"\0")
        self._reader, _ = await loop.create_connection(lambda: _PipeReader(self, self._takeover), sock=self._read_sock)
        return self

    def send(self, data: bytes) -> None:
        if self._writer is None or self._closed:
            return
        if self._gathers:
            self._unsent.append(data)
            return
        self._writer.write(data + b"\0")
        # What follows in the same turn of the loop becomes one write: a tenth more calls a second for a client that keeps 32 in flight.
        self._gathers = True
        self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._gathers = False
        unsent, self._unsent = self._unsent, []
        if self._writer is not None and unsent and not self._writer.is_closing():
            self._writer.write(b"\0".join((*unsent, b"")))

    def lost(self, reason: str) -> None:
        """Called by the protocols when either end is gone."""
        if self._closed:
            return
        self.close()
        self.on_close(reason)

    def close(self) -> None:
        self._flush()
        self._closed = True
        for transport in (self._writer, self._reader):
            if transport is not None:
                transport.close()


class WebSocketTransport:
    """CDP over a client WebSocket to a Chromium's debugging port."""

    def __init__(self, url: str) -> None:
        self.on_message: Callable[[bytes], None] = _ignore_message
        self.on_close: Callable[[str], None] = _ignore_close
        self._url = url
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self, timeout: float = 10.0) -> WebSocketTransport:
        """Connect, within ``timeout`` seconds. Raises OSError or TimeoutError."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(opened))
        async with asyncio.timeout(timeout):
            await asyncio.shield(opened)
        return self

    async def _run(self, opened: asyncio.Future[None]) -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        reason = "the browser closed the connection"
        try:
            async with connect(self._url, max_size=None, compression=None, ping_interval=None, proxy=None) as connection:
                opened.set_result(None)
                sender = asyncio.create_task(self._send_all(connection.send))
                try:
                    async for message in connection:
                        self.on_message(message.encode() if isinstance(message, str) else message)
                finally:
                    sender.cancel()
                    with contextlib.suppress(asyncio.CancelledError, WebSocketException):
                        await sender
        except (OSError, WebSocketException) as error:
            reason = str(error)
            if not opened.done():
                opened.set_exception(OSError(reason))
                return
        if not self._closed:
            self._closed = True
            self.on_close(reason)

    async def _send_all(self, send: Callable[[str], object]) -> None:
        while True:
            await send((await self._queue.get()).decode())  # type: ignore[misc]

    def send(self, data: bytes) -> None:
        if not self._closed:
            self._queue.put_nowait(data)

    def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()

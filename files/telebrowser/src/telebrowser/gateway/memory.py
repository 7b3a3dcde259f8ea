"""A client connection inside the process: the engine's `cdp.transport.Transport`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .client import Client


def _ignore_message(data: bytes) -> None:
    """The handler before a user has set its own."""


def _ignore_close(reason: str) -> None:
    """The handler before a user has set its own."""


class MemoryTransport:
    """Hands messages to a `Client` and takes its messages, in order and never inside `send`.

    An answer that the gateway gives by itself is there before `send` returns; it waits for the next turn of the
    event loop, so that the caller can note its call first.
    """

    def __init__(self) -> None:
        self.on_message: Callable[[bytes], None] = _ignore_message
        self.on_close: Callable[[str], None] = _ignore_close
        self._client: Client | None = None
        self._waiting: deque[bytes] = deque()
        self._scheduled = False
        self._sending = False
        self._closed = False
        self._reason: str | None = None

    def bind(self, client: Client) -> None:
        """Join the transport to its client."""
        self._client = client

    def send(self, data: bytes) -> None:
        """One message of the client. Ignored once closed."""
        if self._closed or self._client is None:
            return
        self._sending = True
        try:
            self._client.feed(data)
        finally:
            self._sending = False

    def deliver(self, data: bytes) -> None:
        """One message for the client (the `Client`'s ``deliver``)."""
        if self._closed:
            return
        if self._sending or self._waiting or self.on_message is _ignore_message:
            self._waiting.append(data)
            self._schedule()
        else:
            self.on_message(data)

    def ended(self, reason: str) -> None:
        """The gateway ends the connection (the `Client`'s ``on_end``)."""
        self._reason = reason
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        while self._waiting and not self._closed:
            self.on_message(self._waiting.popleft())
        if self._reason is not None and not self._closed:
            self._closed = True
            self.on_close(self._reason)

    def close(self) -> None:
        """End the connection from the client's side; `on_close` is not called."""
        self._closed = True
        self._waiting.clear()
        if self._client is not None:
            self._client.end("the client closed its connection")

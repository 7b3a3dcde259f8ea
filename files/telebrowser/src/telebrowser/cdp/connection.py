"""A CDP client over a transport: calls with deadlines, sessions, events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

from .transport import Transport

JSON = dict[str, Any]
Handler = Callable[[JSON], None]


class CdpError(Exception):
    """An error answer of the browser to one call."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message}")
        self.method = method
        self.code = code
        self.message = message


class ConnectionLost(Exception):
    """The stream ended; calls in flight will have no answer."""


class SessionGone(Exception):
    """The session was detached (its target closed or crashed) before the answer came."""


class Connection:
    """Pairs answers with calls and hands events to the session that they belong to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._next_id = 0
        self._pending: dict[int, tuple[asyncio.Future[JSON], str, str]] = {}
        self._sessions: dict[str, Session] = {}
        self._children: dict[str, set[str]] = {}
        self.root = Session(self, "")
        self.closed: str | None = None
        self.on_closed: Callable[[str], None] | None = None
        transport.on_message = self._receive
        transport.on_close = self._lost

    def session(self, session_id: str) -> Session:
        """The session object of an attached ``session_id``; the same one each time."""
        if session_id not in self._sessions:
            self._sessions[session_id] = Session(self, session_id)
        return self._sessions[session_id]

    def start(self, method: str, params: JSON | None, session_id: str) -> asyncio.Future[JSON]:
        """Send one command now; the future resolves to its result."""
        future: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
        if self.closed is not None:
            future.set_exception(ConnectionLost(self.closed))
            return future
        self._next_id += 1
        self._pending[self._next_id] = (future, method, session_id)
        message: JSON = {"id": self._next_id, "method": method, "params": params or {}}
        if session_id:
            message["sessionId"] = session_id
        self._transport.send(json.dumps(message, separators=(",", ":")).encode())
        return future

    def close(self) -> None:
        """Close the transport; calls in flight raise `ConnectionLost`."""
        self._transport.close()
        self._end("closed by this side")

    def _receive(self, data: bytes) -> None:
        message = json.loads(data)
        number = message.get("id")
        if number is not None:
            self._answer(number, message)
            return
        session_id = message.get("sessionId", "")
        method = message.get("method", "")
        params = message.get("params", {})
        if method == "Target.attachedToTarget":
            self._children.setdefault(session_id, set()).add(params["sessionId"])
        elif method == "Target.detachedFromTarget":
            self._detached(params.get("sessionId", ""))
        session = self.root if not session_id else self._sessions.get(session_id)
        if session is not None:
            session.dispatch(method, params)

    def _answer(self, number: int, message: JSON) -> None:
        future, method, _ = self._pending.pop(number, (None, "", ""))
        if future is None or future.done():
            return
        error = message.get("error")
        if error is not None:
            future.set_exception(CdpError(method, error.get("code", 0), error.get("message", "")))
        else:
            future.set_result(message.get("result", {}))

    def _detached(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.detached = True
        self.abandon(session_id)
        # The sessions below it end with it, and the events that would say so had it as their way.
        for child in self._children.pop(session_id, ()):
            self._detached(child)

    def abandon(self, session_id: str) -> None:
        """Fail the calls in flight on a session whose target will not answer any more."""
        for number, (future, method, owner) in list(self._pending.items()):
            if owner == session_id:
                del self._pending[number]
                if not future.done():
                    future.set_exception(SessionGone(f"{method}: the target is gone"))

    def _lost(self, reason: str) -> None:
        self._end(reason)
        if self.on_closed is not None:
            self.on_closed(reason)

    def _end(self, reason: str) -> None:
        if self.closed is not None:
            return
        self.closed = reason
        for future, _method, _owner in self._pending.values():
            if not future.done():
                future.set_exception(ConnectionLost(reason))
        self._pending.clear()


class Session:
    """One attached target (or the root, with the empty id)."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self.connection = connection
        self.id = session_id
        self.detached = False
        self._handlers: dict[str, list[Handler]] = {}

    def on(self, event: str, handler: Handler) -> Callable[[], None]:
        """Call ``handler(params)`` on each ``event``; the result removes it again."""
        self._handlers.setdefault(event, []).append(handler)

        def remove() -> None:
            with contextlib.suppress(ValueError, KeyError):
                self._handlers[event].remove(handler)

        return remove

    def dispatch(self, event: str, params: JSON) -> None:
        """Hand one event to its handlers, in the order in which they were added."""
        for handler in tuple(self._handlers.get(event, ())):
            handler(params)

    def start(self, method: str, **params: Any) -> asyncio.Future[JSON]:
        """Send without waiting; for pipelining several commands."""
        if self.detached:
            future: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
            future.set_exception(SessionGone(f"{method}: the target is gone"))
            return future
        return self.connection.start(method, params, self.id)

    def forget(self, method: str, **params: Any) -> None:
        """Send and ignore the answer, also an error."""
        self.start(method, **params).add_done_callback(_swallow)

    async def call(self, method: str, *, timeout: float = 30.0, **params: Any) -> JSON:
        """Send one command and wait for its result, at most ``timeout`` seconds.

        Raises `CdpError`, `SessionGone`, `ConnectionLost` or TimeoutError.
        """
        async with asyncio.timeout(timeout):
            return await self.start(method, **params)


def _swallow(future: asyncio.Future[JSON]) -> None:
    if not future.cancelled():
        future.exception()

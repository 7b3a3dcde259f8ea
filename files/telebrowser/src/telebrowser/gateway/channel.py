"""The one stream of a browser: calls of the gateway itself with their answers, and who gets which session's messages.

Session ids are unique in the stream, so that the ids of a client's own calls need no rewriting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from ..cdp.transport import Transport
from . import wire

log = logging.getLogger(__name__)

CALL_SECONDS = 15.0
Handler = Callable[[bytes, str], None]


class Channel:
    """Reads and writes one `Transport`. Calls without a session go to the *control* root, once there is one."""

    def __init__(self, transport: Transport, project: str) -> None:
        self.project = project
        self.down: str | None = None
        """Why the stream ended."""
        self.received = 0
        self.sent = 0
        self._transport = transport
        self._control = ""
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._routes: dict[str, Handler] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        transport.on_message = self._receive
        transport.on_close = self._lost

    def _lost(self, reason: str) -> None:
        """The stream ended: calls in flight fail, background work stops."""
        self.down = reason
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(wire.ProtocolError(wire.SERVER_ERROR, f"The browser has ended: {reason}"))
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold a task until it ends, or the link does; log its fault."""
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("%s: background work failed: %s", self.project, fault, exc_info=fault)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self.keep(asyncio.get_running_loop().create_task(work))

    def send(self, data: bytes) -> None:
        """One ready message to the browser."""
        self.sent += 1
        self._transport.send(data)

    def post(self, method: str, params: Mapping[str, Any], session: str | None = None) -> None:
        """A call whose answer nobody awaits; on the control root unless a session is given ("" is the stream itself)."""
        self.send(wire.call(wire.fresh_id(), method, wire.encode(params), self._control if session is None else session))

    async def call(self, method: str, params: Mapping[str, Any], session: str | None = None) -> dict[str, Any]:
        """A call of the gateway itself. Raises `wire.ProtocolError`, or TimeoutError after `CALL_SECONDS`."""
        if self.down is not None:
            raise wire.ProtocolError(wire.SERVER_ERROR, f"The browser has ended: {self.down}")
        ident = wire.fresh_id()
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        self.send(wire.call(ident, method, wire.encode(params), self._control if session is None else session))
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await future
        finally:
            self._waiting.pop(ident, None)

    def _receive(self, raw: bytes) -> None:
        self.received += 1
        if (ident := wire.own_reply_id(raw)) is not None:
            self._answered(ident, raw)
            return
        session = wire.session_of(raw)
        handler = self._routes.get(session)
        if handler is not None:
            handler(raw, session)

    def _answered(self, ident: int, raw: bytes) -> None:
        future = self._waiting.pop(ident, None)
        if future is None or future.done():
            return
        try:
            message = wire.decode(raw)
        except msgspec.DecodeError as error:
            future.set_exception(wire.ProtocolError(wire.PARSE_ERROR, str(error)))
            return
        if "error" in message:
            future.set_exception(wire.ProtocolError(message["error"].get("code", wire.SERVER_ERROR), message["error"].get("message", "")))
        else:
            future.set_result(message.get("result", {}))

    def route_events(self, session: str, handler: Handler) -> None:
        """Messages of a session of the gateway itself go to ``handler``."""
        self._routes[session] = handler

    def unroute(self, session: str) -> None:
        """The session is gone."""
        self._routes.pop(session, None)

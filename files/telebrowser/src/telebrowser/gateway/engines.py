"""The engines of one project: an MCP endpoint per session, warm across the reconnects of its launcher."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from ..config import Settings
from .session import SessionBrowser

if TYPE_CHECKING:
    from ..mcp.access import Access
    from ..mcp.endpoint import Endpoint

Receive = Callable[[], Awaitable[str | None]]
Send = Callable[[str], Awaitable[None]]


def load() -> type[Endpoint]:
    """Import the engine, which takes more than a second the first time; call it in a thread once at the start."""
    endpoint: type[Endpoint] = importlib.import_module("telebrowser.mcp.endpoint").Endpoint
    return endpoint


class _Entry:
    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.connections = 0
        self.timer: asyncio.TimerHandle | None = None


class Engines:
    """``provider`` makes a session's way to the browser; ``ended`` hears of a session whose grace time is over."""

    def __init__(self, settings: Settings, provider: Callable[[str], SessionBrowser], ended: Callable[[str], None]) -> None:
        self._settings = settings
        self._provider = provider
        self._ended = ended
        self._entries: dict[str, _Entry] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def serve(self, session: str, receive: Receive, send: Send, *, own: bool = False, access: Access | None = None) -> None:
        """Serve one MCP connection of a session until ``receive`` gives None; ``own`` and ``access`` as for `Endpoint.server`."""
        async with self.use(session) as endpoint:
            await endpoint.run(receive, send, own=own, access=access)

    @contextlib.asynccontextmanager
    async def use(self, session: str) -> AsyncIterator[Endpoint]:
        """The session's endpoint, which lives at least as long as somebody uses it, and for the grace time after."""
        entry = self._entries.get(session) or self._make(session)
        entry.connections += 1
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None
        try:
            yield entry.endpoint
        finally:
            entry.connections -= 1
            if entry.connections == 0 and self._entries.get(session) is entry:
                entry.timer = asyncio.get_running_loop().call_later(self._settings.session_grace, self._over, session)

    def _make(self, session: str) -> _Entry:
        endpoint = load()(self._provider(session), self._settings, evaluate=self._settings.evaluate, allow_private=not self._settings.block_private)
        entry = self._entries[session] = _Entry(endpoint)
        return entry

    def _over(self, session: str) -> None:
        entry = self._entries.pop(session)
        task = asyncio.get_running_loop().create_task(self._end(session, entry))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, session: str, entry: _Entry) -> None:
        try:
            await entry.endpoint.aclose()
        finally:
            self._ended(session)

    def handoffs_changed(self, session: str) -> None:
        """A handoff of the session has begun or ended, or goes on in another tab."""
        if (entry := self._entries.get(session)) is not None:
            entry.endpoint.engine.handoffs_changed()

    @property
    def busy(self) -> bool:
        """Whether a tool call is under way."""
        return any(entry.endpoint.busy for entry in self._entries.values())

    def connections(self) -> dict[str, int]:
        """Session → open MCP connections."""
        return {session: entry.connections for session, entry in self._entries.items()}

    def disconnect(self) -> None:
        """Let go of the browser, which is about to stop; the next call connects again."""
        for entry in self._entries.values():
            entry.endpoint.disconnect()

    async def aclose(self) -> None:
        """End all engines."""
        for entry in self._entries.values():
            if entry.timer is not None:
                entry.timer.cancel()
        entries, self._entries = list(self._entries.values()), {}
        for entry in entries:
            with contextlib.suppress(Exception):
                await entry.endpoint.aclose()
        for task in self._ending:
            task.cancel()

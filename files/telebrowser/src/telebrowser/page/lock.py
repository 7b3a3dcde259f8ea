"""The operation lock of a tab: first in, first out, with a bounded queue and a watchdog."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..errors import TelebrowserError

WATCHDOG_SECONDS = 300.0


class OperationLock:
    """Serialises what changes a page.

    ``limit`` calls may wait; one more is refused with ``BUSY_QUEUE_FULL``. A holder that has not let go after
    `WATCHDOG_SECONDS` is cancelled, so that a fault in one call never blocks the tab for good.
    """

    def __init__(self, limit: int, watchdog: float = WATCHDOG_SECONDS) -> None:
        self._limit = limit
        self._watchdog = watchdog
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held = False

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Wait for the turn, hold the lock for the block."""
        await self._acquire()
        try:
            async with asyncio.timeout(self._watchdog):
                yield
        finally:
            self._release()

    async def _acquire(self) -> None:
        if not self._held:
            self._held = True
            return
        if len(self._waiting) >= self._limit:
            raise TelebrowserError("BUSY_QUEUE_FULL", f"{len(self._waiting)} calls already wait for this tab")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            else:
                self._waiting.remove(turn)
            raise

    def _release(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._held = False

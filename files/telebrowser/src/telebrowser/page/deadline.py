"""The end of a call's time, handed down to every step of it."""

from __future__ import annotations

import asyncio
import time

LEAST = 0.05


class Deadline:
    """A point in time, ``seconds`` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float | None = None) -> float:
        """Seconds that remain, at most ``most``; never so few that a step which answers at once would fail."""
        left = max(LEAST, self._end - time.monotonic())
        return left if most is None else min(left, most)

    def passed(self, margin: float = 0.0) -> bool:
        """Whether ``margin`` seconds or less remain."""
        return time.monotonic() + margin >= self._end

    def sooner(self, seconds: float, margin: float = 0.0) -> Deadline:
        """One that ends ``seconds`` from now, but ``margin`` before this one at the latest."""
        return Deadline(max(0.0, min(seconds, self._end - margin - time.monotonic())))


async def within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; whether it came within ``seconds``."""
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True

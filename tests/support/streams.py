"""The end of connections that a test's own server has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable


async def end_all(writers: Iterable[asyncio.StreamWriter]) -> None:
    """Cut all of them off, and wait until they are: one that still has something to send to who no longer reads would outlive the loop."""
    every = list(writers)
    for writer in every:
        writer.transport.abort()
    await asyncio.gather(*(writer.wait_closed() for writer in every), return_exceptions=True)

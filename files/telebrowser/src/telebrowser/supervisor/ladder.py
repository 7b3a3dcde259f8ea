"""How a browser is stopped: it is asked to close, then SIGINT, then SIGKILL for its whole group.

Never SIGTERM: Chromium then exits with status 0 and loses the cookies of the last 30 seconds. Being asked
and SIGINT are both clean. The steps are waited for by event, so browsers can be stopped side by side.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Protocol

from ..processes import is_running, kill_group, open_process, signal_process
from .children import resolve

CLOSE_SECONDS = 10.0
INTERRUPT_SECONDS = 5.0
KILL_SECONDS = 5.0


class Stoppable(Protocol):
    """What the ladder needs of a browser."""

    @property
    def group(self) -> int:
        """Its process group, which is its pid."""

    async def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for its end; whether it has ended."""

    def ask(self) -> bool:
        """Ask it to close; False when nobody can be asked."""

    def interrupt(self) -> None:
        """Send SIGINT to its main process."""


async def stop(browser: Stoppable) -> str:
    """Stop a browser; the last step that was needed: ``closed``, ``interrupted``, ``killed`` or ``stuck``.

    ``stuck`` means that the kernel has not ended it within `KILL_SECONDS` of SIGKILL.
    """
    if browser.ask() and await browser.wait(CLOSE_SECONDS):
        return "closed"
    browser.interrupt()
    if await browser.wait(INTERRUPT_SECONDS):
        return "interrupted"
    kill_group(browser.group)
    return "killed" if await browser.wait(KILL_SECONDS) else "stuck"


async def wait_for_end(pid: int, start: int, timeout: float) -> bool:
    """Wait for the end of a process that need not be a child; whether it has ended within ``timeout`` seconds."""
    descriptor = open_process(pid, start)
    if descriptor is None:
        return True
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, resolve, ended)
    try:
        await asyncio.wait({ended}, timeout=timeout)
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return not is_running(pid, start)


class Leftover:
    """A browser that another supervisor started and that is still alive; its pipe is not ours."""

    def __init__(self, pid: int, start: int) -> None:
        self.group = pid
        self._start = start

    async def wait(self, timeout: float) -> bool:
        return await wait_for_end(self.group, self._start, timeout)

    def ask(self) -> bool:
        # Its supervisor is gone, and a gateway closes its ends when it sees that: the browser closes by itself.
        return True

    def interrupt(self) -> None:
        signal_process(self.group, self._start, signal.SIGINT)

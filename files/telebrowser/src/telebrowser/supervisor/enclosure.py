"""A browser's walls from outside: which process is the first one inside, and which one is Chromium.

bubblewrap is the supervisor's child and waits outside. The first process inside (number 1 there) collects what the browser leaves;
its end is the end of all inside, by the kernel. Chromium is number 2 there. bubblewrap's own ``--die-with-parent`` is not used: it
would kill Chromium together with a supervisor that dies, and with it the cookies of the last 30 seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal

from ..processes import ProcessStat, everyone, read_stat, signal_process
from . import ladder

INFO_DESCRIPTOR = 5
"""Where bubblewrap writes the pid of the first process inside."""

CHROMIUM_INSIDE = "2"
FIRST = re.compile(rb'"child-pid":\s*(\d+)\D')
SIGNALLED = 128


class Enclosure:
    """The processes inside the walls of one browser."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        # A high number: putting it in place must not overwrite another descriptor that is to be put in place.
        self._writing = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(writing)
        os.set_blocking(self._reading, False)
        self._text = b""
        self._first: ProcessStat | None = None
        self._main: ProcessStat | None = None

    def place(self) -> None:
        """In the child, right before bubblewrap: put the descriptor in place."""
        os.dup2(self._writing, INFO_DESCRIPTOR)

    def started(self) -> None:
        """In the parent, once the child runs (or failed to): listen."""
        os.close(self._writing)
        if self._reading >= 0:
            asyncio.get_running_loop().add_reader(self._reading, self._read)

    def close(self) -> None:
        """Stop listening."""
        if self._reading >= 0:
            asyncio.get_running_loop().remove_reader(self._reading)
            os.close(self._reading)
            self._reading = -1

    def _read(self) -> None:
        chunk = b""
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self._reading, 4096)
            if not chunk:
                self.close()
        self._text += chunk
        found = FIRST.search(self._text)
        if found is not None and self._first is None:
            self._first = read_stat(int(found[1]))

    @property
    def first(self) -> ProcessStat | None:
        """The first process inside; None when it is not known yet, or never was there."""
        if self._first is None and self._reading >= 0:
            self._read()
        return self._first

    @property
    def main(self) -> ProcessStat | None:
        """Chromium itself; None when it does not run yet, or ended before anybody asked."""
        first = self.first
        if self._main is None and first is not None:
            self._main = next((process for process in everyone() if process.parent == first.pid and _number_inside(process.pid) == CHROMIUM_INSIDE), None)
        return self._main

    async def end(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the end of everything inside, then kill it. Whether that was needed."""
        first, main = self.first, self.main
        if main is not None:
            # Only when bubblewrap was killed is it still there: a clean end for it.
            signal_process(main.pid, main.start, signal.SIGINT)
        if first is None or await ladder.wait_for_end(first.pid, first.start, seconds):
            return False
        killed = signal_process(first.pid, first.start, signal.SIGKILL)
        await ladder.wait_for_end(first.pid, first.start, seconds)
        return killed


def exit_code(code: int) -> int:
    """The browser's own exit code by that of bubblewrap, which tells of a signal as a shell does."""
    return SIGNALLED - code if SIGNALLED < code <= SIGNALLED + signal.NSIG else code


def _number_inside(pid: int) -> str:
    """The pid of a process as it sees it itself."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((line.split()[-1] for line in file if line.startswith("NSpid:")), "")
    except OSError:
        return ""

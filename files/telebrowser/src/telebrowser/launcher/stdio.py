"""The launcher's ends: stdin, stdout, the parent process and signals, as descriptors for `poll`.

Descriptors keep their flags: making stdin or stdout non-blocking would change them for every process that
shares them. Reads follow a `poll`; writes go out in pieces that a pipe with room always takes whole.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
from collections import deque
from types import FrameType

READ_BYTES = 1 << 18
HIGH_WATER = 16 << 20


def fill_closed() -> None:
    """Open /dev/null in the place of each of stdin, stdout and stderr that is closed, lest a socket take its number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


class Output:
    """Lines to a descriptor, without ever blocking. `BrokenPipeError` and other `OSError` say that the reader is gone."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._queue: deque[memoryview] = deque()
        self._bytes = 0
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        mode = os.fstat(descriptor).st_mode
        self._socket = socket.socket(fileno=os.dup(descriptor)) if stat.S_ISSOCK(mode) else None
        self._piece = 1 << 16 if stat.S_ISREG(mode) else select.PIPE_BUF

    @property
    def waiting(self) -> bool:
        """Something could not be written yet."""
        return bool(self._queue)

    @property
    def full(self) -> bool:
        """So much waits that no more should be taken from the gateway."""
        return self._bytes > HIGH_WATER

    def write_line(self, line: bytes) -> None:
        """Queue a line; its end is added."""
        for part in (line, b"\n") if len(line) > 1 << 16 else (line + b"\n",):
            self._queue.append(memoryview(part))
            self._bytes += len(part)

    def flush(self) -> None:
        """Write what the reader takes now."""
        while self._queue:
            sent = self._send(self._queue[0])
            if not sent:
                return
            self._bytes -= sent
            if sent == len(self._queue[0]):
                self._queue.popleft()
            else:
                self._queue[0] = self._queue[0][sent:]

    def close(self) -> None:
        """Give back what this object holds; the descriptor itself stays open."""
        if self._socket is not None:
            self._socket.close()

    def _send(self, data: memoryview) -> int:
        if self._socket is not None:
            try:
                return self._socket.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return 0
        events = self._poll.poll(0)
        if not events:
            return 0
        if events[0][1] & (select.POLLERR | select.POLLNVAL):
            raise BrokenPipeError
        try:
            return os.write(self.descriptor, data[: self._piece])
        except BlockingIOError:  # whoever shares the descriptor made it non-blocking
            return 0


class Parent:
    """Tells when the parent process has ended.

    Not by PR_SET_PDEATHSIG: that signal comes when the *thread* that started this process ends, and clients with
    thread pools would kill it at random. Where the kernel has no pidfd, or the parent lives outside this PID
    namespace, `gone` has to be asked now and then.
    """

    def __init__(self) -> None:
        self._pid = os.getppid()
        self.descriptor: int | None = None
        if self._pid > 0:
            with contextlib.suppress(OSError):
                self.descriptor = os.pidfd_open(self._pid)

    @property
    def gone(self) -> bool:
        """Whether this process has another parent than at its start."""
        return os.getppid() != self._pid


class Signals:
    """SIGTERM, SIGINT and SIGHUP as a readable descriptor."""

    def __init__(self) -> None:
        self.descriptor, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.received: int | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number

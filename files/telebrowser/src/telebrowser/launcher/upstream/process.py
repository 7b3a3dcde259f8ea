"""The upstream server as a process group that ends with us, however we end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from ...processes import signal_process
from ..lines import LineSplitter, TooLong
from ..messages import one_line
from ..stdio import Output
from .owner import family

MAX_LINE_BYTES = 100 << 20
READ_BYTES = 1 << 18
EXIT_SECONDS = 0.5
"""From the end of its stdout until its exit status is there; the kernel closes descriptors first."""
STRAY_SECONDS = 1.0
GUARD = ("/bin/sh", "-c", "trap '' TERM INT HUP; read _; kill -KILL 0")
"""Leads the group and kills it when our end of its stdin closes, which the kernel does even when we are killed."""


PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of whatever leaves the server's process group and loses its own parent, so that it can be found at the end."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process:
    """Started at once; raises `OSError` when that fails. ``lines`` of its stdout are given by `ready`."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.last_words = ""
        """The last line of its stderr, for messages."""
        self._guard = subprocess.Popen(GUARD, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={}, process_group=0)
        self.group = self._guard.pid
        try:
            self._child = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, process_group=self.group, bufsize=0
            )
        except BaseException:
            self._end_guard()
            raise
        assert self._child.stdin and self._child.stdout and self._child.stderr
        self._stdin, self._stdout = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._stdout, False)
        self._output: Output | None = Output(self._stdin)
        self._lines = LineSplitter(MAX_LINE_BYTES)
        self._pidfd = os.pidfd_open(self._child.pid)
        self._talk = threading.Thread(target=self._copy_errors, daemon=True, name="stderr of the upstream server")
        self._talk.start()
        self.ended = False

    # What the pump waits for

    def interest(self, *, full: bool) -> dict[int, int]:
        """Descriptor → poll events; ``full``: read nothing more."""
        wanted = {self._pidfd: select.POLLIN, self._stdout: 0 if full else select.POLLIN}
        if self._output is not None and self._output.waiting:
            wanted[self._stdin] = select.POLLOUT
        return wanted

    def ready(self) -> list[bytes | TooLong]:
        """Something of `interest` is ready: write, read, and see whether it has ended. The lines that were read."""
        self._flush()
        data = self._read()
        lines = self._lines.feed(data) if data else []
        if self._child.poll() is not None or data == b"":
            while more := self._read():
                lines += self._lines.feed(more)
            lines += self._lines.finish()
            self.ended = True
        return lines

    def _read(self) -> bytes | None:
        """What its stdout holds; empty at the end, None when there is nothing now."""
        try:
            return os.read(self._stdout, READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    @property
    def full(self) -> bool:
        """So much waits to be written that no more should be taken from the client."""
        return self._output is not None and self._output.full

    @property
    def writing(self) -> bool:
        """Something could not be written yet."""
        return self._output is not None and self._output.waiting

    def write(self, line: bytes) -> None:
        """Queue a line; one that it does not take any more is lost, and its end is told by `ready`."""
        if self._output is not None:
            self._output.write_line(line)
            self._flush()

    def _flush(self) -> None:
        try:
            if self._output is not None:
                self._output.flush()
        except OSError:
            self.close_stdin()

    # Its end

    def close_stdin(self) -> None:
        """Tell it that there will be no more."""
        if self._output is not None:
            self._output.close()
            self._output = None
            assert self._child.stdin
            with contextlib.suppress(OSError):
                self._child.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Signal the whole group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, number)

    def finish(self) -> str:
        """Kill what is left of the group and collect it; gives how the server ended, in words."""
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._child.wait(EXIT_SECONDS)
        self.signal(signal.SIGKILL)
        self._child.wait()
        self.close_stdin()
        self._end_guard()
        self._end_strays()
        os.close(self._pidfd)
        self._talk.join(0.5)  # a grandchild outside the group may hold stderr open
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None and not (stream is self._child.stderr and self._talk.is_alive()):
                stream.close()
        return self._how(status)

    def _how(self, status: int | None) -> str:
        if status is None:
            how = "closed its stdout"
        elif status < 0:
            how = f"was killed by signal {-status}"
        else:
            how = f"ended with status {status}"
        return how + (f" ({self.last_words})" if self.last_words else "")

    def _end_guard(self) -> None:
        self.signal(signal.SIGKILL)
        assert self._guard.stdin
        self._guard.stdin.close()
        self._guard.wait()

    @staticmethod
    def _end_strays() -> None:
        """Kill what has left the group, such as a browser that the server started in a session of its own."""
        own, deadline = os.getpid(), time.monotonic() + STRAY_SECONDS
        while (strays := family(lambda row: row.parent == own)) and time.monotonic() < deadline:
            for row in strays:
                signal_process(row.pid, row.start, signal.SIGKILL)
            for row in strays:
                with contextlib.suppress(ChildProcessError):  # not ours yet: it comes to us once its parent has gone
                    os.waitpid(row.pid, os.WNOHANG)

    def _copy_errors(self) -> None:
        """Its stderr goes to ours, by a thread, since ours may block."""
        assert self._child.stderr
        rest = b""
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self._child.stderr.fileno(), READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                rest = rest[-1000:]
                told = [line for line in lines if line.strip()]
                if told:
                    self.last_words = one_line(told[-1].decode("utf-8", "replace"))
                with contextlib.suppress(OSError):
                    os.write(sys.stderr.fileno(), data)

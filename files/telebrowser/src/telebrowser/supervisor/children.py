"""Child processes of the supervisor: every one is collected here, orphans of browsers included.

The supervisor makes itself the reaper of its descendants, so that what a browser leaves behind never
stays as a zombie, whatever process 1 of the machine or container does. Therefore `subprocess` must not
wait for the children by itself; `Children.spawn` hands out a future with the exit code instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, NamedTuple

from ..processes import signal_process, start_time

PR_SET_CHILD_SUBREAPER = 36


class Child(NamedTuple):
    """A started process: ``ended`` gives its exit code, negative for a signal."""

    pid: int
    start: int
    ended: asyncio.Future[int]

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal; False when it has ended."""
        return not self.ended.done() and signal_process(self.pid, self.start, number)


class Identity(NamedTuple):
    """The user as whom a browser runs when the supervisor is root."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]


class Children:
    """Spawns and collects processes on the running event loop."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[int]] = {}

    def install(self) -> None:
        """Become the reaper of all descendants and listen for their ends."""
        _set_reaper(True)
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self.collect)

    def uninstall(self) -> None:
        """Stop listening, and leave orphans to process 1 again."""
        _set_reaper(False)
        asyncio.get_running_loop().remove_signal_handler(signal.SIGCHLD)

    def collect(self) -> None:
        """Collect every child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            future = self._waiting.pop(pid, None)
            if future is not None and not future.done():
                future.set_result(os.waitstatus_to_exitcode(status))

    def spawn(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        stderr: int | IO[bytes],
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        identity: Identity | None = None,
        cwd: str | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> Child:
        """Start a process in a session of its own, with signals and descriptors as new. Raises OSError.

        ``prepare`` runs in the child right before the program; descriptors that it puts in place are kept.
        """
        options: dict[str, Any] = {}
        if identity is not None:
            options.update(user=identity.uid, group=identity.gid, extra_groups=identity.groups)
        process = subprocess.Popen(
            command,
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=prepare,
            close_fds=prepare is None,
            **options,
        )
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[process.pid] = future
        started = start_time(process.pid)
        # Popen must neither wait for the process nor warn that nobody did.
        process.returncode = 0
        if started is None:
            # It has ended already; SIGCHLD is on its way or came before the future was known.
            started = -1
            asyncio.get_running_loop().call_soon(self.collect)
        return Child(process.pid, started, future)


def _set_reaper(on: bool) -> None:
    # Where the C library or kernel has none of it, orphans go to process 1 as ever.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def resolve(future: asyncio.Future[None]) -> None:
    """A callback that completes a future which something else may have completed or cancelled before."""
    if not future.done():
        future.set_result(None)

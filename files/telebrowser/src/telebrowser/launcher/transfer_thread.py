"""Runs transfer jobs, each in a thread of its own, and tells of their ends through a descriptor for `poll`."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque

from ..errors import ExitError, TelebrowserError
from .transfer import Job

STOP_SECONDS = 1.0

Outcome = bytes | TelebrowserError | None


def run_job(job: Job) -> Outcome:
    """What becomes of a job: the message to pass on, the error for its call, or None when it was cancelled."""
    from .transfer_http import Cancelled

    try:
        return job.run()
    except Cancelled:
        return None
    except TelebrowserError as error:
        return error
    except ExitError as error:  # the address or the secret cannot be had any more
        return TelebrowserError("BROWSER_UNAVAILABLE", str(error), "")
    except Exception as error:  # the text of an unforeseen error may hold an address with its token
        return TelebrowserError("INTERNAL", f"The file could not be transferred: fault in telebrowser itself ({type(error).__name__})", "Please report it.")


class Workers:
    """``descriptor`` is readable when `finished` has something."""

    def __init__(self) -> None:
        self.descriptor, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._ended: deque[tuple[Job, Outcome]] = deque()
        self._running: dict[threading.Thread, Job] = {}

    def start(self, job: Job) -> None:
        """Run a job."""
        thread = threading.Thread(target=self._run, args=(job,), daemon=True)
        self._running[thread] = job
        thread.start()

    def _run(self, job: Job) -> None:
        self._ended.append((job, run_job(job)))
        with contextlib.suppress(OSError):  # a full pipe is readable already; a closed one has no reader
            os.write(self._write, b"x")

    def finished(self) -> list[tuple[Job, Outcome]]:
        """The jobs that have ended since the last call."""
        with contextlib.suppress(BlockingIOError):
            while len(os.read(self.descriptor, 4096)) == 4096:
                pass
        ended = []
        while self._ended:
            ended.append(self._ended.popleft())
        for job, _ in ended:
            self._running = {thread: running for thread, running in self._running.items() if running is not job}
        return ended

    def stop(self) -> None:
        """Cancel what runs, and give it a moment to remove its unfinished files."""
        for job in self._running.values():
            job.cancelled = True
        ends = time.monotonic() + STOP_SECONDS
        for thread in self._running:
            thread.join(max(0.0, ends - time.monotonic()))
        os.close(self.descriptor)
        os.close(self._write)

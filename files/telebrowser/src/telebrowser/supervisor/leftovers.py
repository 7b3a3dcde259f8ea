"""Programs of a supervisor that was killed, such as its X server and view: ended by their records. Browsers are `orphans`' matter."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from pathlib import Path

from ..processes import kill_group, read_pid_file, signal_process
from .ladder import wait_for_end

log = logging.getLogger(__name__)

STOP_SECONDS = 3.0


async def end_recorded(record: Path, what: str) -> None:
    """End the program that a record names, if that very process is alive, and remove the record; ``what`` it is, for the log."""
    found = read_pid_file(record)
    if found is not None:
        log.warning("ending the %s of a former supervisor, pid %d", what, found[0])
        if signal_process(*found, signal.SIGTERM) and not await wait_for_end(*found, STOP_SECONDS) and kill_group(found[0]):
            await wait_for_end(*found, STOP_SECONDS)
    with contextlib.suppress(OSError):
        os.unlink(record)

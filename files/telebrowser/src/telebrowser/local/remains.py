"""What a stack that was killed leaves running, and how it is ended: by pid and start time, nothing by name."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from .. import config
from ..datadir import DataDir
from ..processes import kill_group, read_pid_file, signal_process
from ..supervisor import display, ladder, orphans

# The supervisor's own ladder takes up to 20 s for a browser that does not end.
PART_SECONDS = {config.SUPERVISOR: 40.0, config.GATEWAY: 10.0}
KILL_SECONDS = 5.0


def end_all(data: DataDir) -> list[int]:
    """End the supervisor, then the gateway, browsers and display of a former stack; the pids that would not end."""
    return asyncio.run(_end_all(data))


async def _end_all(data: DataDir) -> list[int]:
    left = []
    for name in (config.SUPERVISOR, config.GATEWAY):
        found = read_pid_file(data.pid_file(name))
        if found is not None and not await end_process(*found, PART_SECONDS[name]):
            left.append(found[0])
    if not left:
        await orphans.end_all(data)
        await display.clear_remains(data)
        left = orphans.find_all(data)
    return left


async def end_process(pid: int, start: int, seconds: float) -> bool:
    """SIGTERM, then SIGKILL for the process's own group after ``seconds``; whether it has ended."""
    if not signal_process(pid, start, signal.SIGTERM) or await ladder.wait_for_end(pid, start, seconds):
        return True
    if not kill_group(pid):
        signal_process(pid, start, signal.SIGKILL)
    return await ladder.wait_for_end(pid, start, KILL_SECONDS)


def clear_wants(data: DataDir) -> None:
    """Forget which browsers were wanted, so that the next start begins with none."""
    with contextlib.suppress(OSError):
        for path in data.want.iterdir():
            path.unlink()

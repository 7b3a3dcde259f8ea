"""Processes seen through /proc: identity that survives recycled pids, groups, and waiting for an end.

A process is identified by its pid and its start time (field 22 of /proc/<pid>/stat), so that nothing that
merely got the same number is ever signalled. Linux only; standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .datadir import read_json, write_json


class ProcessStat(NamedTuple):
    """What /proc/<pid>/stat says that we use. ``start`` is in clock ticks since boot."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    start: int

    @property
    def alive(self) -> bool:
        """False for a zombie, which has ended and only waits to be collected."""
        return self.state not in ("Z", "X", "x")


def read_stat(pid: int) -> ProcessStat | None:
    """The state of a process; None when there is none with this pid."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The second field is the program's name in parentheses, which may itself hold blanks and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return ProcessStat(pid, fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def start_time(pid: int) -> int | None:
    """The start time of a live process; None when it has ended."""
    found = read_stat(pid)
    return found.start if found is not None and found.alive else None


def is_running(pid: int, start: int) -> bool:
    """Whether the process with this pid and this start time is still alive."""
    return start_time(pid) == start


def everyone() -> Iterator[ProcessStat]:
    """Every process that is alive."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            found = read_stat(int(name))
            if found is not None and found.alive:
                yield found


def group_members(group: int) -> list[ProcessStat]:
    """The live members of a process group."""
    return [found for found in everyone() if found.group == group]


def command_line(pid: int) -> list[str]:
    """The arguments of a process; empty when it is gone or may not be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).rstrip("\0").split("\0")
    except OSError:
        return []


def open_process(pid: int, start: int) -> int | None:
    """A descriptor of exactly this process, which becomes readable when it ends; None when it has ended. The caller closes it."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return None
    # The descriptor pins the process: if its start time is right now, nothing done through it reaches another.
    if start_time(pid) == start:
        return descriptor
    os.close(descriptor)
    return None


def signal_process(pid: int, start: int, number: signal.Signals) -> bool:
    """Send a signal to exactly this process. False when it has ended (or is another one by now)."""
    descriptor = open_process(pid, start)
    if descriptor is None:
        return False
    try:
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def kill_group(group: int) -> bool:
    """SIGKILL a whole process group. False when it has no live member."""
    if not group_members(group):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return True


def write_pid_file(path: Path) -> None:
    """Record this process in ``path``. Raises OSError."""
    write_json(path, {"pid": os.getpid(), "start": start_time(os.getpid())})


def read_pid_file(path: Path) -> tuple[int, int] | None:
    """Pid and start time of the process recorded in ``path``, if that very process is alive."""
    value = read_json(path)
    if value is None or not isinstance(value.get("pid"), int) or not isinstance(value.get("start"), int):
        return None
    pid, start = value["pid"], value["start"]
    return (pid, start) if is_running(pid, start) else None


def remove_pid_file(path: Path) -> None:
    """Remove ``path`` if it records this process."""
    if (read_json(path) or {}).get("pid") == os.getpid():
        with contextlib.suppress(OSError):
            path.unlink()

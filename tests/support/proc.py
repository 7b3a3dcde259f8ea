"""What runs on this machine, read from /proc: the tests' own view of processes, descriptors and memory."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

POLL = 0.05
T = TypeVar("T")


class Process:
    """One row of the process table; a recycled pid is told apart by its start time."""

    def __init__(self, pid: int, start: str, cmdline: str, ppid: int, state: str) -> None:
        self.pid, self.start, self.cmdline, self.ppid, self.state = pid, start, cmdline, ppid, state

    def __repr__(self) -> str:
        return f"<{self.pid} {self.state} ppid={self.ppid} {self.cmdline[:160]}>"


def read_text(path: str | Path) -> str:
    """The text of a /proc file, or nothing when its process has just ended."""
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def process(pid: int) -> Process | None:
    """The process with this pid, unless it is gone or a zombie."""
    stat = read_text(f"/proc/{pid}/stat")
    if ")" not in stat:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return Process(pid, fields[19], read_text(f"/proc/{pid}/cmdline").replace("\0", " ").strip(), int(fields[1]), fields[0])


def table() -> list[Process]:
    """Every live process."""
    return [found for name in os.listdir("/proc") if name.isdigit() and (found := process(int(name)))]


def mentioning(*marks: str) -> list[Process]:
    """Live processes whose command line, environment or working directory names one of the marks; never this process or its ancestors."""
    own = ancestry(os.getpid())
    found = []
    for row in table():
        if row.pid in own:
            continue
        where = row.cmdline + "\n" + read_text(f"/proc/{row.pid}/environ")
        with contextlib.suppress(OSError):
            where += "\n" + os.readlink(f"/proc/{row.pid}/cwd")
        if any(mark in where for mark in marks):
            found.append(row)
    return found


def ancestry(pid: int) -> set[int]:
    """The pid and those of all its ancestors."""
    rows = {row.pid: row.ppid for row in table()}
    chain = set()
    while pid and pid not in chain:
        chain.add(pid)
        pid = rows.get(pid, 0)
    return chain


def descendants(pids: Iterable[int]) -> list[Process]:
    """Every live process below the given ones, themselves included."""
    rows, known = table(), set(pids)
    grown = True
    while grown:
        grown = False
        for row in rows:
            if row.ppid in known and row.pid not in known:
                known.add(row.pid)
                grown = True
    return [row for row in rows if row.pid in known]


def until(check: Callable[[], T], what: str, seconds: float = 20) -> T:
    """Wait until ``check`` gives something true; fails the test with ``what`` after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        if value := check():
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(POLL)


def gone(*marks: str, seconds: float = 20) -> None:
    """Wait until no live process mentions the marks; fails naming those left."""
    end = time.monotonic() + seconds
    while left := mentioning(*marks):
        if time.monotonic() > end:
            raise AssertionError(f"still running after {seconds} s: {left}")
        time.sleep(POLL)


def kill_all(rows: Iterable[Process]) -> None:
    """SIGKILL the given processes if they are still the same ones."""
    for row in rows:
        now = process(row.pid)
        if now and now.start == row.start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(row.pid, signal.SIGKILL)


def descriptors(pid: int) -> list[str]:
    """What the open descriptors of a process point at."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def rss_kib(pid: int) -> int:
    """Resident memory of a process in KiB."""
    return _status_kib(pid, "VmRSS")


def peak_rss_kib(pid: int) -> int:
    """The most resident memory of a process in KiB since its start, or since `forget_peak`."""
    return _status_kib(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Let `peak_rss_kib` begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status_kib(pid: int, row: str) -> int:
    for line in read_text(f"/proc/{pid}/status").splitlines():
        if line.startswith(row + ":"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no {row}")


def browsers(container: str) -> dict[str, int]:
    """The main process of each project's browser in a container, given by its id, as the host numbers it."""
    found = {}
    for row in table():
        window = re.search(r"--window-name=\[([^\]]+)\]", row.cmdline)
        # The walls around a browser have its command line, too.
        is_main = "chrom" in row.cmdline.split(" ")[0] and "--type=" not in row.cmdline and "--unshare-user" not in row.cmdline
        if window and is_main and container in read_text(f"/proc/{row.pid}/cgroup"):
            found[window[1]] = row.pid
    return found

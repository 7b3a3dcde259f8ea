"""In which network the supervisor lives: told by a file that it keeps fresh, and read by a gateway in another container.

A gateway that shares the network of the browser's container keeps the old one when that container starts again: it runs on and can be
reached by nobody. A network namespace has a number that both sides can see, so no connection has to be tried.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from typing import NamedTuple

from .datadir import DataDir, read_json, write_json

BOOT_ID = "/proc/sys/kernel/random/boot_id"
NETWORK = "/proc/self/ns/net"
BEAT_SECONDS = 1.0
FRESH_SECONDS = 10.0
MISMATCHES = 2


class Place(NamedTuple):
    """Where a process runs: since which start of the machine, and in which network namespace."""

    boot: str
    network: int


def here() -> Place | None:
    """Where this process runs; None when the kernel does not tell."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return Place(file.read().strip(), os.stat(NETWORK).st_ino)
    except OSError:
        return None


class Heart:
    """The supervisor's side."""

    def __init__(self, data: DataDir) -> None:
        self._path = data.heartbeat
        self._place = here()

    def beat(self) -> None:
        """Say that it is alive. A disk that is full or gone is not its business."""
        if self._place is None:
            return
        with contextlib.suppress(OSError):
            try:
                os.utime(self._path)
            except FileNotFoundError:
                write_json(self._path, self._place._asdict())

    def begin(self) -> None:
        """Replace what a former supervisor left."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self.beat()

    async def keep(self) -> None:
        """Beat until cancelled."""
        while True:
            self.beat()
            await asyncio.sleep(BEAT_SECONDS)

    def end(self) -> None:
        """Say nothing any more."""
        with contextlib.suppress(OSError):
            self._path.unlink()


class Watch:
    """The gateway's side: `look` every few seconds."""

    def __init__(self, data: DataDir, clock: Callable[[], float] = time.time) -> None:
        self._path = data.heartbeat
        self._clock = clock
        self._own = here()
        self._strange = 0

    def look(self) -> str | None:
        """Why this process has lost the supervisor's network, once that is certain; else None.

        A heartbeat of before the machine's last start, or one that has stopped, says nothing.
        """
        other = self._read()
        if other is None or self._own is None or other.boot != self._own.boot or other.network == self._own.network:
            self._strange = 0
            return None
        self._strange += 1
        if self._strange < MISMATCHES:
            return None
        return (
            f"the browsers' container has the network {other.network} since it started again, this one still has {self._own.network}"
            " (set TELEBROWSER_SHARED_NETWORK=0 where the two do not share one)"
        )

    def _read(self) -> Place | None:
        try:
            age = self._clock() - os.stat(self._path).st_mtime
        except OSError:
            return None
        value = read_json(self._path) or {}
        boot, network = value.get("boot"), value.get("network")
        if not -FRESH_SECONDS <= age <= FRESH_SECONDS or not isinstance(boot, str) or not isinstance(network, int):
            return None
        return Place(boot, network)

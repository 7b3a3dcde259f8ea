"""The gateway's end of the supervisor's socket: one JSON object per packet, descriptors beside ``up``."""

from __future__ import annotations

import array
import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__

log = logging.getLogger(__name__)

MAX_PACKET = 64 << 10
MAX_DESCRIPTORS = 8
RETRY_SECONDS = 0.25

Event = dict[str, Any]


class SupervisorClient:
    """Stays connected: when the supervisor goes, it connects to the next one.

    ``on_event`` gets each event and the descriptors that came with it, which are then its own to close.
    ``on_lost`` is called when a connection that had said hello ends.
    """

    def __init__(self, path: Path, on_event: Callable[[Event, list[int]], None], on_lost: Callable[[], None]) -> None:
        self.connected = asyncio.Event()
        """Set while the supervisor has said hello."""
        self._path = path
        self._on_event = on_event
        self._on_lost = on_lost
        self._socket: socket.socket | None = None
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to connect."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Disconnect for good."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._drop()

    def send(self, command: dict[str, Any]) -> bool:
        """Send one command; False when no supervisor is there."""
        if self._socket is None:
            return False
        try:
            self._socket.send(json.dumps(command, separators=(",", ":")).encode(), socket.MSG_NOSIGNAL)
        except OSError as error:
            # A supervisor that reads nothing any more is as good as gone.
            log.warning("the supervisor takes no commands: %s", error.strerror)
            self._ended.set()
            return False
        return True

    async def _run(self) -> None:
        told = False
        while True:
            try:
                self._connect()
            except OSError as error:
                if not told:
                    log.info("waiting for the supervisor at %s: %s", self._path, error.strerror)
                    told = True
                # Nothing announces the socket of a supervisor that is not there yet.
                await asyncio.sleep(RETRY_SECONDS)
                continue
            told = False
            await self._ended.wait()
            greeted = self.connected.is_set()
            self._drop()
            if greeted:
                log.warning("the supervisor is gone")
                self._on_lost()
            await asyncio.sleep(RETRY_SECONDS)

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            connection.connect(str(self._path))
        except OSError:
            connection.close()
            raise
        self._ended.clear()
        self._socket = connection
        asyncio.get_running_loop().add_reader(connection, self._receive)
        self.send({"cmd": "hello", "version": __version__})

    def _drop(self) -> None:
        self.connected.clear()
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _receive(self) -> None:
        assert self._socket is not None
        try:
            data, ancillary, flags, _ = self._socket.recvmsg(MAX_PACKET, socket.CMSG_SPACE(MAX_DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary, flags = b"", [], 0
        descriptors = _descriptors(ancillary)
        if not data:
            close_all(descriptors)
            asyncio.get_running_loop().remove_reader(self._socket)
            self._ended.set()
            return
        try:
            event = json.loads(data) if not flags & socket.MSG_TRUNC else None
        except ValueError:
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            log.error("dropped a packet of the supervisor that is no event")
            close_all(descriptors)
            return
        if event["event"] == "hello":
            self.connected.set()
        self._on_event(event, descriptors)


def close_all(descriptors: list[int]) -> None:
    """Close descriptors that nobody will use."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()

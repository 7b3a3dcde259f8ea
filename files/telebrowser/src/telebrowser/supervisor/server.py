"""The Unix socket on which the gateway talks to the supervisor: one JSON object per packet, descriptors beside it.

One gateway at a time: a newer connection replaces the older one, which is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

log = logging.getLogger(__name__)

MAX_PACKET = 64 << 10
MAX_QUEUED = 1024
ROOT = 0


class _Packet(NamedTuple):
    data: bytes
    ends: Sequence[socket.socket]


def _nothing() -> None:
    """The handler before a user has set its own."""


def _no_command(command: dict[str, Any]) -> None:
    """The handler before a user has set its own."""


class Server:
    """Listens at ``path``. Set the three handlers before `start`."""

    def __init__(self, path: Path) -> None:
        self.on_connect: Callable[[], None] = _nothing
        self.on_lost: Callable[[], None] = _nothing
        self.on_command: Callable[[dict[str, Any]], None] = _no_command
        self._path = path
        self._listener: socket.socket | None = None
        self._connection: socket.socket | None = None
        self._queue: deque[_Packet] = deque()

    @property
    def connected(self) -> bool:
        """Whether a gateway is there."""
        return self._connection is not None

    def start(self) -> None:
        """Listen. The caller holds the lock of the data directory, so a socket file at the path is a dead one. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            # Bound under the umask, so that there is no moment in which others could connect.
            mask = os.umask(0o177)
            try:
                listener.bind(str(self._path))
            finally:
                os.umask(mask)
            listener.listen(8)
        except OSError:
            listener.close()
            raise
        self._listener = listener
        asyncio.get_running_loop().add_reader(listener, self._accept)

    def stop(self) -> None:
        """Close everything and remove the socket file."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
            with contextlib.suppress(OSError):
                self._path.unlink()
        self._drop()

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            log.error("a connection could not be accepted: %s", error.strerror)
            return
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid not in (ROOT, os.geteuid()):
            log.warning("refused a connection of user %d", uid)
            connection.close()
            return
        if self._connection is not None:
            log.info("a newer gateway replaces the connected one")
            self._drop()
        connection.setblocking(False)
        self._connection = connection
        asyncio.get_running_loop().add_reader(connection, self._receive)
        self.on_connect()

    def _drop(self) -> None:
        """Close the connection without telling anyone."""
        if self._connection is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._connection)
            loop.remove_writer(self._connection)
            self._connection.close()
            self._connection = None
        self._queue.clear()

    def _lose(self, reason: str) -> None:
        log.info("the gateway is gone: %s", reason)
        self._drop()
        self.on_lost()

    def _receive(self) -> None:
        assert self._connection is not None
        try:
            data, ancillary, flags, _ = self._connection.recvmsg(MAX_PACKET, socket.CMSG_SPACE(64), socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(error.strerror or str(error))
            return
        _close_descriptors(ancillary)
        if not data:
            self._lose("closed")
            return
        if flags & socket.MSG_TRUNC:
            log.error("dropped a packet of more than %d bytes from the gateway", MAX_PACKET)
            return
        try:
            command = json.loads(data)
        except ValueError:
            command = None
        if not isinstance(command, dict) or not isinstance(command.get("cmd"), str):
            log.error("dropped a packet from the gateway that is no command")
            return
        self.on_command(command)

    def send(self, event: dict[str, Any], ends: Sequence[socket.socket] = ()) -> bool:
        """Send one event, with the descriptors of ``ends``. False when no gateway is there."""
        if self._connection is None:
            return False
        self._queue.append(_Packet(json.dumps(event, separators=(",", ":")).encode(), ends))
        if len(self._queue) > MAX_QUEUED:
            self._lose("it does not read")
            return False
        if len(self._queue) == 1:
            self._flush()
        return self._connection is not None

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue and self._connection is not None:
            packet = self._queue[0]
            descriptors = [end.fileno() for end in packet.ends]
            # A browser that ended before its packet could be sent has nothing to hand over any more.
            if -1 not in descriptors:
                try:
                    socket.send_fds(self._connection, [packet.data], descriptors, socket.MSG_NOSIGNAL)
                except BlockingIOError:
                    loop.add_writer(self._connection, self._flush)
                    return
                except OSError as error:
                    self._lose(error.strerror or str(error))
                    return
            self._queue.popleft()
        if self._connection is not None:
            loop.remove_writer(self._connection)


def _close_descriptors(ancillary: list[tuple[int, int, bytes]]) -> None:
    """A gateway has no descriptor to give; one that came nevertheless must not stay open."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            for (descriptor,) in struct.iter_unpack("i", data[: len(data) // 4 * 4]):
                os.close(descriptor)

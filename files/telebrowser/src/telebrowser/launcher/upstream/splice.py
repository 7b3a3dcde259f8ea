"""Two connections made one: what comes from either goes to the other."""

from __future__ import annotations

import select
import socket

READ_BYTES = 1 << 18
HIGH_WATER = 4 << 20


def splice(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until either ends and the other has what it sent. Plain or TLS. Raises `OSError` when one breaks.

    In one thread, because a TLS connection must not be read and written by two at once.
    """
    sides = {one.fileno(): _Side(one), other.fileno(): _Side(other)}
    first, second = sides.values()
    first.peer, second.peer = second, first
    poll = select.poll()
    for number, side in sides.items():
        side.socket.setblocking(False)
        poll.register(number, 0)
    while not any(side.ended and not side.peer.waiting for side in sides.values()):
        for number, side in sides.items():
            poll.modify(number, side.interest())
        buffered = any(side.buffered for side in sides.values())
        ready = dict(poll.poll(0 if buffered else None))
        for number, side in sides.items():
            if side.buffered or ready.get(number, 0) & (select.POLLIN | select.POLLHUP | select.POLLERR):
                side.read()
            side.flush()
            side.peer.flush()


class _Side:
    """One of the two; ``waiting`` is to be sent to it."""

    peer: _Side

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.waiting = bytearray()
        self.ended = False
        self._pending = getattr(sock, "pending", None)
        self._again: tuple[type[OSError], ...] = (BlockingIOError,)
        if self._pending is not None:
            import ssl

            self._again = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

    @property
    def buffered(self) -> bool:
        """TLS has read more from the wire than was taken: no poll tells of it."""
        return self._pending is not None and not self.ended and len(self.peer.waiting) <= HIGH_WATER and self._pending() > 0

    def interest(self) -> int:
        """Poll events to wait for."""
        reading = not self.ended and len(self.peer.waiting) <= HIGH_WATER
        return (select.POLLIN if reading else 0) | (select.POLLOUT if self.waiting else 0)

    def read(self) -> None:
        """Take what is there."""
        if self.ended:
            return
        try:
            data = self.socket.recv(READ_BYTES)
        except self._again:
            return
        if data:
            self.peer.waiting += data
        else:
            self.ended = True

    def flush(self) -> None:
        """Send what goes at once."""
        while self.waiting:
            try:
                sent = self.socket.send(self.waiting)
            except self._again:
                return
            del self.waiting[:sent]

"""The debugging pipe of a browser, as far as the supervisor uses it: is it ready, drain it, close the browser.

Two socket pairs stand in for Chromium's descriptors 3 (commands) and 4 (answers). The supervisor keeps its
ends open so that a browser outlives the gateway. O_NONBLOCK belongs to the open file that the gateway shares,
so it is never changed here; every read and write asks for not blocking by itself.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
from typing import Any

from .children import resolve

BUFFER_BYTES = 4 << 20
READ_BYTES = 256 << 10
# Far above what a client counts up to, so that an answer to the supervisor is never taken for one's own.
FIRST_ID = 1_900_000_000
CHROMIUM_READS = 3
CHROMIUM_WRITES = 4


class PipeClosed(Exception):
    """The browser has closed its end."""


class Pipe:
    """Both ends of one browser's debugging pipe on our side."""

    def __init__(self) -> None:
        self.write_end, self._commands = socket.socketpair()
        self.read_end, self._answers = socket.socketpair()
        for end in (self.write_end, self.read_end, self._commands, self._answers):
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        # High numbers: putting them at 3 and 4 must not overwrite one of them first.
        self._inherited = [fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, 10) for end in (self._commands, self._answers)]
        self._next_id = FIRST_ID
        self._draining = False

    def place(self) -> None:
        """In the child, right before Chromium: put its ends at descriptors 3 and 4."""
        os.dup2(self._inherited[0], CHROMIUM_READS)
        os.dup2(self._inherited[1], CHROMIUM_WRITES)

    def started(self) -> None:
        """In the parent, once the child runs (or failed to): forget the browser's ends."""
        for descriptor in self._inherited:
            os.close(descriptor)
        self._inherited.clear()
        self._commands.close()
        self._answers.close()

    def close(self) -> None:
        """Close our ends."""
        self.drain(False)
        self.write_end.close()
        self.read_end.close()

    def _message(self, method: str) -> tuple[int, bytes]:
        self._next_id += 1
        return self._next_id, json.dumps({"id": self._next_id, "method": method}).encode() + b"\0"

    async def call(self, method: str) -> dict[str, Any]:
        """Send one command and give its result. Only before any gateway has the pipe. Raises `PipeClosed`.

        The caller sets the deadline.
        """
        number, message = self._message(method)
        try:
            self.write_end.send(message, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            raise PipeClosed from None
        buffer = b""
        while True:
            chunk = await self._read()
            *complete, buffer = (buffer + chunk).split(b"\0")
            for part in complete:
                answer = json.loads(part)
                if answer.get("id") == number:
                    result: dict[str, Any] = answer.get("result", {})
                    return result

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            try:
                chunk = self.read_end.recv(READ_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                readable: asyncio.Future[None] = loop.create_future()
                loop.add_reader(self.read_end, resolve, readable)
                try:
                    await readable
                finally:
                    loop.remove_reader(self.read_end)
                continue
            except OSError:
                raise PipeClosed from None
            if not chunk:
                raise PipeClosed
            return chunk

    def close_browser(self) -> bool:
        """Write Browser.close, after a NUL that ends whatever a dead gateway left half written.

        False when the browser does not take it: its end is closed, or it has stopped reading.
        """
        message = b"\0" + self._message("Browser.close")[1]
        try:
            return self.write_end.send(message, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) == len(message)
        except OSError:
            return False

    def drain(self, on: bool) -> None:
        """While no gateway reads, throw away what the browser writes: it would queue it in its memory for ever."""
        if on == self._draining:
            return
        self._draining = on
        loop = asyncio.get_running_loop()
        if on:
            loop.add_reader(self.read_end, self._throw_away)
        else:
            loop.remove_reader(self.read_end)

    def _throw_away(self) -> None:
        try:
            if self.read_end.recv(READ_BYTES, socket.MSG_DONTWAIT):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.drain(False)

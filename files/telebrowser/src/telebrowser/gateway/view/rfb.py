"""What a person's VNC client sends, read far enough to know what it does; a viewer's messages that would act are left out. No input or output.

Only what noVNC sends to an Xvnc without authentication is known here (RFC 6143 and the extensions that both have). Anything else ends the
connection: nothing that is not understood is passed on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

VERSION = b"RFB 003.008\n"
NO_AUTHENTICATION = b"\1"
SHARED = b"\1"
MAX_ENCODINGS = 1024
MAX_CUT_TEXT = 1 << 20
MAX_FENCE = 64

SET_ENCODINGS = 2
CUT_TEXT = 6
# With it a pointer event may have another length, which only both ends of the connection could tell.
EXTENDED_MOUSE_BUTTONS = -316
HARMLESS = frozenset({0, SET_ENCODINGS, 3, 150, 248})
"""SetPixelFormat, SetEncodings, FramebufferUpdateRequest, EnableContinuousUpdates, ClientFence."""


class BadMessage(ValueError):
    """The client said something that is not known here, or too much."""


def _fixed(length: int) -> tuple[int, Callable[[bytes], int]]:
    return 1, lambda head: length


def _encodings(head: bytes) -> int:
    count = int.from_bytes(head[2:4])
    if count > MAX_ENCODINGS:
        raise BadMessage("too many encodings")
    return 4 + 4 * count


def _cut_text(head: bytes) -> int:
    # A negative length is that of the extended form.
    length = abs(int.from_bytes(head[4:8], signed=True))
    if length > MAX_CUT_TEXT:
        raise BadMessage("the clipboard's text is too long")
    return 8 + length


def _fence(head: bytes) -> int:
    if head[8] > MAX_FENCE:
        raise BadMessage("fence")
    return 9 + head[8]


def _extended(head: bytes) -> int:
    if head[1] != 0:
        raise BadMessage("unknown message")
    return 12


# By a message's first byte: how many of its bytes tell its length, and the length by them.
LENGTHS: dict[int, tuple[int, Callable[[bytes], int]]] = {
    0: _fixed(20),
    SET_ENCODINGS: (4, _encodings),
    3: _fixed(10),
    4: _fixed(8),
    5: _fixed(6),
    CUT_TEXT: (8, _cut_text),
    150: _fixed(10),
    248: (9, _fence),
    251: (7, lambda head: 8 + 16 * head[6]),
    255: (2, _extended),
}


class ClientMessages:
    """One connection's messages; ``may_act`` is False for who only watches."""

    def __init__(self, *, may_act: bool) -> None:
        self._may_act = may_act
        self._buffer = b""
        self._greetings = [VERSION, NO_AUTHENTICATION, b"?"]
        # Of the message whose length is known: how much of it is still to come, and whether it is passed on.
        self._left = 0
        self._passes = False

    def feed(self, data: bytes) -> bytes:
        """Take what came; gives what the server is to get. Raises `BadMessage`, after which the connection must end."""
        self._buffer += data
        passed = bytearray()
        while self._buffer:
            part = self._next()
            if part is None:
                break
            passed += part
        return bytes(passed)

    def _next(self) -> bytes | None:
        """The next piece for the server, perhaps empty; None when more must come first."""
        if self._greetings:
            return self._greet()
        if self._left:
            piece = self._take(min(self._left, len(self._buffer)))
            self._left -= len(piece)
            return piece if self._passes else b""
        return self._begin()

    def _greet(self) -> bytes | None:
        expected = self._greetings[0]
        if len(self._buffer) < len(expected):
            return None
        said = self._take(len(expected))
        del self._greetings[0]
        if not self._greetings:
            # Nobody shuts others out, whatever was asked for.
            return SHARED
        if said != expected:
            raise BadMessage("another protocol")
        return said

    def _begin(self) -> bytes | None:
        kind = self._buffer[0]
        if kind not in LENGTHS:
            raise BadMessage("unknown message")
        needed, length_of = LENGTHS[kind]
        if len(self._buffer) < needed:
            return None
        length = length_of(self._buffer)
        if kind == SET_ENCODINGS:
            return _known_encodings(self._take(length)) if len(self._buffer) >= length else None
        self._left = length
        self._passes = self._may_act or kind in HARMLESS
        return b""

    def _take(self, count: int) -> bytes:
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def _known_encodings(message: bytes) -> bytes:
    wanted = [each for (each,) in struct.iter_unpack(">i", message[4:]) if each != EXTENDED_MOUSE_BUTTONS]
    return struct.pack(f">BxH{len(wanted)}i", SET_ENCODINGS, len(wanted), *wanted)

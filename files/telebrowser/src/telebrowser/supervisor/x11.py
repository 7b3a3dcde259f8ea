"""A client of the X server, as small as raising a window needs: the wire protocol over its Unix socket.

No library is needed for it (Xlib ends the process on an error, and `wmctrl` is not installed everywhere).
Windows are found by their exact title, which `--window-name` sets and no page can change.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Sequence

AUTH_NAME = b"MIT-MAGIC-COOKIE-1"
PROPERTY_NOTIFY = 28
PROPERTY_CHANGE_MASK = 1 << 22
SUBSTRUCTURE_MASKS = (1 << 19) | (1 << 20)
MAX_PROPERTY_WORDS = 1 << 16
FROM_PAGER = 2
FAMILY_WILD = 0xFFFF


class XError(Exception):
    """The X server cannot be reached or refused a request."""


def authority(cookie: bytes) -> bytes:
    """The content of an Xauthority file with one cookie, for any display number and host."""
    parts = [b"", b"", AUTH_NAME, cookie]
    return struct.pack(">H", FAMILY_WILD) + b"".join(struct.pack(">H", len(part)) + part for part in parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


class XClient:
    """One connection; use `connect`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sequence = 0
        self._changes: set[int] = set()
        self.root = 0
        self._keycodes = (0, 0)

    async def _set_up(self, cookie: bytes) -> None:
        self._writer.write(struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(AUTH_NAME), len(cookie)) + _padded(AUTH_NAME) + _padded(cookie))
        status, length = struct.unpack("<BxxxxxH", await self._reader.readexactly(8))
        body = await self._reader.readexactly(length * 4)
        if status != 1:
            raise XError("the X server refused the connection")
        vendor_length = struct.unpack_from("<H", body, 16)[0]
        formats = body[21]
        self._keycodes = (body[26], body[27])
        self.root = struct.unpack_from("<I", body, 32 + vendor_length + -vendor_length % 4 + 8 * formats)[0]

    def _send(self, request: bytes) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._writer.write(request)

    async def _packet(self) -> bytes:
        packet = await self._reader.readexactly(32)
        if packet[0] == 1:
            packet += await self._reader.readexactly(4 * struct.unpack_from("<I", packet, 4)[0])
        elif packet[0] & 0x7F == PROPERTY_NOTIFY:
            self._changes.add(struct.unpack_from("<I", packet, 8)[0])
        return packet

    async def _reply(self) -> bytes:
        while True:
            packet = await self._packet()
            if packet[0] in (0, 1) and struct.unpack_from("<H", packet, 2)[0] == self._sequence:
                if packet[0] == 0:
                    raise XError(f"the X server refused a request (error {packet[1]})")
                return packet

    async def bind(self, letters: Sequence[tuple[int, int]]) -> None:
        """Give the keys that have no symbol a letter each, as lower and upper keysym; what finds no key is left out."""
        first, last = self._keycodes
        self._send(struct.pack("<BxHBBxx", 101, 2, first, last - first + 1))
        reply = await self._reply()
        symbols = struct.unpack(f"<{(last - first + 1) * reply[1]}I", reply[32:])
        # The lowest number is none that a keyboard could have.
        free = [first + place for place in range(1, last - first + 1) if not any(symbols[place * reply[1] : (place + 1) * reply[1]])]
        for code, pair in zip(free, letters, strict=False):
            self._send(struct.pack("<BBHBBxx2I", 100, 1, 4, code, 2, *pair))
        # Nothing answers to that, but to what comes after.
        await self.atom("WM_NAME")

    async def atom(self, name: str) -> int:
        """The number of an atom."""
        encoded = name.encode()
        self._send(struct.pack("<BBHHxx", 16, 0, 2 + len(_padded(encoded)) // 4, len(encoded)) + _padded(encoded))
        return int(struct.unpack_from("<I", await self._reply(), 8)[0])

    async def property(self, window: int, name: str) -> bytes:
        """The raw value of a window's property; empty when it has none."""
        atom = await self.atom(name)
        self._send(struct.pack("<BBHIIIII", 20, 0, 6, window, atom, 0, 0, MAX_PROPERTY_WORDS))
        reply = await self._reply()
        width, units = reply[1] // 8, struct.unpack_from("<I", reply, 16)[0]
        return reply[32 : 32 + width * units]

    async def numbers(self, window: int, name: str) -> list[int]:
        """A property that holds window or other 32-bit numbers."""
        value = await self.property(window, name)
        return list(struct.unpack(f"<{len(value) // 4}I", value[: len(value) // 4 * 4]))

    async def title(self, window: int) -> str | None:
        """The title of a window; None when the window is gone."""
        try:
            value = await self.property(window, "_NET_WM_NAME") or await self.property(window, "WM_NAME")
        except XError:
            return None
        return value.decode(errors="replace")

    async def windows(self) -> list[int]:
        """The windows that the window manager knows, lowest first."""
        return await self.numbers(self.root, "_NET_CLIENT_LIST_STACKING")

    async def active(self) -> int:
        """The window that has the focus; 0 for none."""
        return (await self.numbers(self.root, "_NET_ACTIVE_WINDOW") or [0])[0]

    async def find(self, title: str) -> int | None:
        """The topmost window whose title is exactly ``title``."""
        for window in reversed(await self.windows()):
            if await self.title(window) == title:
                return window
        return None

    async def watch(self) -> None:
        """Ask to hear of changes of the root window's properties."""
        self._send(struct.pack("<BxHIII", 2, 4, self.root, 1 << 11, PROPERTY_CHANGE_MASK))

    async def wait_for_any_change(self) -> None:
        """Wait until a property of the root window changes: which windows there are, their order, the active one. A change since `watch` counts."""
        while not self._changes:
            await self._packet()
        self._changes.clear()

    async def ask_for(self, window: int) -> None:
        """Ask the window manager to raise and focus a window."""
        kind = await self.atom("_NET_ACTIVE_WINDOW")
        event = struct.pack("<BBHIIIIIII", 33, 32, 0, window, kind, FROM_PAGER, 0, 0, 0, 0)
        self._send(struct.pack("<BBHII", 25, 0, 11, self.root, SUBSTRUCTURE_MASKS) + event)

    async def activate(self, window: int) -> None:
        """Like `ask_for`, and wait until it has. The caller sets the deadline."""
        await self.watch()
        await self.ask_for(window)
        while await self.active() != window or (await self.windows())[-1:] != [window]:
            await self.wait_for_any_change()


@contextlib.asynccontextmanager
async def connect(number: str, cookie: bytes) -> AsyncIterator[XClient]:
    """A connection to display ``number`` (``:5``). Raises `XError`; the caller sets the deadline."""
    writer = None
    try:
        reader, writer = await asyncio.open_unix_connection(f"/tmp/.X11-unix/X{number.removeprefix(':')}")
        client = XClient(reader, writer)
        await client._set_up(cookie)
        yield client
    except (OSError, EOFError, struct.error) as error:
        raise XError(f"the X server does not answer: {error}") from None
    finally:
        if writer is not None:
            writer.close()

"""Bytes of a stream → lines, with an upper bound on what one line may hold in memory."""

from __future__ import annotations

import re
from typing import NamedTuple

EDGE_BYTES = 512


class TooLong(NamedTuple):
    """A line over the limit: its length in bytes, and its edges, which usually still name the request."""

    length: int
    head: bytes
    tail: bytes


class LineSplitter:
    """Cuts a byte stream into lines without their ends. A line of more than ``limit`` bytes becomes a `TooLong`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0
        self._head = b""
        self._tail = b""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that ``data`` completes."""
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            self._add(end)
            lines.append(self._take())
        self._add(rest)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """The last line, if the stream ended without a newline."""
        return [self._take()] if self._length else []

    def _add(self, part: bytes) -> None:
        if not part:
            return
        self._length += len(part)
        if self._length <= self._limit:
            self._parts.append(part)
            return
        if self._parts:
            kept = b"".join(self._parts)
            self._parts.clear()
            self._head, self._tail = kept[:EDGE_BYTES], kept[-EDGE_BYTES:]
        self._head = (self._head + part[:EDGE_BYTES])[:EDGE_BYTES]
        self._tail = (self._tail + part[-EDGE_BYTES:])[-EDGE_BYTES:]

    def _take(self) -> bytes | TooLong:
        line: bytes | TooLong
        line = TooLong(self._length, self._head, self._tail) if self._length > self._limit else b"".join(self._parts)
        self._parts.clear()
        self._length, self._head, self._tail = 0, b"", b""
        return line


_ID_FIRST = re.compile(rb'\{"jsonrpc":\s?"2\.0",\s?"id":\s?(\d{1,18}|"[^"\\]{0,256}"),')
_ID_LAST = re.compile(rb',\s?"jsonrpc":\s?"2\.0",\s?"id":\s?(\d{1,18}|"[^"\\]{0,256}")\}\s*$')


def request_id(line: TooLong) -> bytes:
    """The JSON of the id of an over-long request where clients write it (first or last), else ``null``.

    Exact, not a guess: right after the opening brace, or right before the closing one, it can only be the
    message's own id.
    """
    match = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
    return match.group(1) if match else b"null"

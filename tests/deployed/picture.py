"""A pixel of a PNG, by the standard library: the view's screenshot is looked at where no browser is at hand."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def pixel(png: bytes, across: float, down: float) -> tuple[int, int, int]:
    """The colour at a fractional position of an 8-bit picture that is not interlaced."""
    assert png.startswith(SIGNATURE), f"no PNG: {png[:40]!r}"
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    assert depth == 8 and kind in CHANNELS and not interlaced, f"a PNG of depth {depth}, kind {kind}, interlaced {interlaced}"
    size = CHANNELS[kind]
    packed, at = b"", len(SIGNATURE)
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        if name == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += length + 12
    data = zlib.decompress(packed)
    row = bytearray(width * size)
    wanted = min(height - 1, int(down * height))
    for line in range(wanted + 1):
        start = line * (width * size + 1)
        row = _unfiltered(data[start], bytearray(data[start + 1 : start + 1 + width * size]), row, size)
    at = min(width - 1, int(across * width)) * size
    colour = row[at : at + size]
    return (colour[0], colour[1], colour[2]) if size >= 3 else (colour[0], colour[0], colour[0])


def _unfiltered(kind: int, line: bytearray, above: bytearray, size: int) -> bytearray:
    """One line of the picture from its filtered bytes and the line above."""
    if kind == 0:
        return line
    for index, value in enumerate(line):
        left = line[index - size] if index >= size else 0
        corner = above[index - size] if index >= size else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = above[index]
        elif kind == 3:
            guess = (left + above[index]) // 2
        else:
            guess = _paeth(left, above[index], corner)
        line[index] = (value + guess) & 0xFF
    return line


def _paeth(left: int, up: int, corner: int) -> int:
    distance = {left: abs(up - corner), up: abs(left - corner), corner: abs(left + up - 2 * corner)}
    best = min(distance.values())
    return next(value for value in (left, up, corner) if distance[value] == best)

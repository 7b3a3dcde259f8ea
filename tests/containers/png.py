"""The colour of one point of a PNG picture, without a library: as much of the format as screenshots of the view use."""

from __future__ import annotations

import struct
import zlib

CHANNELS = {2: 3, 6: 4}


def pixel(picture: bytes, across: float, down: float) -> tuple[int, int, int]:
    """The colour at a place given as fractions of width and height."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n"), picture[:40]
    at, body, head = 8, b"", b""
    while at < len(picture):
        length, kind = struct.unpack_from(">I4s", picture, at)
        content = picture[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            head = content
        elif kind == b"IDAT":
            body += content
        at += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    assert (depth, interlaced) == (8, 0) and colour in CHANNELS, head
    step = CHANNELS[colour]
    row, column = int(height * down), int(width * across)
    data = zlib.decompressobj().decompress(body, (1 + width * step) * (row + 1))
    line = bytearray(width * step)
    for number in range(row + 1):
        start = number * (1 + width * step)
        line = _unfilter(data[start], bytearray(data[start + 1 : start + 1 + width * step]), line, step)
    red, green, blue = line[column * step : column * step + 3]
    return red, green, blue


def _unfilter(kind: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    if kind == 0:
        return line
    for index in range(len(line)):
        left = line[index - step] if index >= step else 0
        corner = above[index - step] if index >= step else 0
        line[index] = (line[index] + _predict(kind, left, above[index], corner)) & 0xFF
    return line


def _predict(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 2:
        return up
    if kind == 3:
        return (left + up) // 2
    nearest = left + up - corner
    return min((left, up, corner), key=lambda value: abs(nearest - value))

"""Bytes → lines, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telebrowser.launcher.lines import EDGE_BYTES, LineSplitter, TooLong, request_id


def feed(limit: int, *pieces: bytes) -> list[bytes | TooLong]:
    """All lines of a stream that comes in these pieces."""
    splitter = LineSplitter(limit)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()


@given(st.lists(st.binary(max_size=20), max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=10))
def test_the_cuts_do_not_matter(lines: list[bytes], cuts: list[int]) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    stream = b"".join(line + b"\n" for line in lines)
    pieces, at = [], 0
    while at < len(stream):
        step = cuts[len(pieces) % len(cuts)]
        pieces.append(stream[at : at + step])
        at += step
    assert feed(100, *pieces) == lines


def test_a_stream_without_a_last_newline() -> None:
    assert feed(100, b"a\nb") == [b"a", b"b"]
    assert feed(100, b"a\n") == [b"a"]
    assert feed(100) == []


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
def test_a_line_over_the_limit_is_not_kept(step: int) -> None:
    stream = b"before\n" + b"x" * 11 + b"\nafter\n" + b"y" * 10 + b"\n"
    lines = feed(10, *(stream[at : at + step] for at in range(0, len(stream), step)))
    assert lines == [b"before", TooLong(11, b"x" * 11, b"x" * 11), b"after", b"y" * 10]


def test_only_the_edges_of_a_long_line_are_kept() -> None:
    splitter = LineSplitter(1000)
    for _ in range(5000):
        assert splitter.feed(b"z" * 100) == []
    assert sum(map(len, splitter._parts)) <= 1000 and len(splitter._head) == len(splitter._tail) == EDGE_BYTES
    (line,) = splitter.feed(b"end\n")
    assert isinstance(line, TooLong) and line.length == 500_003 and line.tail.endswith(b"zend") and line.head == b"z" * EDGE_BYTES


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"jsonrpc":"2.0","id":17,"method":"x","params":{}}', b"17"),
        (b'{"jsonrpc": "2.0", "id": "a-1", "method":"x"}', b'"a-1"'),
        (b'{"method":"x","params":{"id":3},"jsonrpc":"2.0","id":8}', b"8"),
        (b'{"method":"x","params":{"jsonrpc":"2.0","id":8}}', b"null"),
        (b'{"method":"x","params":["{\\"jsonrpc\\":\\"2.0\\",\\"id\\":8}"]}', b"null"),
        (b'{"method":"x"}', b"null"),
        (b"", b"null"),
    ],
)
def test_the_id_of_a_request_that_is_too_long(line: bytes, number: bytes) -> None:
    assert request_id(TooLong(len(line), line[:EDGE_BYTES], line[-EDGE_BYTES:])) == number

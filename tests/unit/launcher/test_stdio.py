"""The launcher's own ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from telebrowser.launcher import stdio
from telebrowser.launcher.stdio import HIGH_WATER, Output, Parent


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe's reading and writing end."""
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            continue


def drain(reader: int, size: int) -> bytes:
    """Exactly that many bytes, or less at the end."""
    taken = b""
    while len(taken) < size and (data := os.read(reader, size - len(taken))):
        taken += data
    return taken


def test_a_full_pipe_never_blocks(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    output.write_line(b"x" * 200_000)
    output.write_line(b"end")
    output.flush()
    assert output.waiting and not output.full
    taken = b""
    while output.waiting:
        taken += os.read(reader, 65536)
        output.flush()
    assert taken + drain(reader, 200_005 - len(taken)) == b"x" * 200_000 + b"\nend\n"
    assert os.get_blocking(writer), "the descriptor's flags are left alone"


def test_a_full_socket_never_blocks() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        output = Output(theirs.fileno())
        output.write_line(b"x" * 3_000_000)
        output.flush()
        assert output.waiting and theirs.getblocking()
        taken = 0
        while output.waiting:
            taken += len(ours.recv(1 << 20))
            output.flush()
        while taken < 3_000_001:
            taken += len(ours.recv(1 << 20))
        output.close()


def test_too_much_that_waits_is_noticed(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1])
    output.write_line(b"x" * (HIGH_WATER + 1))
    assert output.full


def test_a_reader_that_has_gone(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    os.close(reader)
    output.write_line(b"x")
    with pytest.raises(BrokenPipeError):
        output.flush()


def test_a_parent_without_pidfd_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(stdio.os, "pidfd_open", refuse)
    parent = Parent()
    assert parent.descriptor is None and not parent.gone
    monkeypatch.setattr(stdio.os, "getppid", lambda: 1 << 22)
    assert parent.gone

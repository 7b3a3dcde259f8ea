"""The pipe: where messages end, half-written ones, and taking a stream over. Both ends are real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from telebrowser.cdp.transport import PipeTransport


class Ends:
    """Our transport, and the browser's two ends."""

    def __init__(self, *, takeover: bool) -> None:
        ours_out, self.commands = socket.socketpair()
        ours_in, self.answers = socket.socketpair()
        self.commands.settimeout(5)
        self.transport = PipeTransport(ours_out, ours_in, takeover=takeover)
        self.messages: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed: asyncio.Queue[str] = asyncio.Queue()
        self.transport.on_message = self.messages.put_nowait
        self.transport.on_close = self.closed.put_nowait

    async def next(self) -> bytes:
        async with asyncio.timeout(5):
            return await self.messages.get()

    def close(self) -> None:
        self.transport.close()
        self.commands.close()
        self.answers.close()


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    made = Ends(takeover=False)
    await made.transport.open()
    yield made
    made.close()


async def test_messages_are_split_at_nul_wherever_the_pieces_end(ends: Ends) -> None:
    for piece in (b'{"a"', b":1}\0{", b'"b":2}', b"\0\0", b'{"c":3}\0'):
        ends.answers.sendall(piece)
        await asyncio.sleep(0)
    assert [await ends.next() for _ in range(3)] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_a_large_message_arrives_whole(ends: Ends) -> None:
    size = 20_000_000
    sending = asyncio.create_task(asyncio.to_thread(ends.answers.sendall, b"x" * size + b"\0"))
    assert len(await ends.next()) == size
    await sending


async def test_sending_ends_with_nul(ends: Ends) -> None:
    ends.transport.send(b'{"id":1}')
    assert await asyncio.to_thread(ends.commands.recv, 100) == b'{"id":1}\0'


async def test_the_first_of_a_turn_goes_at_once_and_the_rest_in_order(ends: Ends) -> None:
    for number in range(3):
        ends.transport.send(b'{"id":%d}' % number)
    got = b""
    while got.count(b"\0") < 3:
        got += await asyncio.to_thread(ends.commands.recv, 100)
    assert got == b'{"id":0}\0{"id":1}\0{"id":2}\0'


async def test_a_close_sends_what_was_given_before(ends: Ends) -> None:
    for number in range(2):
        ends.transport.send(b'{"id":%d}' % number)
    ends.transport.close()
    ends.transport.send(b'{"id":2}')
    got = b""
    while piece := await asyncio.to_thread(ends.commands.recv, 100):
        got += piece
    assert got == b'{"id":0}\0{"id":1}\0'


async def test_what_cannot_be_sent_any_more_is_dropped(ends: Ends) -> None:
    ends.answers.close()
    ends.commands.close()
    ends.transport.send(b'{"id":1}')
    async with asyncio.timeout(5):
        assert "pipe" in await ends.closed.get()
    ends.transport.send(b'{"id":2}')
    await asyncio.sleep(0)


async def test_takeover_ends_the_half_written_and_drops_the_half_read() -> None:
    ends = Ends(takeover=True)
    try:
        ends.answers.sendall(b'oken"}\0{"whole":1}\0')
        await ends.transport.open()
        assert await ends.next() == b'{"whole":1}'
        assert await asyncio.to_thread(ends.commands.recv, 1) == b"\0"
    finally:
        ends.close()


async def test_the_end_is_told_once_with_a_reason(ends: Ends) -> None:
    ends.answers.close()
    ends.commands.close()
    async with asyncio.timeout(5):
        assert "pipe" in await ends.closed.get()
    await asyncio.sleep(0.05)
    assert ends.closed.empty()
    ends.transport.send(b"{}")


async def test_our_own_close_is_not_told(ends: Ends) -> None:
    ends.transport.close()
    await asyncio.sleep(0.05)
    assert ends.closed.empty()

"""The socket of CDP clients on a real server of aiohttp: messages are carried out as they are parsed, all else is as ever."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from telebrowser.gateway.prompt_socket import PromptSocket

LIMIT = 1 << 20


class Server:
    """One address whose messages go to ``take``; ``ended`` is set when a connection is over, ``turns`` counts what `receive` gave."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self.take = take
        self.port = 0
        self.turns = 0
        self.ended = asyncio.Event()
        self.open = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        socket = PromptSocket(self.take, max_message=LIMIT, writer_limit=LIMIT, close_seconds=2.0)
        await socket.prepare(request)
        self.open.set()
        async for _ in socket:
            self.turns += 1
        self.ended.set()
        return socket


@contextlib.asynccontextmanager
async def serving(take: Callable[[bytes], None]) -> AsyncIterator[Server]:
    server = Server(take)
    app = web.Application()
    app.router.add_get("/", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def dial(server: Server) -> connect:
    return connect(f"ws://127.0.0.1:{server.port}/", compression=None, ping_interval=None, proxy=None, close_timeout=5)


async def answered(client: ClientConnection) -> None:
    """What was sent before has been parsed: frames are read in order, and a ping is answered."""
    async with asyncio.timeout(10):
        await (await client.ping())


async def test_every_kind_of_message_is_taken_at_once_and_as_bytes() -> None:
    taken: list[bytes] = []
    async with serving(taken.append) as server, dial(server) as client:
        await client.send("grüße")
        await client.send(b"\0\1")
        await client.send(["in ", "three ", "frames"])
        await client.send(b"x" * (LIMIT - 1))
        await answered(client)
        assert taken == ["grüße".encode(), b"\0\1", b"in three frames", b"x" * (LIMIT - 1)] and {type(each) for each in taken} == {bytes}
        assert server.turns == 0, "a message woke the task"
    async with asyncio.timeout(10):
        await server.ended.wait()


async def test_what_comes_together_with_the_handshake_is_taken() -> None:
    taken: list[bytes] = []
    async with serving(taken.append) as server, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        frames = b"".join(Frame(Opcode.TEXT, text).serialize(mask=True) for text in (b"one", b"two"))
        writer.write(head.encode() + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" + frames)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
        await server.open.wait()
        assert taken == [b"one", b"two"]
        writer.close()
        await server.ended.wait()


# Too long, and with a bit that nobody has asked for.
@pytest.mark.parametrize(("frame", "code"), [(Frame(Opcode.BINARY, b"x" * LIMIT).serialize(mask=True), 1009), (b"\xc1\x81\0\0\0\0x", 1002)])
async def test_what_is_no_message_ends_the_connection(frame: bytes, code: int) -> None:
    taken: list[bytes] = []
    async with serving(taken.append) as server, dial(server) as client, asyncio.timeout(10):
        client.transport.write(frame)
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert client.close_code == code
        await server.ended.wait()
        assert taken == []


async def test_a_fault_in_what_takes_is_told_and_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    def broken(data: bytes) -> None:
        raise ZeroDivisionError(len(data))

    with caplog.at_level(logging.ERROR):
        async with serving(broken) as server, dial(server) as client, asyncio.timeout(10):
            await client.send("a secret")
            with pytest.raises(ConnectionClosed):
                await client.recv()
            await server.ended.wait()
    (record,) = caplog.records
    assert record.exc_info is not None and record.exc_info[0] is ZeroDivisionError and "a secret" not in caplog.text


async def test_a_client_that_is_gone_without_a_word() -> None:
    taken: list[bytes] = []
    async with serving(taken.append) as server, asyncio.timeout(10):
        client = await dial(server)
        await client.send("one")
        await answered(client)
        client.transport.abort()
        await server.ended.wait()
        assert taken == [b"one"]

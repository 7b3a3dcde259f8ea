"""The debugging pipe, with the test in the place of Chromium."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from telebrowser.supervisor.pipe import FIRST_ID, Pipe, PipeClosed


class Ends:
    """The browser's two ends, taken before they are forgotten."""

    def __init__(self) -> None:
        self.pipe = Pipe()
        reading, writing = (os.dup(descriptor) for descriptor in self.pipe._inherited)
        self.commands, self.answers = socket.socket(fileno=reading), socket.socket(fileno=writing)
        self.pipe.started()
        self.commands.settimeout(10)

    def close(self) -> None:
        """Close what is still open."""
        self.commands.close()
        self.answers.close()


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    """Both sides of a pipe."""
    made = Ends()
    yield made
    made.close()
    made.pipe.close()


async def until(check: Callable[[], object]) -> None:
    """Let the loop run until the check holds."""
    async with asyncio.timeout(10):
        while True:
            if check():
                return
            await asyncio.sleep(0)


async def test_a_call_takes_its_own_answer_in_any_pieces(ends: Ends) -> None:
    call = asyncio.create_task(ends.pipe.call("Browser.getVersion"))
    await asyncio.sleep(0)
    command = json.loads(ends.commands.recv(1000).rstrip(b"\0"))
    assert command["method"] == "Browser.getVersion" and command["id"] > FIRST_ID
    answer = b'{"method":"Some.event","params":{}}\0' + json.dumps({"id": command["id"], "result": {"product": "Chrome/1"}}).encode() + b"\0"
    for at in range(0, len(answer), 7):
        ends.answers.sendall(answer[at : at + 7])
        await asyncio.sleep(0)
    assert await call == {"product": "Chrome/1"}


async def test_a_call_to_a_browser_that_ends(ends: Ends) -> None:
    call = asyncio.create_task(ends.pipe.call("Browser.getVersion"))
    await asyncio.sleep(0)
    ends.close()
    with pytest.raises(PipeClosed):
        await call
    with pytest.raises(PipeClosed):
        await ends.pipe.call("Browser.getVersion")


async def test_a_request_to_close_ends_what_was_half_written(ends: Ends) -> None:
    ends.pipe.write_end.send(b'{"id":5,"meth')
    assert ends.pipe.close_browser()
    parts = ends.commands.recv(1000).split(b"\0")
    assert parts[0] == b'{"id":5,"meth' and json.loads(parts[1])["method"] == "Browser.close" and parts[2] == b""


async def test_a_browser_that_does_not_read_or_is_gone_is_not_asked(ends: Ends) -> None:
    ends.pipe.write_end.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            ends.pipe.write_end.send(b"x" * 65536)
    assert not ends.pipe.close_browser()
    ends.close()
    assert not ends.pipe.close_browser()


async def test_draining_keeps_the_browser_from_blocking_and_stops_for_a_gateway(ends: Ends) -> None:
    ends.pipe.drain(True)
    ends.pipe.drain(True)
    sent = 0
    while sent < 64 << 20:
        try:
            sent += ends.answers.send(b"y" * (1 << 20), socket.MSG_DONTWAIT)
        except BlockingIOError:
            await asyncio.sleep(0)
    await until(lambda: not select.select([ends.pipe.read_end], [], [], 0)[0])
    ends.pipe.drain(False)
    ends.answers.sendall(b"for the gateway")
    for _ in range(10):
        await asyncio.sleep(0)
    assert ends.pipe.read_end.recv(100) == b"for the gateway"


async def test_draining_ends_with_the_browser(ends: Ends) -> None:
    ends.pipe.drain(True)
    ends.close()
    await until(lambda: not ends.pipe._draining)


async def test_the_shared_descriptors_stay_as_the_gateway_set_them(ends: Ends) -> None:
    """O_NONBLOCK belongs to both processes."""
    ends.pipe.drain(True)
    ends.pipe.close_browser()
    assert os.get_blocking(ends.pipe.write_end.fileno()) and os.get_blocking(ends.pipe.read_end.fileno())

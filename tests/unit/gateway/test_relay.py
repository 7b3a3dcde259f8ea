"""The queue before one client: order, bound, and the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from telebrowser.gateway import relay
from telebrowser.gateway.relay import Outbox


class Socket:
    """Takes frames while the gate is open."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.buffered = 0

    async def send_frame(self, data: bytes, opcode: Any) -> None:
        if not self.gate.is_set():
            await self.gate.wait()
        self.sent.append(data)

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def is_closing(self) -> bool:
        return False


def outbox(socket: Socket, *, attached: bool = True) -> tuple[Outbox, asyncio.Task[None]]:
    one = Outbox()
    if attached:
        one.attach(socket, socket)  # type: ignore[arg-type]
    return one, asyncio.get_running_loop().create_task(one.pump(socket))  # type: ignore[arg-type]


async def test_a_small_message_is_written_at_once_and_order_is_kept() -> None:
    socket = Socket()
    one, pump = outbox(socket)
    one.put(b"1")
    assert socket.sent == [b"1"]
    socket.buffered = 1
    one.put(b"2")
    socket.buffered = 0
    one.put(b"3")
    assert socket.sent == [b"1"], "what waits goes first"
    one.put(b"4" * relay.DIRECT_BYTES * 2)
    one.end("enough")
    one.put(b"5")
    await pump
    assert [data[:1] for data in socket.sent] == [b"1", b"2", b"3", b"4"] and one.reason == "enough"


async def test_messages_wait_for_the_upgrade() -> None:
    socket = Socket()
    one, pump = outbox(socket, attached=False)
    one.put(b"early")
    one.end("done")
    await pump
    assert socket.sent == [b"early"]


async def test_while_the_pump_writes_nothing_overtakes_it() -> None:
    socket = Socket()
    one, pump = outbox(socket)
    socket.gate.clear()
    one.put(b"1" * relay.DIRECT_BYTES * 2)
    await asyncio.sleep(0)
    one.put(b"2")
    assert socket.sent == []
    socket.gate.set()
    one.end("done")
    await pump
    assert [data[:1] for data in socket.sent] == [b"1", b"2"]


async def test_what_piles_up_is_bounded_but_one_message_of_any_size_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "QUEUE_BYTES", 100_000)
    socket = Socket()
    socket.gate.clear()
    one, pump = outbox(socket)
    told: list[str] = []
    one.on_overflow(told.append)
    one.put(b"x" * 500_000)
    await asyncio.sleep(0)
    one.put(b"x" * 500_000)
    assert not told
    one.put(b"x")
    assert len(told) == 1 and "too slowly" in told[0] and one.reason == told[0]
    socket.gate.set()
    await pump


async def test_a_client_that_reads_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "STALL_SECONDS", 0.02)
    socket = Socket()
    socket.gate.clear()
    one, pump = outbox(socket)
    gone = asyncio.Event()
    one.on_overflow(lambda reason: gone.set())
    one.put(b"x" * relay.DIRECT_BYTES * 2)
    async with asyncio.timeout(5):
        await gone.wait()
    assert one.reason is not None and "read nothing" in one.reason
    pump.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pump

"""The operation lock: order, the bound of its queue, cancelled waiters, the watchdog."""

from __future__ import annotations

import asyncio

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.page.lock import OperationLock


async def test_first_in_first_out() -> None:
    lock = OperationLock(limit=8)
    order: list[int] = []

    async def work(number: int) -> None:
        async with lock.hold():
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(work(number) for number in range(6)))
    assert order == list(range(6))


async def test_one_more_than_the_limit_is_refused() -> None:
    lock = OperationLock(limit=2)
    go = asyncio.Event()

    async def work() -> None:
        async with lock.hold():
            await go.wait()

    running = [asyncio.create_task(work()) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(TelebrowserError) as caught:
        await work()
    assert caught.value.code == "BUSY_QUEUE_FULL"
    go.set()
    await asyncio.gather(*running)
    async with lock.hold():
        pass


async def test_a_cancelled_waiter_leaves_the_queue_and_blocks_nobody() -> None:
    lock = OperationLock(limit=8)
    go = asyncio.Event()
    done: list[str] = []

    async def work(name: str) -> None:
        async with lock.hold():
            await go.wait()
            done.append(name)

    first, second, third = (asyncio.create_task(work(name)) for name in ("first", "second", "third"))
    await asyncio.sleep(0)
    second.cancel()
    go.set()
    await asyncio.gather(first, third)
    assert done == ["first", "third"]
    assert second.cancelled() or second.done()


async def test_a_waiter_cancelled_at_its_turn_passes_the_turn_on() -> None:
    lock = OperationLock(limit=8)

    async def work() -> None:
        async with lock.hold():
            pass

    holder = lock.hold()
    await holder.__aenter__()
    second, third = asyncio.create_task(work()), asyncio.create_task(work())
    await asyncio.sleep(0)
    await holder.__aexit__(None, None, None)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    async with asyncio.timeout(5):
        await third


async def test_the_watchdog_ends_a_holder_that_never_lets_go() -> None:
    lock = OperationLock(limit=8, watchdog=0.05)
    with pytest.raises(TimeoutError):
        async with lock.hold():
            await asyncio.Event().wait()
    async with lock.hold():
        pass


async def test_a_failing_holder_lets_go() -> None:
    lock = OperationLock(limit=8)
    with pytest.raises(ValueError, match="x"):
        async with lock.hold():
            raise ValueError("x")
    async with lock.hold():
        pass

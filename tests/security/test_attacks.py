"""Every attempt, against the real stack: nothing was gained, nobody was harmed, and nothing foreign was on the wire."""

from __future__ import annotations

import pytest

from .arena import Arena
from .attempts import ALL, Attempt

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_there_are_many() -> None:
    assert len(ALL) >= 120 and len({attempt.name for attempt in ALL}) == len(ALL)


@pytest.mark.parametrize("attempt", ALL, ids=[attempt.name for attempt in ALL])
async def test_an_attempt_gains_nothing(arena: Arena, attempt: Attempt) -> None:
    attacker = await arena.attacker()
    try:
        await attempt.run(arena, attacker)
    finally:
        await attacker.close()
    assert not (harm := await arena.harm()), harm
    assert not (leaked := arena.leaked(attacker.frames)), leaked[:3]

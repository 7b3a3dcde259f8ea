"""The attacks against a gateway whose filter lets everything through: most must succeed, or they would show nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.conftest import scratch_dir
from tests.support.pages import Pages
from tests.support.stack import Stack

from .arena import Arena
from .attempts import ALL
from .open_stack import OpenStack, tried


@pytest.fixture
def open_stack() -> Iterator[Stack]:
    """A stack with the open gateway."""
    root = scratch_dir("open")
    one = OpenStack(root)
    try:
        one.start()
        yield one
    finally:
        one.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.mark.timeout(600)
async def test_most_attempts_succeed_where_nothing_is_checked(open_stack: OpenStack, pages: Pages) -> None:
    arena = Arena(open_stack, pages)
    await arena.build()
    gained = [attempt.name for attempt in ALL if await tried(arena, attempt)]
    await arena.leave()
    assert len(gained) > len(ALL) * 0.6, f"{len(gained)} of {len(ALL)}; these gained nothing: {[a.name for a in ALL if a.name not in gained]}"

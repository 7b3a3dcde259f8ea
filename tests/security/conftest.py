"""The arena, shared by all attempts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.pages import Pages
from tests.support.stack import Stack

from .arena import Arena


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(stack: Stack, pages: Pages) -> AsyncIterator[Arena]:
    """Two projects, two sessions and a person."""
    one = Arena(stack, pages)
    await one.build()
    yield one
    await one.leave()

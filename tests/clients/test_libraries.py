"""puppeteer-core and playwright-core, unmodified, through the session endpoint."""

from __future__ import annotations

import pytest

from tests.support.pages import Pages
from tests.support.stack import Stack

from .scene import Scene


@pytest.mark.parametrize("client", ["puppeteer", "playwright"])
async def test_journey(client: str, stack: Stack, pages: Pages) -> None:
    async with Scene.open(stack, pages) as scene:
        await scene.run(f"{client}.mjs")
        await scene.check()
        await scene.gone()

"""The browser link on a real headful Chromium: sessions, ownership, placeholder, background, downloads, take-over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from telebrowser.gateway.browser import BrowserLink
from tests.services.gateway_browser import Cdp, PipeBrowser
from tests.support.pages import Pages


@pytest.fixture
def browser() -> Iterator[PipeBrowser]:
    one = PipeBrowser()
    yield one
    one.close()


@pytest.fixture
async def link(browser: PipeBrowser) -> AsyncIterator[BrowserLink]:
    one = await browser.link(session_grace=0.3)
    yield one
    await one.close(keep_tabs=True)


async def until(check: Callable[[], Any], what: str, seconds: float = 10) -> Any:
    async with asyncio.timeout(seconds):
        while not (value := check()):
            await asyncio.sleep(0.02)
    return value


async def test_two_sessions_share_the_browser_and_see_only_their_own(link: BrowserLink, pages: Pages) -> None:
    first, second = await asyncio.gather(Cdp.open(link, "one"), Cdp.open(link, "two"))
    one, two = await first.pages(), await second.pages()
    assert len(one) == len(two) == 1 and one[0]["targetId"] != two[0]["targetId"]
    placeholder = {info["targetId"] for info in link.targets.pages()} - {two[0]["targetId"]}
    assert placeholder == {one[0]["targetId"]}, "one session takes the placeholder over, the other gets a new tab, and no tab is left over"
    foreign = two[0]["targetId"]
    for method in ("Target.attachToTarget", "Target.closeTarget", "Target.activateTarget", "Target.getTargetInfo"):
        assert await first.refused(method, targetId=foreign, flatten=True) == "-32602 No target with given id found"
    session = await first.attach(one[0]["targetId"])
    for method in ("Target.attachToTarget", "Target.closeTarget", "Target.activateTarget", "Target.getTargetInfo"):
        assert await first.refused(method, session, targetId=foreign, flatten=True) == "-32602 No target with given id found"
    theirs = await second.attach(foreign)
    assert await first.refused("Runtime.evaluate", theirs, expression="1") == "-32001 Session with given id not found."
    assert [info["targetId"] for info in (await first.on(session, "Target.getTargets"))["targetInfos"]] == [one[0]["targetId"]]
    await second.on(theirs, "Page.navigate", url=f"{pages.base}/who")
    assert [info["url"] for info in await first.pages()] == ["about:blank"]

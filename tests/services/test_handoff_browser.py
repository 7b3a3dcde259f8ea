"""Conditions and the commit of cookies on a real Chromium."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from telebrowser.cdp.connection import CdpError
from telebrowser.gateway.browser import BrowserLink
from telebrowser.gateway.handoff.conditions import BadSelector, Watcher
from telebrowser.gateway.handoff.cookies import commit
from telebrowser.gateway.handoff.machine import Condition
from tests.support.pages import Pages

from .gateway_browser import Cdp, PipeBrowser

PAGE = """<!doctype html><title>plain</title><h1>Please  sign
in</h1><p hidden>Welcome back</p><div id=host></div><iframe src="{other}"></iframe>
<script>
window.seen = [];
for (const name of ['focus', 'blur', 'visibilitychange', 'focusin', 'focusout', 'pointermove', 'mousemove'])
  addEventListener(name, () => seen.push(name), true);
const root = document.querySelector('#host').attachShadow({{mode: 'open'}});
root.innerHTML = '<button class=deep>Deep inside</button>';
</script>"""


@pytest.fixture
async def browser() -> AsyncIterator[PipeBrowser]:
    one = PipeBrowser()
    yield one
    one.close()


LOOKS = """[document.hasFocus(), document.activeElement.tagName, Object.keys(window).length,
  performance.getEntriesByType('resource').filter((entry) => !entry.name.endsWith('.ico')).length]"""
FLASH = """(async () => {
  const p = document.createElement('p');
  p.textContent = 'Welcome home';
  document.body.append(p);
  await new Promise((done) => setTimeout(done, 100));
  p.remove();
})()"""


class Scene:
    """A link, an agent's tab at an address, and looks at it."""

    def __init__(self, link: BrowserLink, cdp: Cdp, target: str, session: str) -> None:
        self.link, self.cdp, self.target, self.session = link, cdp, target, session

    async def holds(self, **parts: str) -> bool:
        watcher = Watcher(self.link, self.target, Condition(**parts))
        try:
            return await watcher.holds()
        finally:
            watcher.close()

    async def eval(self, expression: str) -> Any:
        return await self.cdp.eval(self.session, expression)


async def becomes(cdp: Cdp, session: str, expression: str, wanted: Any) -> None:
    """Until an expression has a value; a page that is just being replaced has none."""
    for _ in range(400):
        try:
            if await cdp.eval(session, expression) == wanted:
                return
        except CdpError:
            pass
        await asyncio.sleep(0.05)
    raise AssertionError(f"{expression} is {await cdp.eval(session, expression)!r}")


@pytest.fixture
async def scene(browser: PipeBrowser, pages: Pages) -> AsyncIterator[Scene]:
    link = await browser.link()
    cdp = await Cdp.open(link, "s")
    target = (await cdp.pages())[0]["targetId"]
    session = await cdp.attach(target)
    pages.add("inner.html", "<title>inner</title><p>Inside the frame</p>")
    url = pages.add("outer.html", PAGE.format(other=f"{pages.other}/inner.html"))
    await cdp.on(session, "Page.enable")
    await cdp.on(session, "Page.navigate", url=url)
    await becomes(cdp, session, "document.readyState + document.title + frames.length", "completeplain1")
    yield Scene(link, cdp, target, session)
    await link.close()


async def test_what_the_page_shows_in_whatever_frame_or_root(scene: Scene, pages: Pages) -> None:
    assert await scene.holds(text="Please sign in") and await scene.holds(selector="h1") and await scene.holds(selector="h1", text="sign in")
    assert await scene.holds(selector="button.deep") and await scene.holds(text="Deep inside")
    assert await scene.holds(text="Inside the frame"), "a frame of another site has a process of its own"
    for absent in ({"text": "Welcome back"}, {"selector": "p[hidden]"}, {"selector": "h1", "text": "Welcome"}, {"text": "not there"}):
        assert not await scene.holds(**absent), absent
    assert await scene.holds(text="Please sign in", url=f"{pages.base}/outer*")
    assert not await scene.holds(text="Please sign in", url=f"{pages.base}/other*")
    with pytest.raises(BadSelector):
        await scene.holds(selector="h1[")


async def test_looking_is_not_noticed(scene: Scene) -> None:
    await scene.cdp.on(scene.session, "Runtime.enable")
    before = await scene.eval(LOOKS)
    await scene.eval("seen.length = 0")
    watcher = Watcher(scene.link, scene.target, Condition(text="not there"))
    for _ in range(20):
        assert not await watcher.holds()
    watcher.close()
    after = await scene.eval(LOOKS)
    assert after == before and await scene.eval("seen") == []
    assert not [name for name, _ in scene.cdp.events if name in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown")]


async def test_it_is_waited_for_over_navigations_and_a_flash_does_not_count(scene: Scene, pages: Pages) -> None:
    watcher = Watcher(scene.link, scene.target, Condition(text="Welcome home"))
    waiting = asyncio.create_task(watcher.wait())
    await scene.eval(FLASH)
    async with asyncio.timeout(10):
        await scene.cdp.on(scene.session, "Page.navigate", url=pages.add("later.html", "<title>later</title><p>Almost</p>"))
        await asyncio.sleep(1.2)
        assert not waiting.done()
        await scene.cdp.on(scene.session, "Page.navigate", url=pages.add("in.html", "<title>in</title><p>Welcome home</p>", delay=0.5))
        await waiting
    watcher.close()


async def test_an_address_alone_never_holds(scene: Scene, pages: Pages) -> None:
    watcher = Watcher(scene.link, scene.target, Condition(url=f"{pages.base}/*"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await watcher.wait()


async def test_a_page_that_is_gone_or_hangs_only_does_not_show_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    from telebrowser.gateway.handoff import conditions

    monkeypatch.setattr(conditions, "ANSWER_SECONDS", 0.5)
    watcher = Watcher(scene.link, scene.target, Condition(text="Please sign in"))
    assert await watcher.holds()
    hanging = asyncio.create_task(scene.eval("(() => { const end = Date.now() + 2000; while (Date.now() < end); })()"))
    await asyncio.sleep(0.1)
    assert not await watcher.holds()
    await hanging
    monkeypatch.setattr(conditions, "ANSWER_SECONDS", 5.0)
    assert await watcher.holds()
    await scene.link.close_page(scene.target)
    assert not await watcher.holds()
    watcher.close()


async def test_the_page_that_was_used_last(scene: Scene) -> None:
    second = (await scene.cdp.call("Target.createTarget", url="about:blank"))["targetId"]
    assert scene.link.latest_page("s") == scene.target
    session = await scene.cdp.attach(second)
    await scene.cdp.eval(session, "1")
    assert scene.link.latest_page("s") == second
    await scene.eval("2")
    other = await Cdp.open(scene.link, "s")
    assert scene.link.latest_page("s") == scene.target, "a client that has only come has used nothing"
    await other.eval(await other.attach(second), "3")
    assert scene.link.latest_page("s") == second
    await scene.cdp.call("Target.closeTarget", targetId=second)
    await becomes(scene.cdp, scene.session, "1", 1)
    assert scene.link.latest_page("s") == scene.target and scene.link.latest_page("nobody") is None


async def test_a_commit_keeps_a_login_over_sigkill(browser: PipeBrowser, pages: Pages) -> None:
    link = await browser.link()
    cdp = await Cdp.open(link, "s")
    session = await cdp.attach((await cdp.pages())[0]["targetId"])
    await cdp.on(session, "Page.enable")
    await cdp.on(session, "Page.navigate", url=f"{pages.base}/set")
    await becomes(cdp, session, "document.title", "set")
    assert await commit(link, browser.root / "profile")
    os.killpg(browser.process.pid, signal.SIGKILL)
    browser.process.wait(20)
    data = (browser.root / "profile" / "Default" / "Cookies").read_bytes()
    assert b"login" in data
    journal = browser.root / "profile" / "Default" / "Cookies-journal"
    assert not journal.exists() or not journal.stat().st_size
    link.abandon("it was killed")


async def test_a_commit_that_cannot_be_seen_says_so(scene: Scene, browser: PipeBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    from telebrowser.gateway.handoff import cookies

    monkeypatch.setattr(cookies, "COMMIT_SECONDS", 0.5)
    assert not await commit(scene.link, browser.root / "elsewhere")
    scene.link.abandon("gone")
    assert not await commit(scene.link, browser.root / "profile")

"""New pages that wait for the client that asked for it, on a real headful Chromium, and nobody else's pages that do."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from telebrowser.gateway import pausing
from telebrowser.gateway.browser import BrowserLink
from tests.services.gateway_browser import Cdp, PipeBrowser
from tests.support.pages import Pages

OPENER = """<title>opener</title><a id=link href="/paused.html" target=_blank>link</a> <a id=ctrl href="/paused.html">ctrl</a>
<button id=open onclick="window.open('/paused.html')">open</button>"""
POPUP = """<title>popup</title><script>
window.seen = window.early || 'nothing'; new Image().src = '/report?' + location.search.slice(1) + '&seen=' + seen</script>"""
WAIT = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
WAYS = ["open", "link", "ctrl"]


@pytest.fixture
def browser(pages: Pages) -> Iterator[PipeBrowser]:
    pages.add("opener.html", OPENER)
    pages.add("paused.html", POPUP)
    one = PipeBrowser()
    yield one
    one.close()


@pytest.fixture
async def link(browser: PipeBrowser) -> AsyncIterator[BrowserLink]:
    one = await browser.link(session_grace=30)
    yield one
    await one.close(keep_tabs=True)


@pytest.fixture
def no_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lets a page go, it is not the watchdog."""
    monkeypatch.setattr(pausing, "WATCH_SECONDS", 600.0)


async def until(check: Callable[[], Any], what: str, seconds: float = 15) -> Any:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not (value := check()):
        assert loop.time() < end, what
        await asyncio.sleep(0.02)
    return value


async def opener(client: Cdp, base: str, target: str = "") -> str:
    """A session on a page of the client that shows the opener."""
    session = await client.attach(target or (await client.pages())[0]["targetId"])
    await client.on(session, "Page.navigate", url=f"{base}/opener.html")
    await loaded(client, session)
    return session


async def loaded(client: Cdp, session: str) -> None:
    for _ in range(200):
        if await client.eval(session, "document.readyState === 'complete' && document.title !== ''"):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the page does not load")


marks = itertools.count(1)


async def click(client: Cdp, session: str, way: str) -> str:
    """Make the page open a popup, and give its mark, by which it reports that it runs.

    The page's own script may be held until the popup is let go, so that the click is not awaited.
    """
    mark = f"mark{next(marks)}"
    code = f"""(node => {{ const to = '/paused.html?mark={mark}'; node.href = to; if (!node.target && node.id === 'open') node.onclick = () => window.open(to);
      const r = node.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }})(document.getElementById('{way}'))"""
    x, y = await client.eval(session, code)
    for kind in ("mousePressed", "mouseReleased"):
        post(client, session, "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, modifiers=2 if way == "ctrl" else 0)
    return mark


def post(client: Cdp, session: str, method: str, **params: Any) -> None:
    """A call whose answer nobody awaits."""
    client.connection.session(session).start(method, **params).add_done_callback(lambda done: done.cancelled() or done.exception())


async def runs(pages: Pages, mark: str) -> dict[str, str]:
    """What the popup reported, once it runs."""
    return await asyncio.to_thread(pages.wait_report, 8, mark=mark)


def silent(pages: Pages, mark: str) -> bool:
    """Whether the popup has not run yet."""
    return not any(report.get("mark") == mark for report in pages.reports)


def popups(link: BrowserLink, *before: str) -> list[str]:
    return [info["targetId"] for info in link.targets.pages() if info["targetId"] not in before]


async def held(link: BrowserLink, client: Cdp, session: str, way: str) -> tuple[str, str]:
    """Click, and give the popup that waits, and its mark."""
    before = popups(link)
    mark = await click(client, session, way)
    popup = (await until(lambda: popups(link, *before), "the popup"))[0]
    await until(lambda: link.pauses.holds(popup), "it waits")
    return str(popup), mark


# Chromium does not pause the tab of a ctrl-click for anybody (measured).
@pytest.mark.parametrize("way", ["open", "link"])
async def test_the_client_sees_its_popup_before_the_first_document(link: BrowserLink, pages: Pages, way: str, no_watchdog: None) -> None:
    client = await Cdp.open(link, "agent")
    session = await opener(client, pages.base)
    await client.call("Target.setAutoAttach", **WAIT)
    popup, mark = await held(link, client, session, way)
    (attached,) = await until(lambda: [one for one in client.seen("Target.attachedToTarget") if one["targetInfo"]["targetId"] == popup], "it is attached")
    assert attached["waitingForDebugger"] is True
    # As Puppeteer and Playwright do, in one go: some of these are answered only when the page runs.
    post(client, attached["sessionId"], "Page.enable")
    post(client, attached["sessionId"], "Page.addScriptToEvaluateOnNewDocument", source="window.early = 'script'")
    await asyncio.sleep(0.3)
    assert silent(pages, mark)
    await client.on(attached["sessionId"], "Runtime.runIfWaitingForDebugger")
    assert (await runs(pages, mark))["seen"] == "script"
    assert not link.pauses.holds(popup)


@pytest.mark.parametrize("way", WAYS)
async def test_nobody_else_waits(link: BrowserLink, pages: Pages, way: str, no_watchdog: None) -> None:
    person = await Cdp.open(link, None)
    theirs = await opener(person, pages.base)
    other = await Cdp.open(link, "other")
    others = await opener(other, pages.base)
    client = await Cdp.open(link, "agent")
    await client.call("Target.setAutoAttach", **WAIT)
    for who, session in ((person, theirs), (other, others)):
        await runs(pages, await click(who, session, way))
        assert await who.eval(session, "document.title") == "opener"
    assert len(client.seen("Target.attachedToTarget")) == 1


async def test_nothing_is_paused_while_no_client_asks(link: BrowserLink, pages: Pages) -> None:
    client = await Cdp.open(link, "agent")
    session = await opener(client, pages.base)
    roots = len(link.state()["roots"])
    await client.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    assert len(link.state()["roots"]) == roots
    await client.call("Target.setAutoAttach", **WAIT)
    assert len(link.state()["roots"]) == roots + 1
    await client.call("Target.setAutoAttach", autoAttach=False, waitForDebuggerOnStart=False, flatten=True)
    await runs(pages, await click(client, session, "open"))


@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_forgets_its_popup(link: BrowserLink, pages: Pages, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing, "WATCH_SECONDS", 0.2)
    client = await Cdp.open(link, "agent")
    session = await opener(client, pages.base)
    await client.call("Target.setAutoAttach", **WAIT)
    await runs(pages, await click(client, session, way))


@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_dies_leaves_nothing_waiting(link: BrowserLink, pages: Pages, way: str, no_watchdog: None) -> None:
    client = await Cdp.open(link, "agent")
    session = await opener(client, pages.base)
    await client.call("Target.setAutoAttach", **WAIT)
    popup, mark = await held(link, client, session, way)
    assert silent(pages, mark)
    client.connection.close()
    await runs(pages, mark)
    again = await Cdp.open(link, "agent")
    await loaded(again, await again.attach(popup))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("orderly", [True, False])
async def test_a_gateway_that_ends_leaves_nothing_waiting(browser: PipeBrowser, pages: Pages, way: str, orderly: bool, no_watchdog: None) -> None:
    first = await browser.link(session_grace=30)
    client = await Cdp.open(first, "agent")
    session = await opener(client, pages.base)
    await client.call("Target.setAutoAttach", **WAIT)
    _, mark = await held(first, client, session, way)
    state = first.state()
    if orderly:
        await first.close(keep_tabs=True)
    else:
        # As after SIGKILL: nobody says goodbye, the roots stay attached.
        first._transport._writer.close()  # type: ignore[attr-defined]
        first._transport._reader.close()  # type: ignore[attr-defined]
        first._transport._closed = True  # type: ignore[attr-defined]
    second = await browser.link(session_grace=30, adopt=state["targets"], roots=state["roots"], downloads=state["downloads"])
    await runs(pages, mark)
    await second.close(keep_tabs=True)
    if not orderly:
        await first.close(keep_tabs=True)


async def test_clients_killed_at_any_moment(link: BrowserLink, pages: Pages, no_watchdog: None) -> None:
    """50 of them: no page stays paused, no root of theirs is left."""
    chance = random.Random(5)
    person = await Cdp.open(link, None)
    await opener(person, pages.base)
    roots = len(link.state()["roots"])
    (seat,) = popups(link)
    for number in range(50):
        client = await Cdp.open(link, f"agent{number % 5}")
        session = await opener(client, pages.base)
        turned = asyncio.create_task(client.call("Target.setAutoAttach", **WAIT))
        if chance.random() < 0.8:
            await turned
        turned.add_done_callback(lambda done: done.cancelled() or done.exception())
        mark = await click(client, session, chance.choice(WAYS))
        await asyncio.sleep(chance.random() * 0.15)
        client.connection.close()
        turned.cancel()
        await runs(pages, mark)
        if number % 5 == 4:
            for target in popups(link, seat):
                await person.call("Target.closeTarget", targetId=target)
            await until(lambda: popups(link) == [seat], "all are closed")
    await until(lambda: len(link.state()["roots"]) <= roots + 1, "only the link's own roots are left")
    assert not [target for target in popups(link) if link.pauses.holds(target)]

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
    end = asyncio.get_running_loop().time() + seconds
    while not (value := check()):
        assert asyncio.get_running_loop().time() < end, f"not within {seconds} s: {what}"
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


def all_pages(link: BrowserLink) -> dict[str, str]:
    return {info["targetId"]: info["url"] for info in link.targets.pages()}


async def selected(link: BrowserLink) -> list[str]:
    await link.selection.look()
    return link.selection.selected()


POPUPS = """<!doctype html><title>opener</title><a id=blank target=_blank href="/who?blank">a</a> <a id=plain href="/who?plain">b</a>
<button id=open onclick="window.open('/who?open')">c</button><button id=noopener onclick="window.open('/who?no','_blank','noopener')">d</button>
<iframe id=other></iframe><script>document.querySelector('#other').src=location.href.includes('127.0.0.1')&&location.pathname=='/opener.html'?
location.href.replace('127.0.0.1','localhost').replace('opener','inner'):'about:blank'</script>"""


async def click(client: Cdp, session: str, selector: str, modifiers: int = 0, button: str = "left") -> None:
    box = await client.eval(session, f"(r=>[r.x+r.width/2,r.y+r.height/2])(document.querySelector('{selector}').getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        await client.on(session, "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button=button, clickCount=1, modifiers=modifiers)


async def loaded(client: Cdp, session: str, url: str) -> None:
    await client.on(session, "Page.navigate", url=url)
    await client.eval(session, "(async()=>{while(document.readyState!='complete')await new Promise(d=>setTimeout(d,20))})()")


@pytest.mark.parametrize("way", ["blank", "open", "noopener", "ctrl", "middle", "shift", "inner"])
async def test_popups_belong_to_the_session_that_opened_them_and_leave_the_selection(link: BrowserLink, pages: Pages, way: str) -> None:
    pages.add("opener.html", POPUPS)
    pages.add("inner.html", POPUPS)
    person = await Cdp.open(link, None)
    theirs = next(iter(all_pages(link)))
    await person.call("Target.setDiscoverTargets", discover=True)
    # The person looks at a tab of their own.
    session = await person.attach(theirs)
    await loaded(person, session, f"{pages.base}/who?person")
    before = await selected(link)
    agent, bystander = await Cdp.open(link, "agent"), await Cdp.open(link, "bystander")
    await bystander.call("Target.setDiscoverTargets", discover=True)
    await agent.call("Target.setDiscoverTargets", discover=True)
    (own,) = await agent.pages()
    mine = await agent.attach(own["targetId"])
    await agent.on(mine, "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    await loaded(agent, mine, f"{pages.base}/opener.html")
    seen_by_bystander = len(bystander.events)
    if way == "inner":
        frame = await until(lambda: [info for info in link.targets.all() if info["type"] == "iframe"], "the frame of another site is a target")
        inner = await agent.attach(frame[0]["targetId"])
        await until(lambda: link.frames.get(frame[0]["targetId"]) == own["targetId"], "the shadow knows the frame")
        await click(agent, inner, "#plain", modifiers=2)
    elif way in ("ctrl", "middle", "shift"):
        await click(agent, mine, "#plain", modifiers={"ctrl": 2, "shift": 8}.get(way, 0), button="middle" if way == "middle" else "left")
    else:
        await click(agent, mine, f"#{way}")
    told = lambda: [p["targetInfo"] for p in agent.seen("Target.targetCreated")]  # noqa: E731
    popups = await until(lambda: [info for info in told() if info["type"] == "page" and info["targetId"] != own["targetId"]], "the popup")
    assert link.targets.owned("agent") == [own["targetId"], popups[0]["targetId"]]
    second = await agent.attach(popups[0]["targetId"])
    assert await agent.eval(second, "1+1") == 2
    assert await bystander.pages() and popups[0]["targetId"] not in {info["targetId"] for info in await bystander.pages()}
    assert len(bystander.events) == seen_by_bystander, bystander.events
    for _ in range(40):
        if await selected(link) == before:
            break
        await asyncio.sleep(0.05)
    now = await selected(link)
    assert before[0] in now, "the person's tab is selected in its window"
    assert await person.eval(session, "document.visibilityState") == "visible"


async def test_a_popup_of_the_selected_tab_stays_in_front(link: BrowserLink, pages: Pages) -> None:
    """What a person opens while looking at an agent's tab must not vanish behind it."""
    pages.add("opener.html", POPUPS)
    agent = await Cdp.open(link, "agent")
    (own,) = await agent.pages()
    mine = await agent.attach(own["targetId"])
    await loaded(agent, mine, f"{pages.base}/opener.html")
    before = await selected(link)
    await click(agent, mine, "#open")
    popup = await until(lambda: [target for target in link.targets.owned("agent") if target != own["targetId"]], "the popup")
    tab = await link.pair(popup[0])
    await until(lambda: not link.selection.busy, "the selection is settled")
    assert await selected(link) == [tab] != before


async def test_background_tabs_work_at_full_speed(link: BrowserLink, pages: Pages) -> None:
    pages.add(
        "busy.html",
        "<body style='height:5000px'><p id=p>0<script>n=0;w=0;addEventListener('wheel',()=>w++);"
        "(f=()=>{p.textContent=n++;requestAnimationFrame(f)})()</script>",
    )
    person = await Cdp.open(link, None)
    await loaded(person, await person.attach(next(iter(all_pages(link)))), f"{pages.base}/who?person")
    before = await selected(link)
    agent = await Cdp.open(link, "agent")
    sessions = []
    for _ in range(3):
        target = (await agent.call("Target.createTarget", url=f"{pages.base}/busy.html"))["targetId"]
        sessions.append(await agent.attach(target))
    for session in sessions:
        for _ in range(3):
            assert (await agent.on(session, "Page.captureScreenshot"))["data"]
        await agent.on(session, "Input.dispatchMouseEvent", type="mouseWheel", x=50, y=50, deltaX=0, deltaY=100)
        start = await agent.eval(session, "n")
        await agent.eval(session, "new Promise(done=>{const from=n;const look=()=>n>from+20?done():setTimeout(look,10);look()})")
        assert await agent.eval(session, "n") > start + 20
        assert await agent.eval(session, "[document.visibilityState,document.hasFocus(),w]") == ["visible", True, 1]
    assert await selected(link) == before


async def test_the_last_page_is_never_closed(link: BrowserLink, browser: PipeBrowser) -> None:
    agent = await Cdp.open(link, "agent")
    (own,) = await agent.pages()
    other = (await agent.call("Target.createTarget", url="data:text/html,two"))["targetId"]
    first, second = await asyncio.gather(
        agent.call("Target.closeTarget", targetId=own["targetId"]),
        agent.call("Target.closeTarget", targetId=other),
    )
    assert first == second == {"success": True}
    await until(lambda: list(all_pages(link).values()) == ["about:blank"], "a blank placeholder is left")
    assert link.targets.owned("agent") == [] and browser.process.poll() is None
    again = (await agent.call("Target.createTarget", url="about:blank"))["targetId"]
    session = await agent.attach(again)
    placeholder = next(target for target in all_pages(link) if target != again)
    person = await Cdp.open(link, None)
    await person.call("Target.closeTarget", targetId=placeholder)
    await until(lambda: list(all_pages(link)) == [again], "the agent's is the last")
    await agent.on(session, "Page.close")
    await until(lambda: again not in all_pages(link), "it closes")
    assert list(all_pages(link).values()) == ["about:blank"] and browser.process.poll() is None


async def test_a_page_that_is_left_gives_the_selected_tab_back_and_asks_for_no_tab_when_it_took_none(link: BrowserLink, pages: Pages) -> None:
    """A page that asks to stay selects its tab."""
    url = pages.add("stay.html", "<title>stay</title><button id=stay onclick='onbeforeunload=event=>event.preventDefault()'>stay</button>")
    agent = await Cdp.open(link, "agent")
    shown = (await agent.pages())[0]["targetId"]
    hidden = (await agent.call("Target.createTarget", url="about:blank", background=True))["targetId"]
    before = await selected(link)
    for target in (shown, hidden):
        session = await agent.attach(target)
        await agent.on(session, "Page.enable")
        await loaded(agent, session, url)
        await click(agent, session, "#stay")
        leaves = asyncio.create_task(agent.on(session, "Page.navigate", url=f"{pages.base}/who"))
        await until(lambda: link.selection.busy, "the page asks")
        # The browser's own answer is newer than what the link has heard.
        taken = [info["targetId"] for info in (await link.call("Target.getTargets", {"filter": [{"type": "tab"}]}))["targetInfos"] if is_selected(info)]
        assert (taken != before) is (target == hidden)
        await agent.on(session, "Page.handleJavaScriptDialog", accept=True)
        await leaves
        await until(lambda: not link.selection.busy, "what was selected is selected")
        assert await selected(link) == before
        # Which tab is a page's is known only by a session on the tab, for which the page waits that loads just then.
        assert (link.targets.tab_of(target) is not None) is (target == hidden)


def is_selected(info: dict[str, Any]) -> bool:
    return bool((info.get("embedderData") or {}).get("tabActive"))


async def test_a_session_ends_after_its_grace_time_and_its_tabs_close(link: BrowserLink, browser: PipeBrowser) -> None:
    agent = await Cdp.open(link, "agent")
    await agent.call("Target.createTarget", url="data:text/html,<script>onbeforeunload=()=>1</script>")
    assert [row["tabs"] for row in link.sessions()] == [2]
    agent.connection.close()
    again = await Cdp.open(link, "agent")
    assert len(await again.pages()) == 2, "a session that comes back in time finds its tabs"
    assert (await again.call("Browser.close")) == {}
    await until(lambda: again.connection.closed, "Browser.close ends the connection only")
    await until(lambda: list(all_pages(link).values()) == ["about:blank"], "its tabs close, and a placeholder is left")
    assert link.sessions() == [] and browser.process.poll() is None
    fresh = await Cdp.open(link, "fresh")
    assert [info["url"] for info in await fresh.pages()] == ["about:blank"] and len(all_pages(link)) == 1


async def test_downloads_reach_the_session_that_began_them_under_a_free_name(link: BrowserLink, browser: PipeBrowser) -> None:
    agent, other = await Cdp.open(link, "agent"), await Cdp.open(link, "other")
    for client in (agent, other):
        await client.call("Browser.setDownloadBehavior", behavior="allow", downloadPath="/root", eventsEnabled=True)
    (own,) = await agent.pages()
    session = await agent.attach(own["targetId"])
    for number in range(2):
        code = f"(a=>{{a.href='data:application/octet-stream,abc{number}';a.download='x.bin';document.body.append(a);a.click()}})(document.createElement('a'))"
        await agent.eval(session, code, userGesture=True)
        done = await until(lambda n=number: [p for p in agent.seen("Browser.downloadProgress") if p["state"] == "completed"][n:], "the download completes")
        name = ["x.bin", "x (1).bin"][number]
        assert done[0]["filePath"] == str(browser.downloads / name) and (browser.downloads / name).read_text() == f"abc{number}"
    assert agent.seen("Browser.downloadWillBegin")[0]["suggestedFilename"] == "x.bin"
    assert not [event for event, _ in other.events if event.startswith("Browser.")]
    guid = done[0]["guid"]
    assert await other.refused("Browser.cancelDownload", guid=guid) == "-32602 No download item found for the given GUID"
    assert not list((browser.downloads / ".partial").iterdir())


async def test_the_next_gateway_takes_over(browser: PipeBrowser) -> None:
    first = await browser.link(session_grace=30)
    agent = await Cdp.open(first, "agent")
    (own,) = await agent.pages()
    session = await agent.attach(own["targetId"])
    await agent.on(session, "Page.navigate", url="data:text/html,<title>kept</title>")
    state = first.state()
    # As after SIGKILL: a call half written, its root still attached, nobody says goodbye.
    first.send(b'{"id":-77,"method":"Runtime.evaluate","sess')
    first._transport._writer.close()  # type: ignore[attr-defined]
    first._transport._reader.close()  # type: ignore[attr-defined]
    first._transport._closed = True  # type: ignore[attr-defined]
    second = await browser.link(session_grace=0.3, adopt=state["targets"], roots=state["roots"], downloads=state["downloads"])
    again = await Cdp.open(second, "agent")
    assert [info["targetId"] for info in await again.pages()] == [own["targetId"]]
    stranger = await Cdp.open(second, "stranger")
    assert own["targetId"] not in {info["targetId"] for info in await stranger.pages()}
    again.connection.close()
    await until(lambda: own["targetId"] not in all_pages(second), "an adopted session ends after its grace time too")
    await second.close(keep_tabs=True)
    await first.close(keep_tabs=True)

"""Four background tabs at once work at foreground speed, and the window's selected tab never changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import Truth

PROJECT = "background"
PAGE = """<!doctype html><title>rates</title><style>body{margin:0;height:6000px}</style><button id=b onclick="clicks++">Press</button><i id=i>0</i>
<script>let clicks=0,wheels=0;addEventListener('wheel',()=>wheels++,{passive:true});
function measure(){return new Promise(done=>{let frames=0,timers=0,on=true;const t=setInterval(()=>timers++,10);
const f=()=>{frames++;i.textContent=frames;if(on)requestAnimationFrame(f)};requestAnimationFrame(f);
setTimeout(()=>{on=false;clearInterval(t);done([frames,timers])},2000)})}</script>"""


class Selected:
    """Watches, over an own connection, that the window shows one and the same tab all the time.

    A shown tab that nobody emulates anything on is `visible`; it is a tab no session owns, as a person's would be.
    """

    def __init__(self, truth: Truth, target: str) -> None:
        self.truth, self.target = truth, target

    async def start(self) -> None:
        await self.truth.eval(self.target, "window.hides=0;addEventListener('visibilitychange',()=>{if(document.hidden)hides++});0")

    async def rates(self, *others: str) -> list[tuple[int, int]]:
        """Frames and timers in two seconds, of this tab and of others at the same time."""
        measured = await asyncio.gather(*(self.truth.eval(target, "measure()", 30) for target in (self.target, *others)))
        return [(frames, timers) for frames, timers in measured]

    async def check(self) -> None:
        assert await self.truth.eval(self.target, "[document.visibilityState,hides]") == ["visible", 0]


@pytest.fixture
async def window(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> Selected:
    """A person's tab, selected in the project's window."""
    truth = await truths(stack.ws(PROJECT))
    url = pages.add("rates.html", PAGE)
    made = await truth.call("Target.createTarget", {"url": f"{url}?person"})
    await truth.call("Target.activateTarget", {"targetId": made["targetId"]})
    # The empty document that was there before is complete and visible, too.
    shown = "[location.search,document.readyState,document.visibilityState].join()"
    assert await truth.wait(made["targetId"], shown, "?person,complete,visible") == "?person,complete,visible"
    watched = Selected(truth, made["targetId"])
    await watched.start()
    return watched


async def test_four_background_tabs_at_once(
    stack: Stack, pages: Pages, home: Path, window: Selected, clients: Callable[..., Any], picture: Callable[..., Any]
) -> None:
    agents = [await clients("mcp", "--project", PROJECT, env=stack.env(), cwd=home) for _ in range(4)]
    url = pages.add("rates.html", PAGE)
    for number, agent in enumerate(agents):
        await agent.ok("browser_navigate", url=f"{url}?agent{number}")
    rows = {info["url"].rpartition("?")[2]: info["targetId"] for info in await window.truth.targets()}
    targets = [rows[f"agent{number}"] for number in range(4)]
    check_rates(*await window.rates(*targets))

    async def work(agent: Any, target: str) -> None:
        for round_ in range(3):
            shot = await agent.ok("browser_screenshot", 20)
            assert (await picture(shot.images[0])).colours > 1
            await agent.ok("browser_click", 20, selector="#b")
            await agent.ok("browser_scroll", 20, direction="down", pixels=100)
            assert await window.truth.eval(target, "[clicks,scrollY]") == [round_ + 1, 100]
            await agent.ok("browser_scroll", 20, direction="top")
            full = await agent.ok("browser_screenshot", 30, full_page=True)
            assert full.images

    await asyncio.gather(*(work(agent, target) for agent, target in zip(agents, targets, strict=True)))
    for number, agent in enumerate(agents):
        await agent.ok("browser_tabs", action="new", url=f"{url}?agent{number}-second")
    await window.check()


async def test_a_raw_client_gets_the_same(stack: Stack, pages: Pages, window: Selected, truths: Callable[..., Any]) -> None:
    """Focus emulation and painting are kept for any client of a session, not for the engine only."""
    url = pages.add("rates.html", PAGE)
    foreign = await truths(stack.ws(PROJECT, "foreign"))
    tab = (await foreign.call("Target.createTarget", {"url": f"{url}?foreign"}))["targetId"]
    session = await foreign.attach(tab)
    assert await foreign.wait(tab, "document.readyState", "complete") == "complete"
    for number in range(4):
        await foreign.call("Page.captureScreenshot", {}, session, timeout=15)
        point = {"x": 200, "y": 200, "deltaX": 0, "deltaY": 120}
        await foreign.call("Input.dispatchMouseEvent", {"type": "mouseWheel", **point}, session, timeout=15)
        assert await foreign.wait(tab, "wheels", number + 1) == number + 1
    check_rates(*await window.rates(tab))
    await window.check()


def check_rates(foreground: tuple[int, int], *others: tuple[int, int]) -> None:
    """None is throttled: such a tab has 1 timer a second and no frame at all, while the shown one has what the busy machine gives."""
    assert foreground[0] > 0 and all(frames * 5 >= foreground[0] and timers * 3 >= foreground[1] for frames, timers in others), (foreground, others)


async def test_popups_of_a_background_tab(stack: Stack, pages: Pages, home: Path, window: Selected, clients: Callable[..., Any]) -> None:
    """Chromium selects a popup by itself; the person's tab must be shown again."""
    agent = await clients("mcp", "--project", PROJECT, env=stack.env(), cwd=home)
    await agent.ok("browser_navigate", url=f"{pages.base}/popups.html?background")
    for way in ("#a", "#b", "#d"):
        answer = await agent.ok("browser_click", selector=way)
        assert "/who" in answer.text
    assert await window.truth.wait(window.target, "document.visibilityState", "visible") == "visible"

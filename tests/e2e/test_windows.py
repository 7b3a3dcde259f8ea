"""Whose window is in front of a shared X display: the one that was raised, whatever agents of other projects do meanwhile."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from telebrowser.supervisor.x11 import XClient, connect
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack

POPUP = "window.open('/popup.html','w'+Math.random(),'width=500,height=400')"
PAGE = f"""<!doctype html><title>other</title><input id=field><button onclick="document.title='clicked'">Click</button>
<button onclick="{POPUP}">Popup</button><button onclick="setTimeout(()=>{POPUP},1500)">Late</button>"""
STOLEN_SECONDS = 1.0


class Screen:
    """Two projects' agents; the display as the X server tells."""

    def __init__(self, stack: Stack, person: McpClient, other: McpClient, client: XClient) -> None:
        self.stack, self.person, self.other, self.client = stack, person, other, client

    async def front(self) -> str:
        """The title of the window that has the keyboard and is on top."""
        active, windows = await self.client.active(), await self.client.windows()
        return await self.client.title(active) or "" if windows[-1:] == [active] else ""

    async def settles(self, title: str) -> None:
        async with asyncio.timeout(10):
            while await self.front() != title:
                await self.client.wait_for_any_change()

    async def keeps(self, title: str, what: str) -> None:
        """It is there again at once, and stays."""
        await self.settles(title)
        await asyncio.sleep(STOLEN_SECONDS)
        assert await self.front() == title, what

    async def windows(self) -> int:
        return len(await self.client.windows())

    async def does(self, button: str) -> None:
        ref = (await self.other.ok("browser_snapshot")).ref(button)
        assert ref is not None
        await self.other.ok("browser_click", ref=ref)


@pytest.fixture
async def screen(new_stack: Callable[..., Stack], pages: Pages, home: Path, clients: Callable[..., Any]) -> AsyncIterator[Screen]:
    stack = new_stack()
    await asyncio.to_thread(stack.start)
    pages.add("other.html", PAGE)
    pages.add("popup.html", "<!doctype html><title>popup</title>")
    person, other = [await clients("mcp", "--project", project, env=stack.env(), cwd=home) for project in ("person", "other")]
    await person.ok("browser_navigate", url=f"{pages.base}/other.html")
    await other.ok("browser_navigate", url=f"{pages.base}/other.html")
    found = re.search(r"display (:\d+)", stack.output("supervisor"))
    assert found
    cookie = (stack.data / "run" / "xauthority").read_bytes()[-16:]
    async with connect(found[1], cookie) as client:
        await client.watch()
        made = Screen(stack, person, other, client)
        assert (await asyncio.to_thread(stack.launcher, "focus", "--project", "person")).returncode == 0
        await made.settles("[person]")
        yield made


async def test_nobody_takes_the_screen_but_for_a_moment(screen: Screen, clients: Callable[..., Any], home: Path, pages: Pages) -> None:
    # A click in a page, a window that opens, one that opens by itself later, a browser that starts.
    for button, more in (("Click", 0), ("Popup", 1), ("Late", 1)):
        before = await screen.windows()
        await screen.does(button)
        async with asyncio.timeout(20):
            while await screen.windows() < before + more:
                await screen.client.wait_for_any_change()
        await screen.keeps("[person]", button)
    third = await clients("mcp", "--project", "third", env=screen.stack.env(), cwd=home)
    await third.ok("browser_navigate", url=f"{pages.base}/popup.html")
    await screen.keeps("[person]", "a start")
    # What is raised next has it, with the windows that it opens.
    assert (await asyncio.to_thread(screen.stack.launcher, "focus", "--project", "other")).returncode == 0
    await screen.settles("[other]")
    await screen.does("Popup")
    async with asyncio.timeout(10):
        while not (await screen.front()).startswith(("popup", "Untitled")):
            await screen.client.wait_for_any_change()


@pytest.mark.parametrize(("bar", "extents"), [("yes", True), ("no", False)])
async def test_a_bar_names_the_project(new_stack: Callable[..., Stack], pages: Pages, home: Path, clients: Callable[..., Any], bar: str, extents: bool) -> None:
    stack = new_stack(TELEBROWSER_PROJECT_BAR=bar)
    await asyncio.to_thread(stack.start)
    agent = await clients("mcp", "--project", "person", env=stack.env(), cwd=home)
    await agent.ok("browser_navigate", url=pages.add("popup.html", "<!doctype html><title>popup</title>"))
    found = re.search(r"display (:\d+)", stack.output("supervisor"))
    assert found
    async with connect(found[1], (stack.data / "run" / "xauthority").read_bytes()[-16:]) as client:
        window = await client.find("[person]")
        assert window is not None
        # Left, right, top, bottom: what the window manager draws around it. Its bar shows the window's title.
        frame = await client.numbers(window, "_NET_FRAME_EXTENTS")
        assert (frame[2] > 10) is extents, frame
        state = await client.numbers(window, "_NET_WM_STATE")
        assert {await client.atom("_NET_WM_STATE_MAXIMIZED_VERT"), await client.atom("_NET_WM_STATE_MAXIMIZED_HORZ")} <= set(state)

"""Cookies through servers of others: a project's are shared by its sessions, and those of another project are nowhere to be seen."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator

import pytest

from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import Truth

from .scene import Scene
from .servers import AgentBrowser, ChromeDevtools, Peer, PlaywrightMcp, running


class Cookies:
    """A server's own way with cookies, in the tab where it is."""

    def __init__(self, peer: Peer, url: str) -> None:
        self.peer, self.url = peer, url

    async def open(self) -> None:
        """Go to the page."""
        raise NotImplementedError

    async def read(self) -> str:
        """All cookies that it can see, as text."""
        raise NotImplementedError

    async def write(self, name: str, value: str) -> None:
        """Set a cookie that lasts."""
        raise NotImplementedError


class OfChromeDevtools(Cookies):
    async def open(self) -> None:
        await self.peer("navigate_page", type="url", url=self.url, pageId=1)

    async def read(self) -> str:
        return (await self.peer("evaluate_script", function="() => document.cookie", pageId=1)).text

    async def write(self, name: str, value: str) -> None:
        await self.peer("evaluate_script", function=f"() => {{ document.cookie = '{name}={value}; max-age=9999' }}", pageId=1)


class OfPlaywright(Cookies):
    async def open(self) -> None:
        await self.peer("browser_navigate", url=self.url)

    async def read(self) -> str:
        return (await self.peer("browser_cookie_list")).text + (await self.peer("browser_evaluate", function="() => document.cookie")).text

    async def write(self, name: str, value: str) -> None:
        await self.peer("browser_cookie_set", name=name, value=value, domain="127.0.0.1", path="/")
        assert value in (await self.peer("browser_cookie_get", name=name)).text


class OfAgentBrowser(Cookies):
    async def open(self) -> None:
        await self.peer("agent_browser_open", url=self.url)

    async def read(self) -> str:
        return (await self.peer("agent_browser_cookies_get")).text + (await self.peer("agent_browser_eval", script="document.cookie")).text

    async def write(self, name: str, value: str) -> None:
        await self.peer("agent_browser_cookies_set", name=name, value=value, url=self.url)


class PlaywrightWithStorage(PlaywrightMcp):
    """@playwright/mcp with the tools that it shows only when asked to."""

    def argv(self) -> list[str]:
        return [*super().argv(), "--caps", "storage"]


@contextlib.asynccontextmanager
async def other_project(stack: Stack, url: str, cookie: str) -> AsyncIterator[Truth]:
    """A tab of another project on the same address, with a cookie of its own."""
    project = "k" + uuid.uuid4().hex[:8]
    truth = await Truth.connect(stack.ws(project, "other"))
    try:
        (tab,) = await truth.targets()
        session = await truth.attach(tab["targetId"])
        await truth.call("Page.navigate", {"url": url}, session)
        assert await truth.wait(tab["targetId"], "document.readyState", "complete") == "complete"
        await truth.eval(tab["targetId"], f"document.cookie = '{cookie}; max-age=9999'")
        yield truth
    finally:
        await truth.close()
        stack.http("POST", "stop", project, b"")


async def cookies_of(scene: Scene) -> str:
    """What the other session of the client's project sees."""
    return str(await scene.other.truth.eval(scene.other.target, "document.cookie"))


@pytest.mark.parametrize(("kind", "way"), [(ChromeDevtools, OfChromeDevtools), (PlaywrightWithStorage, OfPlaywright), (AgentBrowser, OfAgentBrowser)])
async def test_cookies(kind: type[Peer], way: type[Cookies], stack: Stack, pages: Pages) -> None:
    shared, foreign, own = (f"{name}-{uuid.uuid4().hex[:12]}" for name in ("shared", "foreign", "own"))
    async with (
        running(kind, stack, pages, selected=kind is not AgentBrowser) as (peer, scene),
        other_project(stack, scene.person.url, f"theirs={foreign}") as far,
    ):
        cookies = way(peer, f"{pages.base}/start.html?own")
        await scene.other.truth.eval(scene.other.target, f"document.cookie = 'login={shared}; max-age=9999'")
        await cookies.open()
        seen = await cookies.read()
        assert shared in seen and foreign not in seen and "theirs" not in seen, seen
        await cookies.write("crumb", own)
        assert own in await cookies_of(scene), "the other session has it too"
        (tab,) = await far.targets()
        theirs = await far.eval(tab["targetId"], "document.cookie")
        assert foreign in theirs and own not in theirs and shared not in theirs, theirs
        await cookies.write("theirs", own)
        assert await far.eval(tab["targetId"], "document.cookie") == theirs, "a cookie of the same name is another one"
        assert foreign.encode() not in scene.recorder.record

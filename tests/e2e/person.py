"""A tab of a person's own browser."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from pathlib import Path
from typing import Any, Protocol

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.truth import CdpError, Truth

SECONDS = 20.0
PICTURES = os.environ.get("TELEBROWSER_TEST_PICTURES")


class Person:
    """A tab of the person's own browser."""

    def __init__(self, truth: Truth, target: str) -> None:
        self.truth, self.target = truth, target

    async def goto(self, url: str) -> None:
        session = await self.truth.attach(self.target)
        await self.truth.call("Page.navigate", {"url": url}, session)
        await self.shows("document.readyState", "complete")

    async def eval(self, code: str) -> Any:
        return await self.truth.eval(self.target, code)

    async def shows(self, code: str, value: Any) -> None:
        """Wait until the page tells ``value``; pages that are being replaced tell nothing yet."""
        end = asyncio.get_running_loop().time() + SECONDS
        found: Any = None
        while found != value:
            assert asyncio.get_running_loop().time() < end, f"{code} is {found!r}, not {value!r}"
            try:
                found = await self.truth.eval(self.target, code)
            except CdpError as error:
                found = error
            await asyncio.sleep(0.05)

    async def press(self, selector: str) -> None:
        await self.eval(f"document.querySelector({selector!r}).click()")

    async def heading(self, text: str) -> None:
        await self.shows("document.querySelector('h1')?.textContent", text)

    async def picture(self, name: str, **size: Any) -> None:
        """Save what the person sees, when the environment asks for pictures."""
        if not PICTURES:
            return
        session = await self.truth.attach(self.target)
        await self.truth.call("Emulation.setDeviceMetricsOverride", {"width": 900, "height": 700, "deviceScaleFactor": 1, "mobile": False, **size}, session)
        shot = await self.truth.call("Page.captureScreenshot", {"format": "png"}, session)
        await asyncio.to_thread((Path(PICTURES) / f"{name}.png").write_bytes, base64.b64decode(shot["data"]))


class Running(Protocol):
    """A stack on this host or in containers."""

    def browser_pid(self, project: str) -> int:
        """The main process of a project's browser, as this host numbers it."""

    def status(self, project: str) -> dict[str, Any]:
        """The status document of a project."""


async def gives_back(person: Person, stack: Running, project: str, agent: McpClient, call: asyncio.Task[Any], sites: str) -> None:
    """*Done* on a page that says ``signed in``; the browser is killed at once, the agent's call answers, and the login is there in the next one."""
    await person.eval("document.querySelector('#note').value = 'signed in'")
    await person.press("button[formaction$='/done']")
    await person.heading("Done")
    pid = stack.status(project)["pid"]
    os.kill(stack.browser_pid(project), signal.SIGKILL)
    answer = await call
    assert not answer.error and answer.data["state"] == "done" and answer.data["page"]["title"] == "signed in", answer
    await asyncio.to_thread(
        proc.until, lambda: stack.status(project)["state"] == "up" and stack.status(project)["pid"] != pid, "the browser is started anew", 40
    )
    await agent.ok("browser_navigate", url=f"{sites}/who")
    assert "login=yes" in (await agent.ok("browser_get_text")).text

"""A handoff that a test has asked for, with the agent's page in it and a person who opens it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.e2e.person import SECONDS, Person
from tests.support.stack import Stack
from tests.support.truth import Truth

REASON = "Sign in at the shop"


class Handed:
    """An open handoff: its document with a link, and the agent's page as it is."""

    def __init__(self, own: Stack, project: str, document: dict[str, Any], truth: Truth, session: str) -> None:
        self.own, self.project, self.document, self.truth, self.session = own, project, document, truth, session
        self.id, self.target, self.link = str(document["id"]), str(document["target"]), str(document["link"])

    async def show(self, url: str) -> None:
        """Load a page in the agent's tab."""
        await self.truth.call("Page.navigate", {"url": url}, self.session)
        await self.page(f"location.href === {url!r} && document.readyState", "complete")

    async def eval(self, code: str) -> Any:
        """The value of an expression in the agent's page. The session stays: one that detaches ends what others have switched on."""
        answer = await self.truth.call("Runtime.evaluate", {"expression": code, "returnByValue": True, "awaitPromise": True}, self.session)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def page(self, code: str, value: Any) -> None:
        """What the agent's page shows, or comes to show."""
        end = asyncio.get_running_loop().time() + SECONDS
        while (found := await self.eval(code)) != value:
            assert asyncio.get_running_loop().time() < end, f"{code} is {found!r}, not {value!r}"
            await asyncio.sleep(0.05)

    async def press(self, person: Person, selector: str) -> None:
        """Let the person press something of the page by a click into the picture."""
        x, y = await self.eval(f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector({selector!r}).getBoundingClientRect())")
        at = await person.eval(
            "(()=>{const f=document.querySelector('iframe'),a=f.getBoundingClientRect(),w=f.contentWindow,c=w.document.getElementById('picture')"
            f".getBoundingClientRect(),s=c.width/w.shownWidth();return [a.x+f.clientLeft+c.x+{x}*s,a.y+f.clientTop+c.y+{y}*s]}})()"
        )
        session = await person.truth.attach(person.target)
        for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
            where = {"type": kind, "x": at[0], "y": at[1], "button": "left", "buttons": buttons, "clickCount": 1}
            await person.truth.call("Input.dispatchMouseEvent", where, session)
        await person.truth.detach(session)

    async def enter(self, person: Person, link: str | None = None) -> None:
        """Open the link and go on."""
        await person.goto(link or self.link)
        await person.press("button")
        await person.heading(self.document["reason"])

    async def another_link(self) -> str:
        """A link of its own for somebody else."""
        return str((await asyncio.to_thread(self.own.http, "POST", "open", self.project, b"{}")).json["url"])

    async def end(self, state: str = "cancelled") -> None:
        """End it as an agent or a script would."""
        await asyncio.to_thread(self.own.http, "POST", f"handoffs/{self.id}", self.project, json.dumps({"state": state}).encode())


@contextlib.asynccontextmanager
async def hand(own: Stack, project: str, truths: Callable[..., Any], reason: str = REASON, session: str = "agent", **more: Any) -> AsyncIterator[Handed]:
    """Ask a person; called off at the end, where it is still open then."""
    body = json.dumps({"reason": reason, "agent": "tests", **more}).encode()
    made = await asyncio.to_thread(own.http, "POST", f"s/{session}/handoff", project, body)
    assert made.status == 201, made
    truth = await truths(own.ws(project))
    handed = Handed(own, project, made.json, truth, await truth.attach(made.json["target"]))
    try:
        yield handed
    finally:
        await handed.end()


async def open_view(person: Person, way: str = "#take") -> None:
    """Press the way to the browser and wait for the first picture."""
    await person.press(way)
    await person.shows("document.querySelector('iframe')?.contentWindow.shownWidth?.() > 1", True)
    await person.truth.call("Page.bringToFront", {}, await person.truth.attach(person.target))


def run_out(own: Stack, ident: str) -> None:
    """Let the time of a handoff pass while the gateway is away."""
    own.signal("gateway", signal.SIGTERM)
    own.wait("gateway")
    record = own.data / "handoffs" / f"{ident}.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"deadline": time.time() - 1}))
    own.start_gateway()

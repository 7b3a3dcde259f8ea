"""Whether a page shows what a handoff waits for, looked up without touching the page.

The page is read in an isolated world of each of its frames: no domain is switched on, nothing takes the focus, nothing is
logged in its console, and none of its own scripts can notice. Chromium's answers are all that is needed, so there is no
engine involved and the same holds for clients of any kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

from .. import wire
from ..browser import BrowserLink
from .machine import Condition

WORLD = "telebrowser handoff"
LOOK_SECONDS = 0.5
CALM = 2
"""Looks in a row that must find the condition: what only flashes by on the way to another page does not count."""
ANSWER_SECONDS = 5.0

# Follows open shadow roots; white space is normalised, and what is not shown does not count.
SCRIPT = """((selector, text) => {
  const squash = (value) => value.replace(/[\\s\\u200b]+/g, " ").trim();
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({ visibilityProperty: true }) && box.width > 0 && box.height > 0;
  };
  const roots = [document];
  for (let at = 0; at < roots.length && roots.length < 500; at++)
    for (const element of roots[at].querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
  if (selector !== null) {
    for (const root of roots) for (const element of root.querySelectorAll(selector))
      if (shown(element) && (text === null || squash(element.innerText || element.textContent || "").includes(text))) return true;
    return false;
  }
  if (document.body && squash(document.body.innerText).includes(text)) return true;
  return roots.slice(1).some((root) => [...root.children].some((child) => shown(child) && squash(child.innerText || "").includes(text)));
})"""


def url_matches(pattern: str, url: str) -> bool:
    """Whether the address fits a pattern in which ``*`` stands for anything, from its first to its last character."""
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), url, re.S) is not None


class BadSelector(Exception):
    """The page does not take the selector."""


class Watcher:
    """Looks at one page of a link. The sessions it needs are opened at the first look and given back by `close`."""

    def __init__(self, link: BrowserLink, target: str, condition: Condition) -> None:
        self._link = link
        self._target = target
        self._condition = condition
        self._session = ""
        self._frames: dict[str, str] = {}
        """Session → the frame that it was opened for."""

    async def wait(self) -> None:
        """Return when the condition holds. A page that does not answer, or is gone, only means that it does not hold yet.

        A condition without selector and text never holds: an address alone says nothing about what a person has done.
        """
        if not self._condition.decisive:
            await asyncio.Event().wait()
        seen = 0
        while True:
            try:
                seen = seen + 1 if await self.holds() else 0
            except BadSelector:
                seen = 0
            if seen >= CALM:
                return
            # What a page shows changes without an event that could be had without switching domains on.
            await asyncio.sleep(LOOK_SECONDS)

    async def holds(self) -> bool:
        """Whether it holds just now. Raises `BadSelector`."""
        info = self._link.targets.info(self._target)
        if info is None or (self._condition.url is not None and not url_matches(self._condition.url, str(info.get("url", "")))):
            return False
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._look()
        except (wire.ProtocolError, TimeoutError):
            # A page in motion, hung or crashed: the next look begins anew.
            self.close()
            return False

    async def _look(self) -> bool:
        if not self._session:
            await self._attach()
        text = None if self._condition.text is None else " ".join(self._condition.text.split())
        expression = f"{SCRIPT}({json.dumps(self._condition.selector)}, {json.dumps(text)})"
        for session in [self._session, *self._frames]:
            for frame in await self._local_frames(session):
                if await self._evaluate(session, frame, expression):
                    return True
        return False

    async def _attach(self) -> None:
        self._session = str((await self._link.call("Target.attachToTarget", {"targetId": self._target, "flatten": True}))["sessionId"])
        self._link.route_events(self._session, self._event)
        # Frames of other sites live in processes of their own and have sessions of their own.
        wanted = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": [{"type": "iframe"}]}
        await self._link.call("Target.setAutoAttach", wanted, self._session)

    def _event(self, raw: bytes, session: str) -> None:
        name = wire.event_name(raw)
        if name == "Target.attachedToTarget":
            params = wire.decode(raw)["params"]
            child = str(params["sessionId"])
            self._frames[child] = params["targetInfo"]["targetId"]
            self._link.route_events(child, self._event)
            wanted = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": [{"type": "iframe"}]}
            self._link.post("Target.setAutoAttach", wanted, child)
        elif name == "Target.detachedFromTarget":
            self._forget(str(wire.decode(raw)["params"]["sessionId"]))

    def _forget(self, session: str) -> None:
        self._frames.pop(session, None)
        self._link.unroute(session)
        if session == self._session:
            self._session = ""

    async def _local_frames(self, session: str) -> list[str]:
        try:
            tree = (await self._link.call("Page.getFrameTree", {}, session))["frameTree"]
        except wire.ProtocolError:
            if session == self._session:
                raise
            self._forget(session)
            return []
        return list(_ids(tree))

    async def _evaluate(self, session: str, frame: str, expression: str) -> bool:
        try:
            context = await self._link.call("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD}, session)
            params = {"expression": expression, "contextId": context["executionContextId"], "returnByValue": True, "silent": True}
            answer = await self._link.call("Runtime.evaluate", params, session)
        except wire.ProtocolError:
            # The frame went, or moved to another process, between the two calls.
            return False
        if "exceptionDetails" in answer and "selector" in str(answer["exceptionDetails"].get("exception", {}).get("description", "")):
            raise BadSelector
        return bool(answer.get("result", {}).get("value"))

    def close(self) -> None:
        """Give back the sessions."""
        for session in list(self._frames):
            self._forget(session)
        if self._session:
            session, self._session = self._session, ""
            self._link.unroute(session)
            if self._link.down is None:
                with contextlib.suppress(wire.ProtocolError):
                    self._link.post("Target.detachFromTarget", {"sessionId": session})


def _ids(tree: dict[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _ids(child)

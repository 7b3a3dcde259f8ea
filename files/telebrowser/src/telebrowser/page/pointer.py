"""Clicking: where, whether it can be reached, the press itself, and what it was seen to do."""

from __future__ import annotations

import asyncio
from typing import Any

from ..cdp.connection import CdpError, SessionGone
from ..errors import TelebrowserError
from .deadline import Deadline
from .document import Document, DocumentGone
from .effects import Watch, conclude, describe
from .engine import Engine
from .tab import Tab
from .target import Element, find, raise_for

PATIENCE_MS = 500
MOVE_PATIENCE_MS = 2500
ATTEMPTS = 3


async def click(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Click the target with real mouse events; the answer tells what the click caused.

    Raises ``ELEMENT_NOT_FOUND``, ``ELEMENT_HIDDEN``, ``ELEMENT_DISABLED``, ``ELEMENT_NOT_CLICKABLE``, ``REF_STALE`` or ``TIMEOUT``.
    """
    async with tab.lock.hold():
        element = await find(engine, tab, args, deadline)
        with tab.watch() as watch:
            try:
                return await click_element(engine, tab, element, args, watch, deadline)
            except (DocumentGone, SessionGone):
                if tab.closed:
                    return {"clicked": True, **element.given, "closed": "the tab closed"}
                if not (watch.navigating or watch.committed):
                    raise TelebrowserError("REF_STALE", "The document was replaced while the target was prepared; nothing was clicked") from None
                await conclude(tab, watch, deadline)
                raise TelebrowserError("REF_STALE", f"The page went to {tab.url} before the click; nothing was clicked") from None


async def click_element(engine: Engine, tab: Tab, element: Element, args: dict[str, Any], watch: Watch, deadline: Deadline) -> dict[str, Any]:
    """Click an element within a step that holds the tab's lock and watches it; see `click`."""
    count = args.get("count", 1)
    for attempt in range(ATTEMPTS):
        ready = await _prepare(element, {"guard": True, "patience": PATIENCE_MS if attempt else MOVE_PATIENCE_MS, "hover": False}, deadline)
        if "error" in ready and args.get("force") and ready["error"] in ("covered", "moving"):
            return await _force(engine, tab, element, watch, deadline)
        if "error" in ready:
            raise_for(ready, element, engine)
        point = await to_page(engine, tab, element.document, ready["x"], ready["y"])
        if "error" in point:
            await element.document.call("disarm", timeout=2.0)
            if args.get("force") and point["error"] == "covered":
                return await _force(engine, tab, element, watch, deadline)
            raise_for(point, element, engine)
        closed = await press(tab, point["x"], point["y"], args.get("button", "left"), count, deadline)
        answer = {"clicked": True, **element.given, "x": round(point["x"], 1), "y": round(point["y"], 1)}
        if closed:
            return {**answer, "closed": "the tab closed"}
        try:
            seen = await element.document.call("finishClick", timeout=deadline.left())
        except DocumentGone:
            seen = {"lost": True}
        if seen.get("missed"):
            continue
        watch.saves = seen.get("saves")
        await conclude(tab, watch, deadline)
        effects = describe(tab, watch)
        reached = seen.get("lost") or any(kind in ("click", "mousedown", "auxclick", "contextmenu") for kind in seen.get("seen", ()))
        if reached or effects or seen.get("mutated"):
            return {**answer, **effects}
        # Chromium drops input while a page has not painted yet; nothing was clicked.
        await element.document.call("painted", timeout=deadline.left(1.0))
    if seen.get("missed"):
        covered = f"{element.shown} was covered by {seen['missed']} at the moment of each press; nothing was clicked"
        raise TelebrowserError("ELEMENT_NOT_CLICKABLE", covered, "Wait for the page to settle, or pass force: true.")
    unseen = f"The press at {answer['x']}, {answer['y']} was not seen by {element.shown}"
    raise TelebrowserError("ELEMENT_NOT_CLICKABLE", unseen, "Take a snapshot: something may lie over it.")


async def _prepare(element: Element, options: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Retry within the page until the target can be hit; a page-side wait never outlives the call."""
    left = deadline.left()
    options["patience"] = min(options["patience"], int(left * 500))
    first = await element.document.call("prepareClick", element.number, {**options, "patience": min(options["patience"], PATIENCE_MS)}, timeout=left)
    if first.get("error") == "moving":
        first = await element.document.call("prepareClick", element.number, options, timeout=deadline.left())
    found: dict[str, Any] = first
    return found


async def to_page(engine: Engine, tab: Tab, document: Document, x: float, y: float) -> dict[str, Any]:
    """A point of a frame's viewport in coordinates of the page, checked at each frame on the way up."""
    while True:
        owner = await tab.frames.owner(document, engine.refs.next)
        if owner is None:
            return {"x": x, "y": y}
        document, number, next_ref = owner
        engine.refs.took(document, next_ref)
        point = await document.call("framePoint", number, x, y, timeout=5.0)
        if "error" in point:
            failure: dict[str, Any] = point
            return failure
        x, y = point["x"], point["y"]


async def press(tab: Tab, x: float, y: float, button: str, count: int, deadline: Deadline) -> bool:
    """Move, press and release; whether the tab closed meanwhile."""
    session = tab.session
    buttons = {"left": 1, "right": 2, "middle": 4}[button]
    steps = [session.start("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)]
    for number in range(1, count + 1):
        steps.append(session.start("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button=button, buttons=buttons, clickCount=number))
        steps.append(session.start("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button=button, buttons=0, clickCount=number))
    async with asyncio.timeout(deadline.left()):
        results = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, SessionGone):
            return True
        if isinstance(result, CdpError):
            raise TelebrowserError("ELEMENT_NOT_CLICKABLE", f"The browser refused the press: {result.message}")
        if isinstance(result, BaseException):
            raise result
    return False


async def _force(engine: Engine, tab: Tab, element: Element, watch: Watch, deadline: Deadline) -> dict[str, Any]:
    """Dispatch the click to the element itself, whatever lies over it."""
    done = await element.document.call("forceClick", element.number, timeout=deadline.left())
    if "error" in done:
        raise_for(done, element, engine)
    watch.saves = done.get("saves")
    await conclude(tab, watch, deadline)
    return {"clicked": True, **element.given, "x": round(done["x"], 1), "y": round(done["y"], 1), "forced": True, **describe(tab, watch)}


def _named(element: Element) -> str:
    return element.given.get("ref") or element.given.get("selector", "")

"""Reading a page: text, console, waiting for something to appear; and scrolling it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from ..errors import TelebrowserError
from .deadline import Deadline
from .document import DocumentGone, ScriptFailed
from .engine import Engine
from .tab import Tab
from .target import find, raise_for

POLL = 0.1
SCROLL_DIRECTIONS = ("up", "down", "left", "right", "top", "bottom")


async def get_text(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """The visible text of the page or of one element; a form field's value. Passwords are never given."""
    await tab.navigation_guard(deadline.left())
    limit = engine.settings.max_text_length
    if args.get("ref") is None and args.get("selector") is None:
        document = await tab.main_document(deadline.left())
        found = await document.call("readText", None, timeout=deadline.left())
    else:
        element = await find(engine, tab, args, deadline)
        found = await element.document.call("readText", element.number, timeout=deadline.left())
        if "error" in found:
            raise_for(found, element, engine)
    text = found["text"]
    return {"text": text[:limit], "truncated": len(text) > limit, "length": len(text)}


def get_console(tab: Tab, args: dict[str, Any], limit: int) -> dict[str, Any]:
    """The console messages since the last navigation, oldest first; the newest when they exceed ``limit`` characters."""
    messages = tab.console.read(args.get("level", "all"))
    kept: list[dict[str, Any]] = []
    used = 0
    for message in reversed(messages):
        used += len(message["text"])
        if used > limit and kept:
            break
        kept.append(message)
    kept.reverse()
    dropped = tab.console.dropped
    cleared = bool(args.get("clear_after", False))
    if cleared:
        tab.console.clear()
    return {
        "messages": kept,
        "count": len(kept),
        "cleared": cleared,
        "truncated": len(kept) < len(messages) or dropped > 0,
        "droppedCount": dropped + len(messages) - len(kept),
    }


async def wait_for(tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Wait until a selector is visible or a text is there, in any frame. Raises ``INVALID_ARGS`` or ``TIMEOUT``."""
    selector, text = args.get("selector"), args.get("text")
    if selector is None and text is None:
        raise TelebrowserError("INVALID_ARGS", "Give selector, text or both")
    wanted = None if text is None else " ".join(text.split())
    began = time.monotonic()
    while True:
        if await _seen(tab, selector, wanted, deadline):
            return {"found": True, "selector": selector, "text": text, "elapsed_ms": round((time.monotonic() - began) * 1000)}
        if deadline.passed(POLL):
            what = " with ".join(([f"an element matching {selector!r}"] if selector else []) + ([f"the text {text!r}"] if text else []))
            raise TelebrowserError("TIMEOUT", f"{what[0].upper()}{what[1:]} did not appear within {round((time.monotonic() - began) * 1000)} ms")
        await asyncio.sleep(POLL)


async def _seen(tab: Tab, selector: str | None, wanted: str | None, deadline: Deadline) -> bool:
    for document in tab.frames.all():
        try:
            found = await document.call("check", selector, wanted, timeout=deadline.left())
        except (DocumentGone, TimeoutError):
            continue
        except ScriptFailed as error:
            if "valid selector" in str(error) or "SyntaxError" in str(error):
                raise TelebrowserError("INVALID_ARGS", f"SyntaxError: {selector!r} is not a valid CSS selector") from None
            continue
        if found["ok"]:
            return True
    return False


async def scroll(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Scroll by direction, to an element, or to a position; exactly one of the three."""
    by_element = args.get("selector") is not None or args.get("ref") is not None
    direction, x, y, pixels = args.get("direction"), args.get("x"), args.get("y"), args.get("pixels")
    by_position = x is not None or y is not None
    if by_position and (x is None or y is None):
        raise TelebrowserError("INVALID_ARGS", "Give both x and y")
    if pixels is not None and direction is None and not by_element and not by_position:
        direction = "down" if pixels >= 0 else "up"
        pixels = abs(pixels)
    if [by_element, by_position, direction is not None].count(True) != 1:
        raise TelebrowserError("INVALID_ARGS", "Give exactly one of direction, selector or ref, and x with y")
    if pixels is not None and direction not in ("up", "down", "left", "right"):
        raise TelebrowserError("INVALID_ARGS", "pixels goes with the directions up, down, left and right")
    await tab.navigation_guard(deadline.left())
    left = deadline.left()
    if by_element:
        element = await find(engine, tab, args, deadline)
        found = await element.document.call("scroll", {"number": element.number, "x": None, "y": None, "direction": None, "pixels": None}, timeout=left)
        if "error" in found:
            raise_for(found, element, engine)
        return {**found, "mode": "element", **element.given}
    document = await tab.main_document(left)
    found = await document.call("scroll", {"number": None, "x": x, "y": y, "direction": direction, "pixels": pixels}, timeout=left)
    return {**found, "mode": "position" if by_position else "direction", **({"direction": direction} if direction else {})}

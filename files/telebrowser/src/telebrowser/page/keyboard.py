"""Typing into a field, and reading back what it then holds."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Any

from ..cdp.connection import Session
from ..errors import TelebrowserError
from . import keys
from .deadline import Deadline
from .document import DocumentGone
from .effects import Watch, conclude, describe
from .engine import Engine
from .pointer import press, to_page
from .tab import Tab
from .target import Element, find, raise_for

QUICK_LENGTH = 100
KEYED_LENGTH = 1000
ZERO_WIDTH_JOINER = "\u200d"
JOINERS = frozenset({ZERO_WIDTH_JOINER, "\ufe0e", "\ufe0f"})


async def type_text(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Put text into the target as a person would and tell what the field holds afterwards.

    Raises ``ELEMENT_NOT_FOUND``, ``ELEMENT_NOT_TYPEABLE``, ``ELEMENT_DISABLED``, ``ELEMENT_HIDDEN``, ``REF_STALE`` or ``TIMEOUT``.
    """
    async with tab.lock.hold():
        element = await find(engine, tab, args, deadline)
        with tab.watch() as watch:
            try:
                answer = await _type(engine, tab, element, args, deadline)
            except DocumentGone:
                if not (watch.committed or watch.navigating):
                    raise TelebrowserError("REF_STALE", "The document was replaced while the text was typed") from None
                answer = {
                    "typed": False,
                    **element.given,
                    "length": _units(args["text"]),
                    "note": "the page was left while the text was typed; what the field held was not seen",
                }
            if args.get("submit") and answer["typed"]:
                await asyncio.gather(*keys.enter(tab.session))
                answer["submitted"] = True
            await _conclude(tab, watch, deadline, submitted=bool(args.get("submit")))
            return {**answer, **describe(tab, watch)}


async def _conclude(tab: Tab, watch: Watch, deadline: Deadline, *, submitted: bool) -> None:
    if submitted:
        await watch.until(lambda: watch.navigating or watch.committed or watch.within is not None or bool(watch.requests), deadline.left(0.15))
    elif watch.requests:
        watch.requests.clear()
    await conclude(tab, watch, deadline)


async def _type(engine: Engine, tab: Tab, element: Element, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    text: str = args["text"]
    clear = args.get("clear_first", True)
    document = element.document
    field = await document.call("prepareType", element.number, {"text": text, "clear": clear}, timeout=deadline.left())
    if "error" in field:
        raise_for(field, element, engine)
    if field.get("done"):
        return _told(element, text, field)
    if not field["focused"]:
        await _focus_by_click(engine, tab, element, field, clear, deadline)
    wanted = _normal(text, field)
    once_more = len(wanted) <= KEYED_LENGTH
    await _send(tab.session, wanted, field, clear, deadline, keyed=False)
    result = await document.call("finishType", wanted, clear, not once_more, timeout=deadline.left())
    if result.get("again"):
        # It may listen for keys alone, or want the focus of a real click.
        await _focus_by_click(engine, tab, element, field, clear, deadline)
        await _send(tab.session, result["again"], field, clear, deadline, keyed=True)
        result = await document.call("finishType", wanted, clear, True, timeout=deadline.left())
    if result.get("lost"):
        raise DocumentGone
    if not result["matches"] and not result["length"] and wanted and result["connected"]:
        refused = f"{element.shown} took none of the {len(text)} characters; it now holds ''"
        raise TelebrowserError("ELEMENT_NOT_TYPEABLE", refused, "Check with a snapshot that it is the field you mean.")
    return _told(element, text, result)


async def _focus_by_click(engine: Engine, tab: Tab, element: Element, field: dict[str, Any], clear: bool, deadline: Deadline) -> None:
    """A field that ignores focus() (a rich editor's shell) gets a real click."""
    point = await to_page(engine, tab, element.document, field["x"], field["y"])
    if "error" in point:
        raise_for(point, element, engine)
    await press(tab, point["x"], point["y"], "left", 1, deadline)
    again = await element.document.call("selectTyped", clear, timeout=deadline.left())
    if not again["focused"]:
        raise TelebrowserError("ELEMENT_NOT_TYPEABLE", f"{element.shown} does not take the focus; nothing was typed", "Target the field inside it.")


def _normal(text: str, field: dict[str, Any]) -> str:
    """The text with one kind of newline, and with none for a field of a single line."""
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    return normal.replace("\n", "") if field["single"] else normal


async def _send(session: Session, text: str, field: dict[str, Any], clear: bool, deadline: Deadline, *, keyed: bool) -> None:
    """Send the text; newlines as Enter.

    Short text goes character by character, as input alone but for the last one, whose key pages that listen for
    keys see; with ``keyed`` every character is a key. Long text goes in pieces. Keys cost twice the time of input.
    """
    steps: keys.Steps = []
    if not clear and field["end"]:
        steps += keys.end(session)
    if clear and (field["selected"] or not text) and (not text or field["kind"] == "editable"):
        steps += keys.backspace(session)
    for index, line in enumerate(text.split("\n")):
        if index:
            steps += keys.enter(session)
        if keyed:
            steps += [step for character in line for step in keys.press_character(session, character)]
        elif len(text) > QUICK_LENGTH:
            steps += [session.start("Input.insertText", text=line)] if line else []
        elif line:
            *characters, last = _characters(line)
            steps += [session.start("Input.insertText", text=character) for character in characters]
            steps += keys.press_character(session, last)
    if steps:
        async with asyncio.timeout(deadline.left()):
            await asyncio.gather(*steps)


def _characters(line: str) -> list[str]:
    """The line in pieces that must not be taken apart: a letter with its marks, an emoji with its modifiers."""
    found: list[str] = []
    for character in line:
        modifies = unicodedata.combining(character) or character in JOINERS or "\U0001f3fb" <= character <= "\U0001f3ff"
        joins = modifies or (found and found[-1][-1] == ZERO_WIDTH_JOINER)
        if found and joins:
            found[-1] += character
        else:
            found.append(character)
    return found


def _units(text: str) -> int:
    """The length as pages count it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _told(element: Element, text: str, result: dict[str, Any]) -> dict[str, Any]:
    """The answer: plain success only when the field was seen to hold the text."""
    answer: dict[str, Any] = {"typed": bool(result["matches"]), **element.given, "length": _units(text), "finalLength": result["length"]}
    if not result["matches"]:
        held = "something else (a password is not shown)" if result["value"] is None else f"'{result['value'][:200]}'"
        answer["note"] = f"the page changed the text: the field now holds {held}"
    return answer

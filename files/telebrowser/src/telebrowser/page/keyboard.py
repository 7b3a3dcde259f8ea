"""Typing into a field, and reading back what it then holds."""

from __future__ import annotations

import asyncio
from typing import Any

from ..cdp.connection import Session
from ..errors import TelebrowserError
from .deadline import Deadline
from .document import DocumentGone
from .effects import Watch, conclude, describe
from .engine import Engine
from .tab import Tab
from .target import Element, find, raise_for

KEYED_LENGTH = 100
CHUNK = 20_000
PUNCTUATION = {
    " ": ("Space", 32), "-": ("Minus", 189), "=": ("Equal", 187), "[": ("BracketLeft", 219), "]": ("BracketRight", 221), "\\": ("Backslash", 220),
    ";": ("Semicolon", 186), "'": ("Quote", 222), ",": ("Comma", 188), ".": ("Period", 190), "/": ("Slash", 191), "`": ("Backquote", 192),
}  # fmt: skip
SHIFTED = dict(zip('!@#$%^&*()_+{}|:"<>?~', "1234567890-=[]\\;',./`", strict=True))


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
                    "length": len(args["text"]),
                    "note": "the page was left while the text was typed; what the field held was not seen",
                }
            if args.get("submit") and answer["typed"]:
                await asyncio.gather(*_key(tab.session, "Enter", "Enter", 13, "\r"))
                answer["submitted"] = True
                await asyncio.sleep(0)
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
    session = tab.session
    if clear and (field["selected"] or not text) and (not text or field["kind"] == "editable"):
        await asyncio.gather(*_key(session, "Backspace", "Backspace", 8))
    await _send(session, text, single=field["single"], deadline=deadline)
    result = await document.call("finishType", _expected(text, field), clear, timeout=deadline.left())
    if result.get("lost"):
        raise DocumentGone
    if result["matches"] or not clear:
        return _told(element, text, result)
    if not result["length"] and text and result["connected"]:
        refused = f"{element.shown} took none of the {len(text)} characters; it now holds ''"
        raise TelebrowserError("ELEMENT_NOT_TYPEABLE", refused, "Check with a snapshot that it is the field you mean.")
    return _told(element, text, result)


async def _focus_by_click(engine: Engine, tab: Tab, element: Element, field: dict[str, Any], clear: bool, deadline: Deadline) -> None:
    """A field that ignores focus() (a rich editor's shell) gets a real click first."""
    from .pointer import _press, _to_page

    point = await _to_page(engine, tab, element.document, field["x"], field["y"])
    if "error" in point:
        raise_for(point, element, engine)
    await _press(tab, point["x"], point["y"], "left", 1, deadline)
    again = await element.document.call("selectTyped", clear, timeout=deadline.left())
    if not again["focused"]:
        raise TelebrowserError(
            "ELEMENT_NOT_TYPEABLE",
            f"{element.given.get('ref') or element.given.get('selector')} does not take the focus; nothing was typed",
            "Target the field inside it.",
        )


def _expected(text: str, field: dict[str, Any]) -> str:
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    return expected.replace("\n", "") if field["single"] else expected


async def _send(session: Session, text: str, *, single: bool, deadline: Deadline) -> None:
    """Short text key by key, so that pages which listen for keys see them; long text in pieces; newlines as Enter."""
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    if single:
        normal = normal.replace("\n", "")
    steps: list[asyncio.Future[dict[str, Any]]] = []
    lines = normal.split("\n")
    for index, line in enumerate(lines):
        if index:
            steps += _key(session, "Enter", "Enter", 13, "\r")
        if len(normal) <= KEYED_LENGTH:
            steps += _keyed(session, line)
        else:
            steps += [session.start("Input.insertText", text=line[at : at + CHUNK]) for at in range(0, len(line), CHUNK)]
    if steps:
        async with asyncio.timeout(deadline.left()):
            await asyncio.gather(*steps)


def _keyed(session: Session, line: str) -> list[asyncio.Future[dict[str, Any]]]:
    steps: list[asyncio.Future[dict[str, Any]]] = []
    run = ""
    for character in line:
        code = key_code(character)
        if code is None:
            run += character
            continue
        if run:
            steps.append(session.start("Input.insertText", text=run))
            run = ""
        steps += _key(session, character, code[0], code[1], character, shift=code[2])
    if run:
        steps.append(session.start("Input.insertText", text=run))
    return steps


def key_code(character: str) -> tuple[str, int, bool] | None:
    """The physical key of a US keyboard that makes the character: its code, its virtual key code, whether with shift."""
    if character.isascii() and character.isalpha():
        return f"Key{character.upper()}", ord(character.upper()), character.isupper()
    if character.isascii() and character.isdigit():
        return f"Digit{character}", ord(character), False
    if character in SHIFTED:
        base = key_code(SHIFTED[character])
        return (base[0], base[1], True) if base else None
    if character in PUNCTUATION:
        code, number = PUNCTUATION[character]
        return code, number, False
    return None


def _key(session: Session, key: str, code: str, number: int, text: str = "", *, shift: bool = False) -> list[asyncio.Future[dict[str, Any]]]:
    """Press and release one key."""
    common: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number, "modifiers": 8 if shift else 0}
    down: dict[str, Any] = {**common, "type": "keyDown" if text else "rawKeyDown"}
    if text:
        down |= {"text": text, "unmodifiedText": text}
    return [session.start("Input.dispatchKeyEvent", **down), session.start("Input.dispatchKeyEvent", **common, type="keyUp")]


def _told(element: Element, text: str, result: dict[str, Any]) -> dict[str, Any]:
    """The answer: plain success only when the field was seen to hold the text."""
    answer: dict[str, Any] = {"typed": bool(result["matches"]), **element.given, "length": len(text), "finalLength": result["length"]}
    if not result["matches"]:
        held = "something else (a password is not shown)" if result["value"] is None else f"'{result['value'][:200]}'"
        answer["note"] = f"the page changed the text: the field now holds {held}"
    return answer

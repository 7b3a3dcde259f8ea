"""What a person does in a picture of a page, as calls of the protocol. No input or output; nothing of it is ever logged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MAX_TEXT = 1 << 20
MAX_KEY = 32
BUTTONS = ("none", "left", "middle", "right", "back", "forward")
MOUSE = {"pressed": "mousePressed", "released": "mouseReleased", "moved": "mouseMoved"}
KEYS = {"down": "keyDown", "up": "keyUp"}


class BadInput(ValueError):
    """The message is none of those that a view sends."""


class Command(NamedTuple):
    """One call on the page's session."""

    method: str
    params: dict[str, Any]


def translate(message: Mapping[str, Any]) -> list[Command]:
    """The calls for one message. Raises `BadInput`.

    ``t`` says what it is: ``mouse``, ``wheel``, ``key``, ``text`` (also the end of a composition) or ``compose``. Points are in CSS
    pixels of the page, modifiers the protocol's bits (Alt 1, Ctrl 2, Meta 4, Shift 8).
    """
    kind = message.get("t")
    maker = MAKERS.get(kind) if isinstance(kind, str) else None
    if maker is None:
        raise BadInput("unknown kind")
    return maker(message)


def _mouse(message: Mapping[str, Any]) -> list[Command]:
    kind = MOUSE.get(str(message.get("k")))
    if kind is None or message.get("b") not in BUTTONS:
        raise BadInput("mouse")
    params = {
        "type": kind,
        "x": _number(message, "x"),
        "y": _number(message, "y"),
        "button": message["b"],
        "buttons": _bits(message, "buttons", 31),
        "clickCount": _bits(message, "n", 3),
        "modifiers": _bits(message, "m", 15),
    }
    return [Command("Input.dispatchMouseEvent", params)]


def _wheel(message: Mapping[str, Any]) -> list[Command]:
    params = {
        "type": "mouseWheel",
        "x": _number(message, "x"),
        "y": _number(message, "y"),
        "deltaX": _number(message, "dx"),
        "deltaY": _number(message, "dy"),
        "modifiers": _bits(message, "m", 15),
    }
    return [Command("Input.dispatchMouseEvent", params)]


def _key(message: Mapping[str, Any]) -> list[Command]:
    kind = KEYS.get(str(message.get("k")))
    key, code = _text(message, "key", MAX_KEY), _text(message, "code", MAX_KEY)
    if kind is None or not key:
        raise BadInput("key")
    modifiers = _bits(message, "m", 15)
    # Alt with Ctrl is AltGr, which makes characters.
    makes_text = not modifiers & 4 and modifiers & 3 in (0, 3)
    text = key if len(key) == 1 else "\r" if key == "Enter" else ""
    params: dict[str, Any] = {
        "type": kind,
        "key": key,
        "code": code,
        "windowsVirtualKeyCode": _bits(message, "v", 255),
        "location": _bits(message, "l", 3),
        "autoRepeat": message.get("r") is True,
        "modifiers": modifiers,
    }
    if kind == "keyDown" and text and makes_text:
        params["text"] = text
    elif kind == "keyDown":
        params["type"] = "rawKeyDown"
    return [Command("Input.dispatchKeyEvent", params)]


def _insert(message: Mapping[str, Any]) -> list[Command]:
    text = _text(message, "text", MAX_TEXT)
    return [Command("Input.insertText", {"text": text})] if text else []


def _compose(message: Mapping[str, Any]) -> list[Command]:
    text = _text(message, "text", MAX_TEXT)
    return [Command("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})]


MAKERS: dict[str, Callable[[Mapping[str, Any]], list[Command]]] = {"mouse": _mouse, "wheel": _wheel, "key": _key, "text": _insert, "compose": _compose}


def _number(message: Mapping[str, Any], name: str) -> float:
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 100_000:
        raise BadInput(name)
    return value


def _bits(message: Mapping[str, Any], name: str, most: int) -> int:
    value = message.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise BadInput(name)
    return value


def _text(message: Mapping[str, Any], name: str, most: int) -> str:
    value = message.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise BadInput(name)
    # A lone surrogate cannot be encoded.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

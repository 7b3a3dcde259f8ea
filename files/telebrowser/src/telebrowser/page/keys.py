"""Keys of a US keyboard as CDP input events."""

from __future__ import annotations

import asyncio
from typing import Any

from ..cdp.connection import Session

Steps = list[asyncio.Future[dict[str, Any]]]

PUNCTUATION = {
    " ": ("Space", 32), "-": ("Minus", 189), "=": ("Equal", 187), "[": ("BracketLeft", 219), "]": ("BracketRight", 221), "\\": ("Backslash", 220),
    ";": ("Semicolon", 186), "'": ("Quote", 222), ",": ("Comma", 188), ".": ("Period", 190), "/": ("Slash", 191), "`": ("Backquote", 192),
}  # fmt: skip
SHIFTED = dict(zip('!@#$%^&*()_+{}|:"<>?~', "1234567890-=[]\\;',./`", strict=True))
SHIFT = 8


def key_code(character: str) -> tuple[str, int, bool] | None:
    """The physical key that makes the character: its code, its virtual key code, whether with shift."""
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


def press_key(session: Session, key: str, code: str, number: int, text: str = "", *, shift: bool = False) -> Steps:
    """Press and release one key; the commands are sent, not awaited."""
    common: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number, "modifiers": SHIFT if shift else 0}
    down: dict[str, Any] = {**common, "type": "keyDown" if text else "rawKeyDown"}
    if text:
        down |= {"text": text, "unmodifiedText": text}
    return [session.start("Input.dispatchKeyEvent", **down), session.start("Input.dispatchKeyEvent", **common, type="keyUp")]


def enter(session: Session) -> Steps:
    """The Enter key."""
    return press_key(session, "Enter", "Enter", 13, "\r")


def backspace(session: Session) -> Steps:
    """The Backspace key."""
    return press_key(session, "Backspace", "Backspace", 8)


def end(session: Session) -> Steps:
    """The End key."""
    return press_key(session, "End", "End", 35)


def press_character(session: Session, character: str) -> Steps:
    """The key of a character, or its insertion where no key makes it."""
    code = key_code(character)
    if code is None:
        return [session.start("Input.insertText", text=character)]
    return press_key(session, character, code[0], code[1], character, shift=code[2])

"""The letters that the keyboard of a display without one has besides the American ones.

A VNC server makes a key for a letter that its keyboard has not when that letter is typed. Programs learn of the new key while its first
press is on the way to them, and Chromium loses one letter in three then. Those that people in Europe and America type have keys from the
beginning: by a layout, which has most of them, and on the few keys that this leaves free.
"""

from __future__ import annotations

LAYOUT = "eu"
LOWER = "êâîôûãõìòýšžčřłąęś"
CODES = (("iso8859-1", 0x000), ("iso8859-2", 0x100))


def keysym(letter: str) -> int:
    """The number by which X knows a letter."""
    for code, base in CODES:
        try:
            return base | letter.encode(code)[0]
        except UnicodeEncodeError:
            continue
    return 0x1000000 | ord(letter)


LETTERS = tuple((keysym(lower), keysym(lower.upper())) for lower in LOWER)

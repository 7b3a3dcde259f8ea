"""The keys of a US keyboard."""

from __future__ import annotations

import string

import pytest

from telebrowser.page.keys import key_code


@pytest.mark.parametrize(
    ("character", "code"),
    [
        ("a", ("KeyA", 65, False)),
        ("Z", ("KeyZ", 90, True)),
        ("7", ("Digit7", 55, False)),
        ("&", ("Digit7", 55, True)),
        (" ", ("Space", 32, False)),
        ("?", ("Slash", 191, True)),
    ],
)
def test_key_of_a_character(character: str, code: tuple[str, int, bool]) -> None:
    assert key_code(character) == code


def test_every_printable_ascii_character_has_a_key() -> None:
    missing = [character for character in string.printable[:95] if key_code(character) is None]
    assert missing == []


@pytest.mark.parametrize("character", ["é", "ش", "中", "😀", "\n", "\t"])
def test_others_have_none(character: str) -> None:
    assert key_code(character) is None

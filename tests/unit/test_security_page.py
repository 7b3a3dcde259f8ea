"""Every test and every attempt that docs/SECURITY.md names exists."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.security.attempts import ALL

TOP = Path(__file__).resolve().parents[2]
TEXT = (TOP / "docs" / "SECURITY.md").read_text()
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", TEXT)))
ATTACKS = sorted(set(re.findall(r"`attack: ([^`]+)`", TEXT)))
NAMES = [attempt.name for attempt in ALL]


def exists(path: str, name: str) -> bool:
    return (TOP / path).is_file() and re.search(rf"^(async )?def {name}\(", (TOP / path).read_text(), re.M) is not None


def named(pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in NAMES)


@pytest.mark.parametrize("name", TESTS)
def test_every_test_that_is_named_exists(name: str) -> None:
    assert exists(*name.split("::"))


@pytest.mark.parametrize("pattern", ATTACKS)
def test_every_attack_that_is_named_exists(pattern: str) -> None:
    assert named(pattern)


def test_every_promise_names_one() -> None:
    rows = [line for line in TEXT.split("## How it is kept")[0].splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 20
    assert [row for row in rows if not re.search(r"`(attack: |tests/)", row.split("|")[2])] == []


def test_what_does_not_exist_is_found_out() -> None:
    assert not exists("tests/security/test_attacks.py", "test_of_tomorrow") and not exists("tests/none.py", "test_x")
    assert not named("an attack of tomorrow*")
    assert len(TESTS) >= 15 and len(ATTACKS) >= 30

"""Address patterns; what needs a page is tested on real ones (tests/services/test_handoff.py)."""

from __future__ import annotations

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.gateway.handoff.asking import parse_condition, parse_seconds
from telebrowser.gateway.handoff.conditions import url_matches
from telebrowser.gateway.handoff.machine import Condition


@pytest.mark.parametrize(
    ("pattern", "url", "fits"),
    [
        ("https://shop.example/account", "https://shop.example/account", True),
        ("https://shop.example/account", "https://shop.example/account/", False),
        ("https://shop.example/*", "https://shop.example/account?next=1#top", True),
        ("*/account*", "https://shop.example/account?next=1", True),
        ("https://shop.example/a.b", "https://shop.example/aXb", False),
        ("https://shop.example/(x)[y]?", "https://shop.example/(x)[y]?", True),
        ("*", "", True),
        ("", "https://shop.example/", False),
        ("*/a\nb", "https://x/a\nb", True),
    ],
)
def test_patterns(pattern: str, url: str, fits: bool) -> None:
    assert url_matches(pattern, url) is fits


def test_an_address_alone_decides_nothing() -> None:
    assert not Condition(url="*/account").decisive
    assert Condition(selector="#out").decisive and Condition(url="*", text="Hello").decisive


@pytest.mark.parametrize("value", [{}, {"css": "a"}, {"text": ""}, {"text": "  "}, {"text": 1}, {"url": "x" * 501}, [], "text"])
def test_what_is_no_condition_is_refused(value: object) -> None:
    with pytest.raises(TelebrowserError) as error:
        parse_condition(value)
    assert error.value.code == "INVALID_ARGS" and "done_when" in error.value.message


def test_a_condition_may_be_left_out() -> None:
    assert parse_condition(None) is None
    assert parse_condition({"text": "Hello", "url": "*"}) == Condition("*", None, "Hello")


@pytest.mark.parametrize("value", [-1, 3601, True, "5", None, float("nan")])
def test_a_wait_out_of_range_is_refused(value: object) -> None:
    with pytest.raises(TelebrowserError, match="wait"):
        parse_seconds("wait", value)

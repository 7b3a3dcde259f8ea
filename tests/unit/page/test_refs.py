"""Refs: each number belongs to the document that handed it out, and to no other, for ever."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telebrowser.page.document import Document
from telebrowser.page.refs import Refs, parse, shown


@pytest.mark.parametrize(
    ("text", "number"), [("e1", 1), ("@e12", 12), (" e3 ", 3), ("e0", None), ("12", None), ("e-1", None), ("e1x", None), ("", None), ("e99999999999", None)]
)
def test_parse(text: str, number: int | None) -> None:
    assert parse(text) == number


def test_shown_is_parsed_back() -> None:
    assert parse(shown(7)) == 7


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=40))
def test_every_number_leads_to_its_document(steps: list[tuple[int, int]]) -> None:
    documents = [cast(Document, object()) for _ in range(4)]
    refs = Refs()
    truth: dict[int, Any] = {}
    for which, count in steps:
        for number in range(refs.next, refs.next + count):
            assert number not in truth
            truth[number] = documents[which]
        refs.took(documents[which], refs.next + count)
    for number, document in truth.items():
        assert refs.document_of(number) is document
    assert refs.document_of(refs.next) is None
    assert refs.document_of(0) is None

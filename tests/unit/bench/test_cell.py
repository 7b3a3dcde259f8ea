"""The verdict of a cell, from its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.bench.adapters import Adapter, ChromeDevtools, Place, Product
from tests.bench.scoring import clicks, events, fields, views
from tests.bench.scoring.cell import NO_TOOL, PARTLY, PARTLY_FALSE, RIGHT, WRONG, WRONG_FALSE, Cell, Part, short
from tests.bench.scoring.registry import CASES
from tests.bench.stdio import failed
from tests.cases.serve import PAGES

MODULES = (clicks, events, fields, views)
PLACE = Place(Path("/nowhere"), "http://127.0.0.1:1", "ws://127.0.0.1:1", {})


def cell(*parts: Part) -> Cell:
    made = Cell("covered", Adapter(PLACE), cast(Any, None), "http://127.0.0.1:1", cast(Any, None))
    made.parts = list(parts)
    return made


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([Part("a", True, core=True), Part("b", True)], RIGHT),
        ([Part("a", True, core=True), Part("b", False)], PARTLY),
        ([Part("a", True, core=True), Part("b", True), Part("c", False, false=True)], PARTLY_FALSE),
        ([Part("a", True), Part("b", False, false=True), Part("c", False, false=True)], WRONG_FALSE),
        ([Part("a", False, core=True), Part("b", True)], WRONG),
        ([Part("a", False, core=True, false=True), Part("b", True)], WRONG_FALSE),
        ([Part("a", False), Part("b", False)], WRONG),
        ([Part("a", True, core=True), Part("b", False, tried=False)], PARTLY),
        ([Part("a", False, tried=False)], NO_TOOL),
    ],
)
def test_verdict(parts: list[Part], verdict: str) -> None:
    assert cell(*parts).result().verdict == verdict


def test_a_claim_is_false_only_without_the_effect() -> None:
    made = cell()
    made.part("hit", True, core=True, false=True)
    assert made.result().verdict == RIGHT


def test_what_failed_is_named() -> None:
    made = cell()
    made.part("hit", False, core=True, false=True)
    made.has(None, "wait_for")
    assert made.result().failed == ["hit (false success)", "wait_for (no tool)"]


def test_every_page_has_a_case() -> None:
    assert sorted(CASES) == sorted(path.stem for path in PAGES.glob("*.html"))


@pytest.mark.parametrize(
    ("adapter", "line", "name", "ref"),
    [
        (ChromeDevtools, '  uid=1_3 button "Add"', "Add", "1_3"),
        (Product, '- button "Add" [ref=e7]', "Add", "e7"),
        (Product, '- textbox "Name" [active, ref=e8]: "x"', "Name", "e8"),
        (Product, '- button "Add more" [ref=e9]', "Add", None),
    ],
)
def test_a_ref_is_read_from_the_line_of_its_name(adapter: type[Adapter], line: str, name: str, ref: str | None) -> None:
    assert adapter(PLACE).ref(f"# page\n{line}\n", name) == ref


def test_of_a_call_log_the_telling_line_stays() -> None:
    answer = failed("### Error\nTimeout 5000ms exceeded.\nCall log:\n  - waiting\n  - <div> intercepts pointer events\n")
    assert short(answer) == "Timeout 5000ms exceeded. … <div> intercepts pointer events"

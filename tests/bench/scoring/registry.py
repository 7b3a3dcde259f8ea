"""The cases by name. A case drives one server on one page and notes the parts of the outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .cell import Cell

Case = Callable[[Cell], Awaitable[None]]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    """Register the case of the page ``name``."""

    def register(function: Case) -> Case:
        CASES[name] = function
        return function

    return register

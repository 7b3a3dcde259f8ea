"""Attempts by name. Each raises AssertionError when it gained something; harm and leaks are looked for after each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tests.security.arena import Arena, Attacker

Run = Callable[[Arena, Attacker], Awaitable[None]]


class Attempt(NamedTuple):
    """One attack."""

    name: str
    run: Run


ALL: list[Attempt] = []


def attempt(name: str) -> Callable[[Run], Run]:
    """Register a function under a name."""

    def register(run: Run) -> Run:
        add(name, run)
        return run

    return register


def add(name: str, run: Run) -> None:
    """Register an attack."""
    assert name not in {known.name for known in ALL}, name
    ALL.append(Attempt(name, run))

"""One check → one line: whether it holds, how long it took, and what to do when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ExitError, TelebrowserError

PASSED = "passed"
FAILED = "failed"
NOTED = "noted"
MARKS = {PASSED: "✓", FAILED: "✗", NOTED: "!"}


class Failure(Exception):
    """A check does not hold; ``advice`` says what to do."""

    def __init__(self, detail: str, advice: str) -> None:
        super().__init__(detail)
        self.advice = advice


class Note(Exception):
    """A check holds, but the operator should know something; ``advice`` says what can be done."""

    def __init__(self, detail: str, advice: str) -> None:
        super().__init__(detail)
        self.advice = advice


class Result(NamedTuple):
    """The outcome of a check; ``milliseconds`` is the time that it took."""

    name: str
    outcome: str
    milliseconds: float
    detail: str
    advice: str

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"name": self.name, "outcome": self.outcome, "ms": round(self.milliseconds, 1), "detail": self.detail, "advice": self.advice}

    def line(self) -> str:
        """For a terminal."""
        text = f"{MARKS[self.outcome]} {self.name:<22} {self.milliseconds:>7.0f} ms  {self.detail}".rstrip()
        return f"{text}\n  → {self.advice}" if self.advice else text


def run_check(name: str, check: Callable[[], str]) -> Result:
    """Run one check, which returns its detail or raises `Failure`, `Note`, `ExitError` or `TelebrowserError`."""
    start = time.perf_counter()
    outcome, advice = PASSED, ""
    try:
        detail = check()
    except Note as note:
        outcome, detail, advice = NOTED, str(note), note.advice
    except Failure as failure:
        outcome, detail, advice = FAILED, str(failure), failure.advice
    except TelebrowserError as error:
        outcome, detail, advice = FAILED, error.message, error.hint
    except ExitError as error:
        outcome, detail = FAILED, str(error)
    except OSError as error:
        outcome, detail = FAILED, f"{error.strerror or type(error).__name__}{': ' + str(error.filename) if error.filename else ''}"
    return Result(name, outcome, (time.perf_counter() - start) * 1000, " ".join(detail.split()), " ".join(advice.split()))

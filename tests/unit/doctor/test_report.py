"""One check → one line."""

from __future__ import annotations

import pytest

from telebrowser.doctor.report import FAILED, NOTED, PASSED, Failure, Note, Result, run_check
from telebrowser.errors import ConfigError, TelebrowserError


def test_a_check_that_holds() -> None:
    result = run_check("name", lambda: "two\nlines")
    assert (result.outcome, result.detail, result.advice) == (PASSED, "two lines", "") and result.milliseconds >= 0


@pytest.mark.parametrize(
    ("error", "outcome", "detail", "advice"),
    [
        (Note("so so", "do this"), NOTED, "so so", "do this"),
        (Failure("broken", "mend it"), FAILED, "broken", "mend it"),
        (TelebrowserError("BROWSER_UNAVAILABLE", "none", "install it"), FAILED, "none", "install it"),
        (ConfigError("bad value"), FAILED, "bad value", ""),
        (FileNotFoundError(2, "No such file", "/x"), FAILED, "No such file: /x", ""),
    ],
)
def test_a_check_that_does_not(error: Exception, outcome: str, detail: str, advice: str) -> None:
    def check() -> str:
        raise error

    result = run_check("name", check)
    assert (result.outcome, result.detail, result.advice) == (outcome, detail, advice)


def test_a_fault_of_a_check_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run_check("name", lambda: str(1 / 0))


def test_lines() -> None:
    assert Result("gateway", PASSED, 12.4, "fine", "").line() == "✓ gateway                     12 ms  fine"
    assert Result("gateway", FAILED, 0.0, "", "mend it").line() == "✗ gateway                      0 ms\n  → mend it"
    assert Result("gateway", NOTED, 1.26, "x", "y").as_dict() == {"name": "gateway", "outcome": "noted", "ms": 1.3, "detail": "x", "advice": "y"}

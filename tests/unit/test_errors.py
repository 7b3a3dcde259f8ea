"""Error codes and exit codes: one table each, one line each."""

from __future__ import annotations

import pytest

from telebrowser import errors
from telebrowser.errors import CODES, EXIT_CONFIG, EXITS, ConfigError, ExitError, TelebrowserError


def test_every_exit_code_is_in_the_table_once() -> None:
    named = {name: value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert sorted(named.values()) == sorted(EXITS) and len(set(named.values())) == len(named)
    assert all(0 <= code <= 255 and text.endswith(".") for code, text in EXITS.items())


@pytest.mark.parametrize("code", CODES)
def test_every_code_says_what_and_what_next(code: str) -> None:
    row = CODES[code]
    assert code.replace("_", "").isalpha() and code.isupper()
    assert row.meaning.endswith(".") and row.hint.endswith(".") and 400 <= row.status < 600
    assert TelebrowserError(code, "it broke").text() == f"[{code}] it broke. {row.hint}"
    assert TelebrowserError(code, "it broke").status == row.status


def test_a_message_is_one_line_and_ends_once() -> None:
    error = TelebrowserError("TIMEOUT", "no\nanswer!", "Retry.")
    assert error.text() == "[TIMEOUT] no answer! Retry."
    assert error.as_dict() == {"error": {"code": "TIMEOUT", "message": "no answer!", "hint": "Retry."}}
    assert TelebrowserError("TIMEOUT", "late", "").text() == "[TIMEOUT] late."


def test_a_code_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(KeyError):
        TelebrowserError("NEW", "x")


def test_exit_errors_carry_their_code() -> None:
    assert ExitError(4, "x").exit_code == 4 and ConfigError("x").exit_code == EXIT_CONFIG

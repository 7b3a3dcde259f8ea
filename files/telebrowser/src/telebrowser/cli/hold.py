"""`telebrowser hold [MIN]`: keep the project's browser from being stopped while idle."""

from __future__ import annotations

from .common import DATA_OPTIONS, address_of
from .gateway import call
from .options import Arguments, Verb, usage
from .status import report

DEFAULT_MINUTES = 60
MAX_MINUTES = 10080

VERB = Verb(
    "hold",
    f"Keep the browser from being stopped while idle, for MIN minutes (default {DEFAULT_MINUTES}, at most {MAX_MINUTES}; 0 ends the hold).",
    DATA_OPTIONS,
    "[MIN]",
    1,
)


def run(arguments: Arguments) -> int:
    """Set the hold and print the status."""
    word = arguments.words[0] if arguments.words else str(DEFAULT_MINUTES)
    if not (word.isascii() and word.isdigit() and int(word) <= MAX_MINUTES):
        raise usage(VERB, f"MIN must be a whole number from 0 to {MAX_MINUTES}; it is {word!r}")
    return report(arguments, call(address_of(arguments), "POST", f"hold?minutes={int(word)}"))

"""`telebrowser focus`: raise the project's window in the view."""

from __future__ import annotations

from .common import DATA_OPTIONS, address_of
from .gateway import BROWSER_SECONDS, call
from .options import Arguments, Verb
from .status import report

VERB = Verb("focus", "Raise the project's window in the view.", DATA_OPTIONS)


def run(arguments: Arguments) -> int:
    """Ask the gateway and print the status that it answers."""
    return report(arguments, call(address_of(arguments), "POST", "focus", seconds=BROWSER_SECONDS))

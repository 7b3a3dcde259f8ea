"""`telebrowser stop`: stop the project's browser and wait until it has ended; cookies are saved."""

from __future__ import annotations

from .common import DATA_OPTIONS, address_of
from .gateway import BROWSER_SECONDS, call
from .options import Arguments, Verb
from .status import report

VERB = Verb("stop", "Stop the project's browser and wait until it has ended; cookies are saved.", DATA_OPTIONS)


def run(arguments: Arguments) -> int:
    """Ask the gateway and print the status that it answers."""
    return report(arguments, call(address_of(arguments), "POST", "stop", seconds=BROWSER_SECONDS))

"""`telebrowser start`: start the project's browser and wait until it answers."""

from __future__ import annotations

from .common import DATA_OPTIONS, address_of
from .gateway import BROWSER_SECONDS, call
from .options import Arguments, Verb
from .status import report

VERB = Verb("start", "Start the project's browser and wait until it answers.", DATA_OPTIONS)


def run(arguments: Arguments) -> int:
    """Ask the gateway and print the status that it answers."""
    return report(arguments, call(address_of(arguments), "POST", "start", seconds=BROWSER_SECONDS))

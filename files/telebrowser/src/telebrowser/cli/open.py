"""`telebrowser open`: where a person goes to see the browser."""

from __future__ import annotations

from ..errors import EXIT_FAILED, EXIT_OK, ExitError
from .common import DATA_OPTIONS, address_of, plain, show
from .gateway import call
from .options import Arguments, Verb

VERB = Verb(
    "open",
    "Print the address at which a person can see the project's browser: the page of an open handoff, else the view.",
    DATA_OPTIONS,
    details="The address of a handoff's page opens once and lets whoever opens it use the browser: do not commit, log or paste it.",
)


def run(arguments: Arguments) -> int:
    """Print the address."""
    found = call(address_of(arguments), "POST", "open")
    if not found.get("url"):
        raise ExitError(EXIT_FAILED, "no view for people is set up; set TELEBROWSER_VIEW_URL for the gateway")
    show(arguments, found, plain(found["url"]))
    return EXIT_OK

"""`telebrowser http`: the project's unscoped CDP HTTP address."""

from __future__ import annotations

from ..errors import EXIT_OK
from .common import DATA_OPTIONS, address_of, show
from .options import Arguments, Verb

VERB = Verb(
    "http",
    "Print the unscoped CDP HTTP address of the project's browser (json/version, json/list … lie below it).",
    DATA_OPTIONS,
    details="The address sees every tab of the project and holds the project's token: whoever has it has the project's logins.\n"
    "Do not commit, log or paste it. The gateway is not asked.",
)


def run(arguments: Arguments) -> int:
    """Print the address."""
    address = address_of(arguments)
    show(arguments, {"project": address.project, "url": address.http()}, address.http())
    return EXIT_OK

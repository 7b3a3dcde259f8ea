"""`telebrowser ws`: the project's unscoped CDP WebSocket address."""

from __future__ import annotations

from ..errors import EXIT_OK
from .common import DATA_OPTIONS, address_of, show
from .options import Arguments, Verb

VERB = Verb(
    "ws",
    "Print the unscoped CDP WebSocket address of the project's browser.",
    DATA_OPTIONS,
    details="The address sees every tab of the project and holds the project's token: whoever has it has the project's logins.\n"
    "Do not commit, log or paste it. The gateway is not asked; connecting starts the browser.",
)


def run(arguments: Arguments) -> int:
    """Print the address."""
    address = address_of(arguments)
    url = address.ws("devtools/browser")
    show(arguments, {"project": address.project, "url": url}, url)
    return EXIT_OK

"""`telebrowser open`: where a person goes to see the browser."""

from __future__ import annotations

from ..errors import EXIT_FAILED, EXIT_OK, ConfigError, ExitError
from ..launcher.address import secret
from ..tokens import derive_operator
from .common import DATA_OPTIONS, address_of, plain, settings_of, show
from .gateway import call
from .options import Arguments, Option, Verb

VERB = Verb(
    "open",
    "Print the address at which a person can see the project's browser: the page of an open handoff, else the project's page, else the view.",
    (Option("dashboard", "the project's page also while a handoff is open"), Option("all", "the page of all projects; needs the secret"), *DATA_OPTIONS),
    details="The address opens once and lets whoever opens it use the browser: do not commit, log or paste it.",
)


def run(arguments: Arguments) -> int:
    """Print the address."""
    if "all" in arguments.flags:
        known = secret(settings_of(arguments))
        if known is None:
            raise ConfigError("open --all needs the secret of the gateway; this host has only tokens of projects")
        found = call(address_of(arguments), "POST", "login", operator=derive_operator(known))
    else:
        found = call(address_of(arguments), "POST", "open?dashboard=1" if "dashboard" in arguments.flags else "open")
    if not found.get("url"):
        raise ExitError(EXIT_FAILED, "no view for people is set up; set TELEBROWSER_PEOPLE_PORT or TELEBROWSER_VIEW_URL for the gateway")
    show(arguments, found, plain(found["url"]))
    return EXIT_OK

"""`telebrowser up`: start gateway, engine and supervisor on this machine."""

from __future__ import annotations

import os
import sys

from .. import config
from ..errors import EXIT_OK
from ..launcher import address as addresses
from .common import settings_of
from .options import Arguments, Option, Verb

PARTS = (config.LAUNCHER, config.GATEWAY, config.SUPERVISOR, config.ENGINE)
_HIDDEN = ("project", "secret")


def stack_options() -> tuple[Option, ...]:
    """Every setting of the stack as an option."""
    return tuple(
        Option(setting.field.replace("_", "-"), f"{setting.help} ({setting.name})", "VALUE")
        for setting in config.SETTINGS
        if setting.field not in _HIDDEN and set(setting.parts) & {config.GATEWAY, config.SUPERVISOR}
    )


VERB = Verb(
    "up",
    "Start the whole stack on this machine and wait until it is ready; does nothing when it runs already.",
    (Option("foreground", "stay, and stop the stack at the end"), *stack_options()),
)


def run(arguments: Arguments) -> int:
    """Start the stack; prints its address."""
    settings = settings_of(arguments, *PARTS)
    from ..local import stack

    code = stack.up(settings, "foreground" in arguments.flags, sys.stdout)
    if code == EXIT_OK and "foreground" not in arguments.flags:
        state = stack.status(settings)
        if state["people_url"]:
            print(f"pages for people: {state['people_url']}; `telebrowser open --all` gives a link that lets you in", file=sys.stderr)
        note = other_address(settings, state["url"])
        if note:
            print(note, file=sys.stderr)
    return code


def other_address(settings: config.Settings, url: str | None) -> str | None:
    """What to do when the launcher's verbs would look for the gateway on another port than the stack's."""
    if url is None or addresses.parse_url(url, "the stack")[2] == addresses.configured(settings)[2]:
        return None
    return f"note: the launcher looks elsewhere; set TELEBROWSER_URL={url}, or put it into {os.path.join(settings.config_dir, addresses.URL_FILE)}"

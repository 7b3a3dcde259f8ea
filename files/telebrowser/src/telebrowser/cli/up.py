"""`telebrowser up`: start gateway, engine and supervisor on this machine."""

from __future__ import annotations

import sys

from .. import config
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

    return stack.up(settings, "foreground" in arguments.flags, sys.stdout)

"""`telebrowser down`: stop what `telebrowser up` started."""

from __future__ import annotations

import sys

from .common import settings_of
from .options import Arguments, Verb
from .up import PARTS, stack_options

VERB = Verb(
    "down",
    "Stop the stack on this machine, every browser in order, cookies saved; does nothing when none runs.",
    tuple(option for option in stack_options() if option.name == "data"),
)


def run(arguments: Arguments) -> int:
    """Stop the stack."""
    settings = settings_of(arguments, *PARTS)
    from ..local import stack

    return stack.down(settings, sys.stdout)

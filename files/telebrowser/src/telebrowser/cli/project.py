"""`telebrowser project`: print the project of this directory. On the fast path: only what it needs is imported."""

from __future__ import annotations

import os

from .. import project as projects
from ..errors import EXIT_OK
from .options import Arguments, Option, Verb

VERB = Verb(
    "project",
    "Print the project of this directory.",
    (Option("project", "name to use instead", "NAME"), Option("json", "print JSON")),
    details="The directory name of the main checkout (worktrees share it); a submodule is its own project; outside git: scratch.\n"
    "--project, then TELEBROWSER_PROJECT, override it. Names with other letters than A-Z a-z 0-9 . _ - get a safe form.",
)


def run(arguments: Arguments) -> int:
    """Print the name."""
    name = here(arguments)
    print(f'{{"project": "{name}"}}' if arguments.json else name)  # a project name needs no escapes
    return EXIT_OK


def here(arguments: Arguments) -> str:
    """The project for this process: of ``--project``, the environment or the working directory."""
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = None
    return projects.resolve(cwd, arguments.values.get("project"), os.environ)

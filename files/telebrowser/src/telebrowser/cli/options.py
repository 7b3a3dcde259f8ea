"""The command lines of all verbs, described as data and parsed in one place.

`argparse` alone would cost more than the whole of `telebrowser project`; the verbs need options with and without a value,
and a few positional words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import EXIT_USAGE, ExitError


class Option(NamedTuple):
    """``--name`` (a flag) or, with a ``value`` to show in the help, ``--name VALUE`` or ``--name=VALUE``.

    ``command``: the value may also be ``--``, and every word after it is then the verb's.
    """

    name: str
    help: str
    value: str | None = None
    command: bool = False


class Verb(NamedTuple):
    """One verb: what it does in one line, its options, and how many words it takes (``words`` shows them)."""

    name: str
    summary: str
    options: tuple[Option, ...] = ()
    words: str = ""
    max_words: int = 0
    details: str = ""


class Arguments(NamedTuple):
    """What was given on the command line."""

    flags: frozenset[str]
    values: dict[str, str]
    words: tuple[str, ...]

    @property
    def json(self) -> bool:
        """Whether ``--json`` was given."""
        return "json" in self.flags


class HelpRequested(Exception):
    """``--help`` was given; the text is the message."""


def parse(verb: Verb, arguments: Sequence[str]) -> Arguments:
    """Raises `ExitError` with one line for a wrong command line, `HelpRequested` for ``--help`` or ``-h``."""
    options = {option.name: option for option in verb.options}
    flags: set[str] = set()
    values: dict[str, str] = {}
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if word in ("--help", "-h"):
            raise HelpRequested(help_text(verb))
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=") if word.startswith("--") else ("", "", "")
        option = options.get(name)
        if option is None:
            raise usage(verb, f"unknown option {word.partition('=')[0]}")
        if option.value is None:
            if equals:
                raise usage(verb, f"--{name} takes no value")
            flags.add(name)
            continue
        if not equals:
            if not rest:
                raise usage(verb, f"--{name} needs a value")
            value = rest.pop(0)
        if not value:
            raise usage(verb, f"--{name} needs a value")
        values[name] = value
        if option.command and value == "--":
            words += rest
            break
    if len(words) > verb.max_words:
        raise usage(verb, f"unexpected {words[verb.max_words]!r}")
    return Arguments(frozenset(flags), values, tuple(words))


def usage(verb: Verb, problem: str) -> ExitError:
    """The one line for a wrong command line."""
    return ExitError(EXIT_USAGE, f"{verb.name}: {problem}; see `telebrowser {verb.name} --help`")


def help_text(verb: Verb) -> str:
    """The help of one verb."""
    head = f"usage: telebrowser {verb.name}" + (" [options]" if verb.options else "") + (f" {verb.words}" if verb.words else "")
    lines = [head, "", verb.summary]
    if verb.details:
        lines += ["", verb.details]
    if verb.options:
        shown = [(f"--{option.name}" + (f" {option.value}" if option.value else ""), option.help) for option in verb.options]
        width = max(len(name) for name, _ in shown)
        lines += ["", "options:", *(f"  {name:<{width}}  {text}" for name, text in shown)]
    return "\n".join(lines)

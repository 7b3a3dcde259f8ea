"""Command lines, as data."""

from __future__ import annotations

import pytest

from telebrowser.cli.options import HelpRequested, Option, Verb, help_text, parse
from telebrowser.errors import EXIT_USAGE, ExitError

VERB = Verb("hold", "Hold it.", (Option("json", "print JSON"), Option("project", "the project", "NAME")), "[MIN]", 1, "More.")


def test_options_with_and_without_a_value_and_words() -> None:
    arguments = parse(VERB, ["--json", "5", "--project", "a"])
    assert arguments.json and arguments.words == ("5",) and arguments.values == {"project": "a"}
    assert parse(VERB, ["--project=a=b"]).values == {"project": "a=b"}
    assert parse(VERB, ["--project", "--json"]).values == {"project": "--json"}
    assert parse(VERB, ["--", "--json"]).words == ("--json",)
    assert parse(VERB, []) == (frozenset(), {}, ())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (["--surprise"], "unknown option --surprise"),
        (["--surprise=secret"], "unknown option --surprise;"),
        (["-j"], "unknown option -j"),
        (["--"[:1] + "x"], "unknown option -x"),
        (["--json=1"], "--json takes no value"),
        (["--project"], "--project needs a value"),
        (["--project="], "--project needs a value"),
        (["--project", ""], "--project needs a value"),
        (["1", "2"], "unexpected '2'"),
    ],
)
def test_a_wrong_command_line_is_one_line(line: list[str], problem: str) -> None:
    with pytest.raises(ExitError) as caught:
        parse(VERB, line)
    assert caught.value.exit_code == EXIT_USAGE and problem in str(caught.value) and "telebrowser hold --help" in str(caught.value)


def test_a_command_as_a_value() -> None:
    verb = Verb("run", "Run it.", (Option("json", "print JSON"), Option("beside", "a command", "NAME | -- CMD", command=True)), max_words=9)
    given = parse(verb, ["--json", "--beside", "--", "cmd", "--json", "-x", "--", "--help"])
    assert given.values == {"beside": "--"} and given.words == ("cmd", "--json", "-x", "--", "--help")
    assert parse(verb, ["--beside", "name", "--json"]) == (frozenset({"json"}), {"beside": "name"}, ())
    assert parse(VERB, ["--project", "--", "5"]).values == {"project": "--"}, "others take it as a value"


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_wins_over_what_follows(word: str) -> None:
    with pytest.raises(HelpRequested) as caught:
        parse(VERB, [word, "--surprise"])
    assert str(caught.value) == help_text(VERB)
    for part in ("usage: telebrowser hold [options] [MIN]", "Hold it.", "More.", "--project NAME", "print JSON"):
        assert part in str(caught.value)

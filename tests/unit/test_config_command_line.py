"""Settings from the command line of a part, and handed on to a child."""

from __future__ import annotations

import pytest

from telebrowser.config import ENGINE, GATEWAY, LAUNCHER, SUPERVISOR, from_command_line, load, to_environ
from telebrowser.errors import EXIT_CONFIG, EXIT_USAGE, ExitError


def test_options_in_every_form() -> None:
    settings = from_command_line(
        ["--port", "1", "--bind=::", "--evaluate=no", "--block-private", "--trusted-proxies", "10.0.0.0/8, ::1"], GATEWAY, environ={"TELEBROWSER_PORT": "9"}
    )
    assert (settings.port, settings.bind, settings.evaluate, settings.block_private) == (1, "::", False, True)
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1")
    assert from_command_line(["--evaluate", "0", "--port=1", "--port=2"], GATEWAY, environ={}).port == 2
    assert from_command_line(["--evaluate"], GATEWAY, environ={"TELEBROWSER_EVALUATE": "0"}).evaluate is True


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["--surprise"], EXIT_USAGE, "--surprise"),
        (["--surprise=1"], EXIT_USAGE, "--surprise"),
        (["stray"], EXIT_USAGE, "stray"),
        (["--screen", "1x1"], EXIT_USAGE, "--screen"),
        (["--port"], EXIT_USAGE, "--port"),
        (["--port", "many"], EXIT_CONFIG, "--port"),
        (["--port="], EXIT_CONFIG, "--port"),
        (["--evaluate", "perhaps"], EXIT_CONFIG, "--evaluate"),
    ],
)
def test_bad_words_are_named(words: list[str], code: int, named: str) -> None:
    with pytest.raises(ExitError) as caught:
        from_command_line(words, GATEWAY, environ={})
    assert caught.value.exit_code == code and named in str(caught.value) and "\n" not in str(caught.value)


def test_a_child_reads_the_same_values() -> None:
    parts = (GATEWAY, SUPERVISOR, ENGINE)
    settings = load(*parts, environ={}).replace(port=7, evaluate=False, block_private=True, trusted_proxies=("a", "b"), view_url=None, browser_user="x")
    environ = to_environ(settings, *parts)
    assert load(*parts, environ=environ).as_dict() == settings.as_dict()


def test_no_secret_is_handed_on() -> None:
    settings = load(LAUNCHER, GATEWAY, environ={"TELEBROWSER_SECRET": "not for children"})
    assert "not for children" not in to_environ(settings, LAUNCHER, GATEWAY).values()

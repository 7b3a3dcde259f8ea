"""Settings: read once, checked, named in every error."""

from __future__ import annotations

import os

import pytest

from telebrowser import config
from telebrowser.config import BY_FIELD, ENGINE, GATEWAY, LAUNCHER, SETTINGS, SUPERVISOR, load, to_environ
from telebrowser.errors import EXIT_CONFIG, ConfigError

PARTS = (LAUNCHER, GATEWAY, SUPERVISOR, ENGINE)


def test_defaults() -> None:
    settings = load(*PARTS, environ={})
    assert settings.port == 5858 and settings.bind == "127.0.0.1" and settings.idle_minutes == 30 and settings.session_grace == 30
    assert settings.url is None and settings.secret is None
    assert settings.data == os.path.expanduser("~/.local/share/telebrowser")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_each_row_is_sound(setting: config.Setting) -> None:
    assert setting.parts and set(setting.parts) <= set(PARTS)
    assert setting.kind in ("int", "bool", "str", "path", "list", "command", "choice")
    assert setting.help.endswith(".") and "\n" not in setting.help
    assert (setting.kind == "int") == (setting.low is not None) == (setting.high is not None)
    assert bool(setting.choices) if setting.kind == "choice" else not setting.choices or setting.kind == "list"
    if setting.kind == "int":
        assert setting.low is not None and setting.high is not None and setting.low <= setting.default <= setting.high
    if setting.kind == "choice":
        assert setting.default in setting.choices


def test_names_and_fields_are_unique() -> None:
    names = [name for setting in SETTINGS for name in (setting.name, setting.alias) if name]
    assert len(set(names)) == len(names)
    assert len(BY_FIELD) == len(SETTINGS)


def test_only_the_parts_asked_for() -> None:
    assert set(load(LAUNCHER, environ={}).as_dict()) == {"url", "project", "config_dir", "launcher_data"}


def test_an_option_wins_over_the_environment_and_that_over_the_alias() -> None:
    environ = {"TELEBROWSER_IDLE_MINUTES": "5", "IDLE_MINUTES": "7"}
    assert load(GATEWAY, environ=environ, options={"idle_minutes": "3"}).idle_minutes == 3
    assert load(GATEWAY, environ=environ).idle_minutes == 5
    assert load(GATEWAY, environ={"IDLE_MINUTES": "7"}).idle_minutes == 7
    assert load(GATEWAY, environ={"TELEBROWSER_IDLE_MINUTES": "", "IDLE_MINUTES": "7"}).idle_minutes == 7


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("TRUE", True), (" yes ", True), ("on", True), ("0", False), ("No", False), ("off", False), ("false", False)]
)
def test_booleans(text: str, value: bool) -> None:
    assert load(GATEWAY, environ={"TELEBROWSER_EVALUATE": text}).evaluate is value


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TELEBROWSER_EVALUATE", "maybe", "1, true, yes or on"),
        ("TELEBROWSER_PORT", "x", "whole number"),
        ("TELEBROWSER_PORT", "65536", "from 0 to 65535"),
        ("TELEBROWSER_PORT", "-1", "from 0 to 65535"),
        ("TELEBROWSER_IDLE_MINUTES", "1.5", "whole number"),
        ("IDLE_MINUTES", "soon", "whole number"),
        ("QUEUE_LIMIT", "65", "from 1 to 64"),
        ("TELEBROWSER_NOTIFY_COMMAND", "notify 'a phone", "quoted as for a shell"),
        ("LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("TELEBROWSER_DISPLAY", "wayland", "xvfb"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_variable(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(*PARTS, environ={name: value})
    assert str(caught.value).startswith(name) and said in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.exit_code == EXIT_CONFIG


def test_a_bad_option_is_named_as_an_option() -> None:
    with pytest.raises(ConfigError, match=r"^--idle-minutes must"):
        load(GATEWAY, environ={"TELEBROWSER_IDLE_MINUTES": "5"}, options={"idle_minutes": "soon"})


def test_the_default_timeout_is_bound_by_the_highest() -> None:
    with pytest.raises(ConfigError, match="TOOL_TIMEOUT_MS"):
        load(ENGINE, environ={"TOOL_TIMEOUT_MS": "5000", "MAX_TIMEOUT_MS": "4000"})


def test_lists_and_paths() -> None:
    settings = load(GATEWAY, environ={"TELEBROWSER_TRUSTED_PROXIES": "10.0.0.0/8, ::1,", "TELEBROWSER_DATA": "~/x"})
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1") and settings.data == os.path.expanduser("~/x")


def test_a_command_is_split_as_by_a_shell_and_handed_on_as_it_is() -> None:
    settings = load(GATEWAY, environ={"TELEBROWSER_NOTIFY_COMMAND": "notify 'my phone' --loud"})
    assert settings.notify_command == ("notify", "my phone", "--loud")
    assert load(GATEWAY, environ=to_environ(settings, GATEWAY)).notify_command == settings.notify_command
    assert load(GATEWAY, environ={}).notify_command == ()


def test_the_secret_is_not_shown() -> None:
    settings = load(LAUNCHER, environ={"TELEBROWSER_SECRET": "very secret indeed"})
    assert settings.secret == "very secret indeed" and "very secret" not in str(settings.as_dict()) + repr(settings)


def test_an_unknown_attribute_is_an_error_and_replace_copies() -> None:
    settings = load(GATEWAY, environ={})
    with pytest.raises(AttributeError):
        _ = settings.nothing
    assert settings.replace(port=1).port == 1 and settings.port == 5858


def test_encoders_are_known_names() -> None:
    assert load(SUPERVISOR, environ={}).encoders == ("jpeg", "h264enc")
    assert load(SUPERVISOR, environ={"TELEBROWSER_ENCODERS": "h264enc, jpeg"}).encoders == ("h264enc", "jpeg")
    with pytest.raises(ConfigError, match=r"TELEBROWSER_ENCODERS may hold jpeg, h264enc, .*; it has 'x264enc'"):
        load(SUPERVISOR, environ={"TELEBROWSER_ENCODERS": "jpeg,x264enc"})

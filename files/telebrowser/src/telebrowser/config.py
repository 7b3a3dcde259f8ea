"""Every setting, once: its environment variable, option, type, range, default and meaning.

`load` reads the environment one time and checks every value; the docs table is made from
`SETTINGS`, and a test fails when the two differ. Nothing heavy is imported here, because every verb
of the launcher reads its settings through this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .errors import EXIT_USAGE, ConfigError, ExitError

LAUNCHER = "launcher"
GATEWAY = "gateway"
SUPERVISOR = "supervisor"
ENGINE = "engine"

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})
VIEWS = ("auto", "selkies", "vnc", "screencast", "url", "none")
ENCODERS = ("jpeg", "h264enc", "h264enc-striped", "h265enc", "vp8enc", "vp9enc", "av1enc")
LOG_LEVELS = ("debug", "info", "warning", "error")


class Setting(NamedTuple):
    """One setting.

    ``kind`` is ``int``, ``bool``, ``str``, ``path``, ``list``, ``command`` or ``choice``. ``low`` and ``high`` bound
    an ``int``; ``choices`` bounds a ``choice`` and each part of a ``list``. ``parts`` names the programs that read it. ``alias`` is an
    older variable that is accepted too.
    """

    name: str
    kind: str
    default: Any
    help: str
    parts: tuple[str, ...]
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    alias: str | None = None

    @property
    def field(self) -> str:
        """The attribute name, which is also the option name: ``TELEBROWSER_IDLE_MINUTES`` → ``idle_minutes``."""
        return self.name.removeprefix("TELEBROWSER_").lower()

    @property
    def option(self) -> str:
        """The command-line option: ``--idle-minutes``."""
        return "--" + self.field.replace("_", "-")


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "TELEBROWSER_URL", "str", None, "Address of the gateway; else the first line of ~/.config/telebrowser/url, else http://127.0.0.1:5858.", (LAUNCHER,)
    ),
    Setting("TELEBROWSER_PROJECT", "str", None, "Project to use instead of the one that the working directory names.", (LAUNCHER,)),
    Setting("TELEBROWSER_SECRET", "str", None, "Secret from which tokens are derived; else the file ~/.config/telebrowser/secret.", (LAUNCHER,)),
    Setting("TELEBROWSER_CONFIG_DIR", "path", "~/.config/telebrowser", "Folder of the launcher's url, secret and tokens.", (LAUNCHER,)),
    Setting(
        "TELEBROWSER_LAUNCHER_DATA",
        "path",
        "~/.local/share/telebrowser/launcher",
        "Folder of what the launcher installs for itself, such as chrome-devtools-mcp.",
        (LAUNCHER,),
    ),
    Setting("TELEBROWSER_BIND", "str", "127.0.0.1", "Address on which the gateway listens.", (GATEWAY,)),
    Setting("TELEBROWSER_PORT", "int", 5858, "Port on which the gateway listens; 0 takes a free one.", (GATEWAY,), 0, 65535),
    Setting(
        "TELEBROWSER_PEOPLE_PORT",
        "int",
        5859,
        "Port of the pages for people, on the same address; browsers cannot reach it. 0 serves none.",
        (GATEWAY, SUPERVISOR),
        0,
        65535,
    ),
    Setting(
        "TELEBROWSER_PEOPLE_URL", "str", None, "Address at which people reach the pages for them, where it is not http://127.0.0.1 with their port.", (GATEWAY,)
    ),
    Setting(
        "TELEBROWSER_REMOTE_USERS",
        "list",
        (),
        "Names, by commas, of operators whom a trusted proxy logs in with the header Remote-User; the proxy must drop the header when a client sends it.",
        (GATEWAY,),
    ),
    Setting("TELEBROWSER_DATA", "path", "~/.local/share/telebrowser", "Data directory: profiles, downloads, uploads, run files, audit.", (GATEWAY, SUPERVISOR)),
    Setting(
        "TELEBROWSER_SECRETS_DIR",
        "path",
        "~/.config/telebrowser",
        "Folder with the file `secret` and, after a rotation, `secret.previous`.",
        (GATEWAY, SUPERVISOR),
    ),
    Setting("TELEBROWSER_SECRET_GRACE", "int", 86400, "Seconds for which the previous secret is still accepted after a rotation.", (GATEWAY,), 0, 2592000),
    Setting(
        "TELEBROWSER_IDLE_MINUTES",
        "int",
        30,
        "Minutes without use after which a browser is stopped; 0 never stops it.",
        (GATEWAY,),
        0,
        10080,
        alias="IDLE_MINUTES",
    ),
    Setting("TELEBROWSER_SESSION_GRACE", "int", 30, "Seconds after a session's last connection closes until its tabs are closed.", (GATEWAY,), 0, 3600),
    Setting("TELEBROWSER_HTTP_IDLE", "int", 1800, "Seconds without a request after which an MCP session over HTTP ends.", (GATEWAY,), 1, 86400),
    Setting(
        "TELEBROWSER_VIEW",
        "choice",
        "auto",
        "How a person sees the browser: selkies or vnc (the whole desktop), screencast (the tab in the handoff's page), url (the view at "
        "TELEBROWSER_VIEW_URL), none; auto takes the address when there is one, else the first of selkies, vnc and screencast that is installed.",
        (GATEWAY, SUPERVISOR),
        choices=VIEWS,
    ),
    Setting("TELEBROWSER_VIEW_URL", "str", None, "Address of the view for people, named in answers.", (GATEWAY, SUPERVISOR)),
    Setting("TELEBROWSER_TRUSTED_PROXIES", "list", (), "Addresses or networks, by commas, whose X-Forwarded-* headers are believed.", (GATEWAY,)),
    Setting("TELEBROWSER_HOSTS", "list", (), "Host names, by commas, that the gateway answers to besides addresses, localhost and its machine's.", (GATEWAY,)),
    Setting(
        "TELEBROWSER_SHARED_NETWORK",
        "bool",
        False,
        "The gateway's container shares the network of the browser's: end, to be started again in the new one, when that container has started again.",
        (GATEWAY,),
    ),
    Setting("TELEBROWSER_HANDOFF_MINUTES", "int", 30, "Minutes for which a handoff waits for a person, unless the agent waits longer.", (GATEWAY,), 1, 1440),
    Setting(
        "TELEBROWSER_HANDOFF_GUARD",
        "bool",
        True,
        "Refuse what an agent's tools would do in a tab while a person is asked to that tab; they may read.",
        (GATEWAY,),
    ),
    Setting(
        "TELEBROWSER_NOTIFY_URLS_FILE",
        "path",
        None,
        "File with the addresses of notification services, one Apprise URL a line; they are secrets, so only its owner may read it.",
        (GATEWAY,),
    ),
    Setting(
        "TELEBROWSER_NOTIFY_COMMAND",
        "command",
        (),
        "Program with its arguments that is run when a handoff is asked for and when it ends, with a JSON object on its standard input.",
        (GATEWAY,),
    ),
    Setting("TELEBROWSER_EVALUATE", "bool", True, "Offer browser_evaluate through the gateway.", (GATEWAY,)),
    Setting("TELEBROWSER_BLOCK_PRIVATE", "bool", False, "Block private address ranges for tools used through the gateway.", (GATEWAY,)),
    Setting("TELEBROWSER_BROWSER_USER", "str", None, "Unprivileged user as whom browsers run when the supervisor is root.", (SUPERVISOR,)),
    Setting(
        "TELEBROWSER_WALLS",
        "choice",
        "auto",
        "Run each browser inside walls, with its own project's files and processes only: where that works, never, or refuse to run without.",
        (SUPERVISOR,),
        choices=("auto", "off", "required"),
    ),
    Setting(
        "TELEBROWSER_DISPLAY",
        "choice",
        "xvfb",
        "Display backend: a virtual X server of its own, or the labwc desktop that the container has started.",
        (SUPERVISOR,),
        choices=("xvfb", "labwc"),
    ),
    Setting(
        "TELEBROWSER_DISPLAYS",
        "choice",
        "shared",
        "One display for the windows of all projects, or one a project, which begins and ends with its browser (not with labwc).",
        (GATEWAY, SUPERVISOR),
        choices=("shared", "per-project"),
    ),
    Setting(
        "TELEBROWSER_SUPERVISOR_LOG",
        "choice",
        "stderr",
        "Where the supervisor writes its log: to standard error, or to run/supervisor.log in the data directory, which it keeps small.",
        (SUPERVISOR,),
        choices=("stderr", "file"),
    ),
    Setting(
        "TELEBROWSER_PROJECT_BAR",
        "bool",
        False,
        "Give each browser's window a thin bar with its project's name, so that a person sees whose browser it is.",
        (SUPERVISOR,),
    ),
    Setting(
        "TELEBROWSER_ENCODERS",
        "list",
        ("jpeg", "h264enc"),
        "Encoders of the view selkies, by commas, the best first; h264enc first where there is a video card.",
        (SUPERVISOR,),
        choices=ENCODERS,
    ),
    Setting(
        "TELEBROWSER_SELKIES_PYTHON",
        "path",
        None,
        "Python that has the package selkies; else the supervisor's own.",
        (SUPERVISOR,),
    ),
    Setting("TELEBROWSER_SCREEN", "str", "1600x900", "Size of the display, WIDTHxHEIGHT.", (SUPERVISOR,)),
    Setting(
        "CHROMIUM_PATH",
        "path",
        None,
        "Chromium binary; else chromium-browser, chromium, google-chrome or google-chrome-stable in /usr/bin.",
        (SUPERVISOR, ENGINE),
    ),
    Setting("OUTPUT_DIR", "path", "./screenshots", "Folder for screenshots in standalone mode; must be writable.", (ENGINE,)),
    Setting("QUEUE_LIMIT", "int", 8, "Calls that may wait for a tab's operation lock.", (GATEWAY, ENGINE), 1, 64),
    Setting("MAX_TIMEOUT_MS", "int", 120000, "Upper bound of every timeout_ms.", (GATEWAY, ENGINE), 1000, 3600000),
    Setting(
        "TOOL_TIMEOUT_MS",
        "int",
        10000,
        "Default timeout_ms of every tool but navigate (30000) and wait_for (15000); at most MAX_TIMEOUT_MS.",
        (GATEWAY, ENGINE),
        100,
        3600000,
    ),
    Setting(
        "IDLE_SHUTDOWN_MS", "int", 300000, "Milliseconds without a call after which the standalone browser stops; 0 never stops it.", (ENGINE,), 0, 86400000
    ),
    Setting("MAX_TEXT_LENGTH", "int", 1000000, "Characters of text in one answer.", (GATEWAY, ENGINE), 100, 100000000),
    Setting("MAX_IMAGE_BYTES", "int", 10000000, "Bytes of one image returned inline; a larger one is only saved.", (GATEWAY, ENGINE), 1000, 100000000),
    Setting("ALLOW_PRIVATE_NETWORKS", "bool", False, "Allow private address ranges in standalone mode.", (ENGINE,)),
    Setting("ENABLE_EVAL_JS", "bool", False, "Offer browser_evaluate in standalone mode.", (ENGINE,)),
    Setting("MAX_REDIRECTS", "int", 20, "Redirects that one navigation may follow.", (GATEWAY, ENGINE), 0, 50),
    Setting("TELEBROWSER_MAX_FILE_MB", "int", 1024, "Megabytes that one file which an agent sends for a file input may have.", (GATEWAY,), 1, 1048576),
    Setting("LOG_LEVEL", "choice", "info", "Least level that is logged.", (GATEWAY, SUPERVISOR, ENGINE), choices=LOG_LEVELS),
)

BY_FIELD = {setting.field: setting for setting in SETTINGS}


class Settings:
    """The checked values of one program's settings, as attributes named after `Setting.field`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def replace(self, **changes: Any) -> Settings:
        """A copy with some values replaced; names are those of `BY_FIELD`."""
        return Settings({**self._values, **changes})

    def as_dict(self) -> dict[str, Any]:
        """All values, without the secret."""
        return {name: value for name, value in self._values.items() if name != "secret"}


def parse(setting: Setting, text: str, source: str) -> Any:
    """The typed value of ``text``; ``source`` (a variable or an option) is named in the error."""
    if setting.kind == "int":
        return _parse_int(setting, text, source)
    if setting.kind == "bool":
        word = text.strip().lower()
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return word in TRUE_WORDS
        raise ConfigError(f"{source} must be 1, true, yes or on, or 0, false, no or off; it is {text!r}")
    if setting.kind == "choice":
        if text.strip().lower() not in setting.choices:
            raise ConfigError(f"{source} must be one of {', '.join(setting.choices)}; it is {text!r}")
        return text.strip().lower()
    if setting.kind == "list":
        return _parse_list(setting, text, source)
    if setting.kind == "command":
        return _parse_command(text, source)
    if setting.kind == "path":
        return os.path.expanduser(text)
    return text


def _parse_list(setting: Setting, text: str, source: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if unknown := [part for part in found if setting.choices and part not in setting.choices]:
        raise ConfigError(f"{source} may hold {', '.join(setting.choices)}; it has {unknown[0]!r}")
    return found


def _parse_command(text: str, source: str) -> tuple[str, ...]:
    import shlex

    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"{source} must be a program and its arguments, quoted as for a shell: {error}") from None


def _parse_int(setting: Setting, text: str, source: str) -> int:
    try:
        value = int(text.strip())
    except ValueError:
        raise ConfigError(f"{source} must be a whole number; it is {text!r}") from None
    if (setting.low is not None and value < setting.low) or (setting.high is not None and value > setting.high):
        raise ConfigError(f"{source} must be from {setting.low} to {setting.high}; it is {value}")
    return value


def load(*parts: str, environ: Mapping[str, str] | None = None, options: Mapping[str, str] | None = None) -> Settings:
    """Read and check the settings of ``parts``.

    ``options`` (field name → text, from the command line) wins over ``environ`` (default `os.environ`),
    which wins over the default. An empty variable counts as unset, except for a bool. Raises
    `ConfigError` naming the variable or option.
    """
    environ = os.environ if environ is None else environ
    options = options or {}
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        if not set(parts) & set(setting.parts):
            continue
        values[setting.field] = _value(setting, environ, options)
    if "tool_timeout_ms" in values and values["tool_timeout_ms"] > values["max_timeout_ms"]:
        raise ConfigError(f"TOOL_TIMEOUT_MS ({values['tool_timeout_ms']}) must not be above MAX_TIMEOUT_MS ({values['max_timeout_ms']})")
    return Settings(values)


def from_command_line(arguments: Sequence[str], *parts: str, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of ``parts`` from options (``--port 1``, ``--port=1``, ``--evaluate``) and the environment.

    Every setting of these parts is an option. Raises `ExitError` naming an unknown option or a missing value,
    and `ConfigError` naming a bad one.
    """
    known = {setting.option: setting for setting in SETTINGS if set(parts) & set(setting.parts)}
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word, separator, value = rest.pop(0).partition("=")
        setting = known.get(word)
        if setting is None:
            raise ExitError(EXIT_USAGE, f"unknown option {word}; the options are {' '.join(sorted(known))}")
        if not separator:
            if setting.kind == "bool" and (not rest or rest[0].startswith("--")):
                value = "1"
            elif rest:
                value = rest.pop(0)
            else:
                raise ExitError(EXIT_USAGE, f"option {word} needs a value")
        options[setting.field] = value
    return load(*parts, environ=environ, options=options)


def to_environ(settings: Settings, *parts: str) -> dict[str, str]:
    """The variables from which a program of ``parts`` reads these very values; an unset one is empty, which counts as unset."""
    return {
        setting.name: _text(setting, getattr(settings, setting.field))
        for setting in SETTINGS
        if set(parts) & set(setting.parts) and setting.field in settings.as_dict()
    }


def _text(setting: Setting, value: Any) -> str:
    if value is None:
        return ""
    if setting.kind == "command":
        import shlex

        return shlex.join(value)
    if isinstance(value, bool):
        return "1" if value else "0"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _value(setting: Setting, environ: Mapping[str, str], options: Mapping[str, str]) -> Any:
    if setting.field in options:
        return parse(setting, options[setting.field], setting.option)
    for name in (setting.name, setting.alias):
        if name and environ.get(name, "") != "":
            return parse(setting, environ[name], name)
    if setting.kind == "path" and setting.default is not None:
        return os.path.expanduser(setting.default)
    return setting.default

"""Where the gateway is and what opens it: address, project and token.

The token is a secret. It appears in `Address.http` and `Address.ws` only; errors and logs name `Address.shown`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from .. import tokens
from ..config import Settings
from ..errors import EXIT_UNREACHABLE, EXIT_USAGE, ConfigError, ExitError

DEFAULT_URL = "http://127.0.0.1:5858"
URL_FILE = "url"
TOKENS_FILE = "tokens"
SESSION_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
MAX_SESSION_LENGTH = 64


class Address(NamedTuple):
    """A gateway and the project on it."""

    secure: bool
    host: str
    port: int
    prefix: str
    project: str
    token: str

    @property
    def authority(self) -> str:
        """``host:port``, with the brackets that IPv6 needs."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def shown(self) -> str:
        """The address for messages: without the token."""
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.prefix}"

    def path(self, rest: str) -> str:
        """The request path of ``rest`` below the token; a secret."""
        return f"{self.prefix}/t/{quote(self.token, safe='.')}" + (f"/{rest}" if rest else "")

    def http(self, rest: str = "") -> str:
        """The HTTP address of ``rest`` below the token; a secret."""
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.path(rest)}"

    def ws(self, rest: str) -> str:
        """The WebSocket address of ``rest`` below the token; a secret."""
        return f"{'wss' if self.secure else 'ws'}://{self.authority}{self.path(rest)}"


def find(settings: Settings, project: str) -> Address:
    """The gateway of ``settings`` (those of config.LAUNCHER) and the token of ``project``.

    Raises `ConfigError` when the address is malformed or there is neither a secret nor a token.
    """
    secure, host, port, prefix = configured(settings)
    return Address(secure, host, port, prefix, project, token(settings, project))


def configured(settings: Settings) -> tuple[bool, str, int, str]:
    """The gateway's address as `parse_url` gives it. Raises `ConfigError`."""
    return parse_url(*_url(settings))


def _url(settings: Settings) -> tuple[str, str]:
    """The address and where it came from."""
    if settings.url:
        return settings.url, "TELEBROWSER_URL"
    path = os.path.join(settings.config_dir, URL_FILE)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            line = file.readline(4096).strip()
    except (FileNotFoundError, NotADirectoryError):
        return DEFAULT_URL, "the default"
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    return (line, path) if line else (DEFAULT_URL, "the default")


def parse_url(url: str, source: str) -> tuple[bool, str, int, str]:
    """``(secure, host, port, path prefix)`` of an http or https (or ws, wss) address; ``source`` is named in the `ConfigError`."""
    problem = f"the gateway's address from {source} must look like {DEFAULT_URL}"
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise ConfigError(problem) from None
    if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
        raise ConfigError(problem)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ConfigError(f"{problem}, without user name, query or fragment")
    secure = parts.scheme in ("https", "wss")
    return secure, parts.hostname, port or (443 if secure else 80), quote(parts.path.rstrip("/"), safe="/%")


def secret(settings: Settings) -> bytes | None:
    """The secret: TELEBROWSER_SECRET, else the file ``secret``; None on a host that has neither. Raises `ConfigError`."""
    if settings.secret:
        return tokens.check_secret(os.fsencode(settings.secret), "TELEBROWSER_SECRET")
    path = os.path.join(settings.config_dir, tokens.SECRET)
    return tokens.read_secret_file(path) if os.path.lexists(path) else None


def token(settings: Settings, project: str) -> str:
    """The token of ``project``: derived from the `secret`, else a line of the file ``tokens``."""
    if (known := secret(settings)) is not None:
        return tokens.derive(known, project)
    path = os.path.join(settings.config_dir, tokens.SECRET)
    listed = os.path.join(settings.config_dir, TOKENS_FILE)
    if not os.path.lexists(listed):
        raise ConfigError(f"there is no secret: set TELEBROWSER_SECRET, put it into {path}, or run `telebrowser up` on this machine")
    for line in tokens.read_private_file(listed, "token file").decode("utf-8", "replace").split():
        if line.rpartition(".")[0] == project:
            return line
    raise ConfigError(f"{listed} holds no token for the project {project}")


def check_session(name: str) -> str:
    """``name`` when it can name a session; raises `ExitError` otherwise."""
    if not 0 < len(name) <= MAX_SESSION_LENGTH or not SESSION_LETTERS.issuperset(name):
        raise ExitError(EXIT_USAGE, f"--session must be 1 to {MAX_SESSION_LENGTH} letters, digits, _ or -; it is {name!r}")
    return name


def unreachable(address: Address, reason: str) -> ExitError:
    """The one line for a gateway that does not answer."""
    return ExitError(EXIT_UNREACHABLE, unreachable_text(address, reason))


def unreachable_text(address: Address, reason: str) -> str:
    """What to say and do about a gateway that does not answer."""
    return f"the gateway at {address.shown} does not answer ({reason}); start it with `telebrowser up`, or check TELEBROWSER_URL"


def forbidden_text(address: Address) -> str:
    """What to say and do about a token that is not accepted."""
    return f"the gateway at {address.shown} does not accept the token of the project {address.project}; check that the secret here is the gateway's"


Finder = Callable[[], Address]

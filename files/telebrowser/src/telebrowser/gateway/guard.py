"""What a client may make the browser open: addresses by scheme, files by folder.

`file:` and `chrome:` addresses reach other projects' profiles and the browser's controls, and a file
input hands any file to the page's script, so both are allow-lists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .wire import INVALID_PARAMS, SERVER_ERROR, ProtocolError

MAX_NAMES = 1000
"""Names of its own that one session may have; the oldest goes first."""
_STRIPPED = "".join(chr(code) for code in range(33))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_OPEN_SCHEMES = frozenset({"http", "https", "data"})
_BLANK = re.compile(r"about:(blank|srcdoc)([?#].*)?", re.IGNORECASE | re.DOTALL)
_BLOB = re.compile(r"blob:(https?://|null/)", re.IGNORECASE)


def refused(url: str) -> str | None:
    """Why ``url`` must not be opened, or None when it may.

    Blanks and control characters around it do not count, as in Chromium. Chromium also drops tabs and line ends inside;
    a scheme that is written with them is none of those allowed here.
    """
    plain = url.strip(_STRIPPED)
    if not plain:
        return None
    found = _SCHEME.match(plain)
    if found is None:
        return "an address must be absolute"
    scheme = found.group(1).lower()
    if scheme in _OPEN_SCHEMES or (scheme == "about" and _BLANK.fullmatch(plain)) or (scheme == "blob" and _BLOB.match(plain)):
        return None
    return f"{scheme}: addresses are not allowed; use http, https, data or about:blank"


def check_url(value: Any, name: str = "url") -> str:
    """``value`` as an address that may be opened. Raises `ProtocolError`."""
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"Invalid parameters: {name}: string value expected")
    reason = refused(value)
    if reason is not None:
        raise ProtocolError(SERVER_ERROR, f"Cannot open the address: {reason}")
    return value


class FileGuard:
    """Confines the files that a client names to some folders.

    A session may have names of its own for files in them: paths that mean the agent's machine, for tools that know no other.
    """

    def __init__(self, roots: Iterable[Path], names: Mapping[str, str] | None = None) -> None:
        self._roots = tuple(roots)
        self._admitted: set[str] = set()
        self._names = {} if names is None else names
        self._sessions: dict[str, dict[str, str]] = {}

    def of(self, session: str | None) -> FileGuard:
        """The guard of one session, with its own names."""
        if session is None:
            return self
        guard = FileGuard(self._roots, self._sessions.setdefault(session, {}))
        guard._admitted = self._admitted
        return guard

    def name(self, session: str, path: str, file: str) -> None:
        """From now on ``path`` means ``file`` to a session. Raises `ProtocolError` when it may not have that file."""
        names = self._sessions.setdefault(session, {})
        names[path] = self.check([file])[0]
        while len(names) > MAX_NAMES:
            del names[next(iter(names))]

    def forget(self, session: str) -> None:
        """A session has ended."""
        self._sessions.pop(session, None)

    def admit(self, path: str) -> None:
        """Allow one file more, by its real path. Only for a browser whose user and machine are the client's own."""
        self._admitted.add(path)

    def check(self, values: Any) -> list[str]:
        """``values`` as real paths of regular files below one of the folders, links resolved.

        Raises `ProtocolError`, with one text whether a file outside exists or not.
        """
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: files: array expected")
        return [self._one(value) for value in values]

    def _one(self, value: Any) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: files: string value expected")
        real = os.path.realpath(self._names.get(value, value))
        inside = real in self._admitted or any(real.startswith(os.path.realpath(root) + os.sep) for root in self._roots)
        if not inside or not os.path.isfile(real):
            raise ProtocolError(SERVER_ERROR, f"File is not below the project's uploads or downloads: {value}")
        return real


def check_drag_items(items: Any) -> None:
    """Refuses a dropped address that may not be opened. Raises `ProtocolError`."""
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and str(item.get("mimeType", "")).lower() in {"text/uri-list", "text/x-moz-url", "url"}:
            for line in str(item.get("data", "")).splitlines():
                if line.strip() and not line.startswith("#") and _SCHEME.match(line.strip()):
                    check_url(line, "data")

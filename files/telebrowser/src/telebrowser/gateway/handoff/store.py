"""Handoffs on disk: one JSON file each, so that they outlive the gateway. An address is kept without its query and fragment."""

from __future__ import annotations

import logging
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ...datadir import read_json, write_json
from ...errors import ConfigError
from .machine import ENDS, OPEN, Condition, Handoff

log = logging.getLogger(__name__)

KEPT = 200
"""Ended handoffs that are kept; older ones are removed."""
_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "float | None": (int, float, type(None))}


class Store:
    """The folder of the handoffs. A disk that is full costs what a restart would need, never a handoff."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed = False

    def prepare(self) -> None:
        """Make the folder. Raises `ConfigError` when that is not possible."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the folder of the handoffs {self._folder} cannot be made: {error.strerror}") from None

    def load(self) -> list[Handoff]:
        """All that are kept, oldest first. A file that holds none is left alone and named in the log."""
        found = []
        for path in sorted(self._folder.glob("h*.json")):
            handoff = decode(read_json(path))
            if handoff is None or path.name != f"{handoff.id}.json":
                log.error("%s holds no handoff; it is left as it is", path)
            else:
                found.append(handoff)
        return sorted(found, key=lambda handoff: handoff.asked_at)

    def save(self, handoff: Handoff) -> bool:
        """Write one; whether it is on disk."""
        try:
            write_json(self._path(handoff.id), encode(handoff))
        except OSError as error:
            if not self._failed:
                log.error("handoffs cannot be saved in %s: %s", self._folder, error.strerror)
            self._failed = True
            return False
        self._failed = False
        return True

    def remove(self, ident: str) -> None:
        """Delete one."""
        self._path(ident).unlink(missing_ok=True)

    def _path(self, ident: str) -> Path:
        return self._folder / f"{ident}.json"


def encode(handoff: Handoff) -> dict[str, Any]:
    """A handoff as JSON."""
    return asdict(replace(handoff, url=plain(handoff.url), condition=None)) | {"condition": handoff.condition._asdict() if handoff.condition else None}


def decode(value: dict[str, Any] | None) -> Handoff | None:
    """The handoff in a JSON object, or None when it is none: a field is missing, of another type, or of another state than there are."""
    if value is None:
        return None
    kept: dict[str, Any] = {}
    for field in fields(Handoff):
        if field.name not in value:
            continue
        given = value[field.name]
        if field.name == "condition":
            given = _condition(given)
        elif field.name == "state":
            if given != OPEN and given not in ENDS:
                return None
        elif not isinstance(given, _TYPES[str(field.type)]) or (isinstance(given, bool) and field.type != "bool"):
            return None
        kept[field.name] = given
    try:
        return Handoff(**kept)
    except TypeError:
        return None


def _condition(value: Any) -> Condition | None:
    if not isinstance(value, dict):
        return None
    parts = {name: value.get(name) for name in Condition._fields}
    return Condition(**{name: part if isinstance(part, str) else None for name, part in parts.items()})


def plain(url: str) -> str:
    """An address without what may be a secret in it: user, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path if parts.netloc else "", "", ""))

"""Putting our server into a client's configuration file. All else in the file stays; what cannot be kept is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import EXIT_CONFIG, EXIT_FAILED, ExitError
from .clients import NAME, Client, Entry, toml_entry

ONCE = frozenset({"tool_timeout_sec", "enabled"})
"""Set in a new entry only: a person may have changed them since."""
VARIABLES = frozenset({"env", "environment"})
MODE = 0o600


class Installed(NamedTuple):
    """What became of a file; ``backup`` is the copy of what was there before, where anything was changed."""

    file: str
    changed: bool
    backup: str | None


def install(client: Client, file: str, command: str, environment: Mapping[str, str], ours: Iterable[str]) -> Installed:
    """Put our server into ``file``. ``ours`` are the variables that we set; those that are not wanted now are removed. Raises `ExitError`."""
    before = _read(file)
    entry = client.entry(command, environment)
    text = (_toml if client.toml else _json)(client, before or "", entry, frozenset(ours), file)
    return write(file, text, before)


def replace(file: str, text: str) -> Installed:
    """Make ``text`` the whole of ``file``. Raises `ExitError`."""
    return write(file, text, _read(file))


def write(file: str, text: str, before: str | None) -> Installed:
    """Replace a file in one step and keep a copy of what it was; nothing is done when it is the same. Raises `ExitError`."""
    if text == before:
        return Installed(file, False, None)
    target = os.path.realpath(file)  # dotfiles are often links into a repository of them
    backup = None
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        if before is not None:
            backup = f"{target}.{time.strftime('%Y%m%d-%H%M%S')}.bak"
            shutil.copy2(target, backup)
        descriptor, temporary = tempfile.mkstemp(prefix=".telebrowser-", dir=os.path.dirname(target))
        try:
            with open(descriptor, "w", encoding="utf-8") as out:
                out.write(text)
            if before is None:
                os.chmod(temporary, MODE)
            else:
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ExitError(EXIT_FAILED, f"cannot write {target}: {error.strerror}") from None
    return Installed(file, True, backup)


def _read(file: str) -> str | None:
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ExitError(EXIT_CONFIG, f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None


def merged(old: Entry, new: Entry, ours: frozenset[str]) -> Entry:
    """Our entry over the one that is there: a person's own keys and variables stay."""
    result = {**old, **{name: value for name, value in new.items() if name not in VARIABLES and not (name in ONCE and name in old)}}
    for name in VARIABLES & (new.keys() | old.keys()):
        kept = {key: value for key, value in old.get(name, {}).items() if key not in ours} if isinstance(old.get(name), dict) else {}
        variables = {**kept, **new.get(name, {})}
        if variables:
            result[name] = variables
        else:
            result.pop(name, None)
    return result


# JSON


def _json(client: Client, before: str, entry: Entry, ours: frozenset[str], file: str) -> str:
    data = _parse_json(before, file) if before.strip() else dict(client.extra)
    section = data.setdefault(client.section, {})
    if not isinstance(section, dict) or not isinstance(section.get(NAME, {}), dict):
        raise ExitError(EXIT_CONFIG, f"{file}: {client.section} is not an object; mend it, or put in what `telebrowser config` prints")
    new = merged(section.get(NAME, {}), entry, ours)
    if section.get(NAME) == new:
        return before
    section[NAME] = new
    return json.dumps(data, indent=_indent(before), ensure_ascii=False) + "\n"


def _parse_json(text: str, file: str) -> dict[str, Any]:
    hint = "put in by hand what `telebrowser config` prints"
    try:
        data = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
    except ValueError as error:
        raise ExitError(EXIT_CONFIG, f"{file} cannot be changed without loss ({error}); {hint}") from None
    if not isinstance(data, dict):
        raise ExitError(EXIT_CONFIG, f"{file} does not hold a JSON object; {hint}")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _indent(text: str) -> int | str:
    """The indentation of a file, as its first indented line shows it."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else 2


# TOML: lines are changed, since comments and order have to stay


def _toml(client: Client, before: str, entry: Entry, ours: frozenset[str], file: str) -> str:
    import tomllib

    hint = "put in by hand what `telebrowser config` prints"
    try:
        data = tomllib.loads(before)
        section = data.get(client.section, {})
        old = section.get(NAME) if isinstance(section, dict) else section
        if not isinstance(old, dict | None):
            raise ExitError(EXIT_CONFIG, f"{file}: {client.section} is not a table; mend it, or {hint}")
        new = merged(old or {}, entry, ours)
        if old == new:
            return before
        if old is None:
            text = before + ("" if not before or before.endswith("\n") else "\n") + ("\n" if before.strip() else "") + toml_entry(client.section, entry) + "\n"
        else:
            text = _changed_lines(before, f"{client.section}.{NAME}", old, new)
        if tomllib.loads(text) != {**data, client.section: {**section, NAME: new}}:
            raise ValueError("its entry is written in a way that cannot be changed by lines")
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise ExitError(EXIT_CONFIG, f"{file} cannot be changed without loss ({error}); {hint}") from None
    return text


def _changed_lines(text: str, table: str, old: Entry, new: Entry) -> str:
    flat = [name for name in new if not isinstance(new[name], dict) and old.get(name) != new[name]]
    lines = _set(text.splitlines(), table, {name: new[name] for name in flat}, frozenset())
    for name in VARIABLES & (old.keys() | new.keys()):
        wanted = new.get(name, {})
        lines = _set(lines, f"{table}.{name}", wanted, frozenset(old.get(name, {})) - wanted.keys())
    return "\n".join(lines) + "\n"


def _set(lines: list[str], table: str, values: Mapping[str, Any], remove: frozenset[str]) -> list[str]:
    """Lines with these keys of a table set and removed; a table that is not there is added at the end."""
    start = next((number for number, line in enumerate(lines) if re.match(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$", line)), None)
    if start is None:
        return [*lines, "", f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())] if values else lines
    end = next((number for number in range(start + 1, len(lines)) if lines[number].lstrip().startswith("[")), len(lines))
    body = lines[start + 1 : end]
    for name in remove:
        body = [line for line in body if not _sets(line, name)]
    for name, value in values.items():
        line = f"{name} = {json.dumps(value)}"
        place = next((number for number, each in enumerate(body) if _sets(each, name)), None)
        if place is None:
            body.insert(0, line)
        else:
            body[place] = line
    return [*lines[: start + 1], *body, *lines[end:]]


def _sets(line: str, name: str) -> bool:
    return re.match(rf'\s*"?{re.escape(name)}"?\s*=', line) is not None

# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table of a TOML file changed in its text, so that comments and order of everything else stay. **Private** to the collection.

The text is cut into statements (headers and assignments) without being understood further; whether the result means what was wanted says a real parser,
in `_mcp_clients`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlError(ValueError):
    """The text is cut nowhere that this module knows."""


class Statement(NamedTuple):
    """``text[start:end]`` is a header (``[a.b]``) or an assignment (``a.b = …``), its comment and line end included."""

    start: int
    end: int
    header: bool
    keys: Tuple[str, ...]


def statements(text: str) -> List[Statement]:
    """The statements of a TOML text in their order. Raises `TomlError`."""
    found = []
    place = 0
    while place < len(text):
        letter = text[place]
        if letter in " \t\r\n":
            place += 1
        elif letter == "#":
            place = _line_end(text, place)
        else:
            start = place
            header = letter == "["
            if header:
                place += 2 if text.startswith("[[", place) else 1
            keys, place = _keys(text, place)
            if not header:
                if text[place : place + 1] != "=":
                    raise TomlError("no = after a key at line %d" % (text.count("\n", 0, place) + 1))
                place = _value_end(text, place + 1)
            place = _line_end(text, place)
            found.append(Statement(start, place, header, keys))
    return found


def with_values(text: str, table: Sequence[str], values: Dict[str, Any], unset: Sequence[str] = ()) -> str:
    """The text with these keys of the table set, and those of ``unset`` gone; the table is added at the end when there is none."""
    table = tuple(table)
    parts = statements(text)
    head = next((place for place, part in enumerate(parts) if part.header and part.keys == table), None)
    if head is None:
        if not values:
            return text
        lines = ["[%s]\n" % ".".join(_key(key) for key in table)] + ["%s = %s\n" % (_key(key), dump(value)) for key, value in values.items()]
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return text + gap + "".join(lines)
    body = []
    for part in parts[head + 1 :]:
        if part.header:
            break
        body.append(part)
    edits = []  # type: List[Tuple[int, int, str]]
    last = body[-1].end if body else parts[head].end
    missing = dict(values)
    for part in body:
        if len(part.keys) == 1 and part.keys[0] in missing:
            edits.append((part.start, part.end, "%s = %s\n" % (_key(part.keys[0]), dump(missing.pop(part.keys[0])))))
        elif len(part.keys) == 1 and part.keys[0] in unset:
            edits.append((part.start, part.end, ""))
    added = "".join("%s = %s\n" % (_key(key), dump(value)) for key, value in missing.items())
    if added:
        edits.append((last, last, ("" if text[:last].endswith("\n") else "\n") + added))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def without_table(text: str, table: Sequence[str]) -> str:
    """The text without the table and the tables below it. Comments above its header stay."""
    table = tuple(table)
    spans = []  # type: List[Tuple[int, int]]
    inside = False
    for part in statements(text):
        if part.header:
            inside = part.keys[: len(table)] == table
            if inside:
                spans.append((part.start, part.end))
        elif inside:
            spans[-1] = (spans[-1][0], part.end)
    for start, end in reversed(spans):
        before, after = text[:start], text[end:]
        if not after.strip():
            before, after = before.rstrip() + "\n" if before.strip() else "", ""
        elif (before.endswith("\n\n") or not before) and after.startswith("\n"):
            after = after[1:]
        text = before + after
    return text


def dump(value: Any) -> str:
    """A value as TOML. JSON's strings are TOML's."""
    if isinstance(value, dict):
        return "{ %s }" % ", ".join("%s = %s" % (_key(key), dump(item)) for key, item in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(dump(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _keys(text: str, place: int) -> Tuple[Tuple[str, ...], int]:
    """A dotted key from ``place`` on, and what follows it after blanks."""
    keys = []
    while True:
        place = _blanks(text, place)
        bare = BARE.match(text, place)
        if bare:
            keys.append(bare.group())
            place = bare.end()
        elif text[place : place + 1] in ('"', "'"):
            end = _string_end(text, place)
            keys.append(_unquoted(text[place:end]))
            place = end
        else:
            raise TomlError("no key at line %d" % (text.count("\n", 0, place) + 1))
        place = _blanks(text, place)
        if text[place : place + 1] != ".":
            return tuple(keys), place
        place += 1


def _unquoted(quoted: str) -> str:
    if quoted[0] == "'":
        return quoted[1:-1]
    try:
        return json.loads(quoted)
    except ValueError:
        return quoted[1:-1]


def _blanks(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    return place


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end + 1


def _string_end(text: str, place: int) -> int:
    """Where the string that begins at ``place`` has ended."""
    quote = text[place]
    mark = quote * 3 if text.startswith(quote * 3, place) else quote
    place += len(mark)
    while place < len(text):
        if text[place] == "\\" and quote == '"':
            place += 2
        elif text.startswith(mark, place):
            place += len(mark)
            # Up to two quotes may stand before the three that end it.
            while len(mark) == 3 and text[place : place + 1] == quote:
                place += 1
            return place
        elif text[place] == "\n" and len(mark) == 1:
            break
        else:
            place += 1
    raise TomlError("a string has no end")


def _value_end(text: str, place: int) -> int:
    """Where a value has ended: at the line's end outside of strings and brackets."""
    depth = 0
    while place < len(text):
        letter = text[place]
        if letter in ('"', "'"):
            place = _string_end(text, place)
            continue
        if letter == "#":
            place = text.find("\n", place)
            if place < 0:
                return len(text)
            continue
        if letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "\n" and depth <= 0:
            return place
        place += 1
    if depth > 0:
        raise TomlError("a bracket has no end")
    return place


def find(text: str, table: Sequence[str]) -> Optional[Statement]:
    """The header of a table, None when the text has none."""
    return next((part for part in statements(text) if part.header and part.keys == tuple(table)), None)

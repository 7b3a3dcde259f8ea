# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which folders a backup reads, from its own configuration, and whether a folder is among them. **Private** to the collection.

When in doubt a folder counts as backed up: a wrong alarm costs a look, a missed one a copy of every login.
"""

from __future__ import annotations

import fnmatch
import re
from typing import Iterable, List, NamedTuple, Tuple

FORMATS = ("lines", "borgmatic", "rsnapshot", "script")
ABSOLUTE = re.compile(r"""(?:^|[\s"'=:(])(/[^\s"'`;|&<>()*?$]*)""")
BORG_STYLE = re.compile(r"^(?:pp|pf|fm|sh):")


class Selection(NamedTuple):
    """What a backup takes, and what of it it leaves out: absolute paths and shell patterns."""

    included: List[str]
    excluded: List[str]


def format_of(path: str) -> str:
    """What kind of file a name speaks of."""
    name = path.rsplit("/", 1)[-1].lower()
    if "rsnapshot" in name:
        return "rsnapshot"
    if name.endswith((".yaml", ".yml")):
        return "borgmatic"
    if name.endswith((".txt", ".lst", ".list", ".include", ".includes", ".files")):
        return "lines"
    return "script"


def read(text: str, kind: str) -> Selection:
    """The selection that a configuration of this kind makes."""
    return {"lines": _lines, "borgmatic": _borgmatic, "rsnapshot": _rsnapshot, "script": _script}[kind](text)


def _lines(text: str) -> Selection:
    """One path a line, as restic's --files-from; and borg's patterns, R for a root, - and ! for what is left out."""
    result = Selection([], [])
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        mark, rest = line[:1], line[2:] if line[1:2] == " " else ""
        if mark in ("R", "+", "-", "!", "P") and rest.strip():
            line = BORG_STYLE.sub("", rest.strip())
            if mark in ("-", "!"):
                result.excluded.append(line)
            elif mark != "P":
                result.included.append(line)
        elif line.startswith("!/"):
            result.excluded.append(line[1:])
        else:
            result.included.append(line)
    return result


def _borgmatic(text: str) -> Selection:
    """The lists of borgmatic's file; without a YAML parser, since the host may have none."""
    result = Selection([], [])
    target = None
    for line in text.splitlines():
        bare = line.split(" #", 1)[0].strip()
        key, colon, rest = bare.partition(":")
        if colon and not bare.startswith("- "):
            target = {
                "source_directories": result.included,
                "exclude_patterns": result.excluded,
                "patterns": _Patterns(result),
            }.get(key.strip())
            if target is not None and rest.strip().startswith("["):
                for word in rest.strip().strip("[]").split(","):
                    target.append(_unquoted(word))
        elif bare.startswith("- ") and target is not None:
            target.append(_unquoted(bare[2:]))
    excluded = [BORG_STYLE.sub("", path) for path in result.excluded]
    return Selection(result.included, excluded)


class _Patterns(list):
    """Takes a line of borg's patterns into a selection."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self.selection = selection

    def append(self, line: str) -> None:
        found = _lines(line)
        self.selection.included.extend(found.included)
        self.selection.excluded.extend(found.excluded)


def _unquoted(word: str) -> str:
    return word.strip().strip("\"'")


def _rsnapshot(text: str) -> Selection:
    """Fields by tabs: backup, its source and its place; exclude and a pattern."""
    result = Selection([], [])
    for line in text.splitlines():
        words = line.split("\t") if "\t" in line else line.split()
        words = [word.strip() for word in words if word.strip()]
        if len(words) > 1 and words[0] == "backup":
            result.included.append(words[1])
        elif len(words) > 1 and words[0] == "exclude":
            result.excluded.append(words[1])
    return result


def _script(text: str) -> Selection:
    """Every absolute path that is named, whatever for: a script is not understood, only read. What it leaves out is not counted."""
    found = []
    for line in text.splitlines():
        if not line.lstrip().startswith("#"):
            found += [path for path in ABSOLUTE.findall(line) if not path.startswith("//")]
    return Selection(found, [])


def takes(path: str, selection: Selection, parts: bool) -> Tuple[str, ...]:
    """The included paths because of which ``path``, or with ``parts`` something in it, is taken; none when it is left out."""
    if any(_matches(path, pattern) for pattern in selection.excluded):
        return ()
    return tuple(dict.fromkeys(found for found in selection.included if covers(found, path, parts)))


def covers(included: str, path: str, parts: bool) -> bool:
    """Whether taking ``included`` takes ``path``, or with ``parts`` a part of it."""
    included = included.rstrip("/") or "/"
    if included == "/" or (parts and included.startswith(path.rstrip("/") + "/")):
        return True
    return any(fnmatch.fnmatchcase(parent, included) for parent in parents(path))


def _matches(path: str, pattern: str) -> bool:
    """Whether a pattern leaves out ``path`` as a whole: it, or a folder that it is in."""
    pattern = pattern.rstrip("/")
    if pattern.startswith("/"):
        return any(fnmatch.fnmatchcase(parent, pattern) for parent in parents(path))
    return False


def parents(path: str) -> Iterable[str]:
    """The path and the folders that it is in, without the root."""
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[:count]) for count in range(len(parts), 0, -1)]

"""The files of a folder of downloads, as HTTP answers, tools and resources list them. Standard library only."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any


def listing(folder: Path, limit: int | None = None) -> dict[str, Any]:
    """The visible regular files of a folder, the newest first: name, size in bytes, time of the last change in UTC.

    ``limit`` bounds how many are told; ``total`` and ``truncated`` then say what was left out. Files are not opened.
    """
    found: list[tuple[float, str, int]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, entry.name, status.st_size))
    except FileNotFoundError:
        pass
    found.sort(key=lambda row: (-row[0], row[1]))
    files = [{"name": name, "size": size, "modified": iso(modified)} for modified, name, size in found[:limit]]
    told: dict[str, Any] = {"directory": str(folder), "files": files}
    if limit is not None:
        told |= {"total": len(found), "truncated": len(found) > limit}
    return told


def iso(seconds: float) -> str:
    """A moment as text, in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")

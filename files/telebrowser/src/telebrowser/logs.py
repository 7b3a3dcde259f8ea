"""Logs that other processes append to: opened, kept small, and read for their last line."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

LAST_LINE_BYTES = 4096


def open_log(path: Path) -> int:
    """A descriptor for a child's output. Appending, so that `rotate` can cut the file under its writer. The caller closes it. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def rotate(path: Path, max_bytes: int) -> None:
    """Once ``path`` exceeds ``max_bytes``, move its content to ``<path>.1``; the file itself stays, for its writer has it open."""
    # A log is never worth failing for, a full disk least of all: then it is cut without a copy.
    with contextlib.suppress(OSError):
        if path.stat().st_size <= max_bytes:
            return
        try:
            with contextlib.suppress(OSError):
                shutil.copyfile(path, path.with_name(path.name + ".1"), follow_symlinks=False)
                os.chmod(path.with_name(path.name + ".1"), 0o600)
        finally:
            os.truncate(path, 0)


def last_line(path: Path, offset: int = 0) -> str:
    """The last line that is not blank after ``offset`` bytes; empty when there is none."""
    try:
        with open(path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(min(offset, end), end - LAST_LINE_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")

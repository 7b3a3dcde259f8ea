"""Who did what, one JSON object a line in ``audit/<date>.jsonl``. Never a token, a path of an address, or typed text."""

from __future__ import annotations

import datetime
import json
import logging
import os
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


class Audit:
    """Appends to the file of the day (UTC). A disk that is full costs lines, never a request."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._day = ""
        self._descriptor = -1
        self._failed = False

    def write(self, project: str, event: str, **fields: Any) -> None:
        """One line: time, project, event, and the fields that have a value."""
        now = datetime.datetime.now(datetime.UTC)
        known = {key: value for key, value in fields.items() if value is not None}
        line = {"time": now.isoformat(timespec="milliseconds"), "project": project, "event": event, **known}
        try:
            os.write(self._file(now.date().isoformat()), json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self._failed = False
        except OSError as error:
            if not self._failed:
                log.error("the audit cannot be written in %s: %s", self._folder, error.strerror)
            self._failed = True

    def _file(self, day: str) -> int:
        if day != self._day or self._descriptor < 0:
            self.close()
            self._descriptor = os.open(self._folder / f"{day}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._day = day
        return self._descriptor

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

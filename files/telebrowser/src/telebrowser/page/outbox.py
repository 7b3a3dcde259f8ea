"""Files that an engine makes for its agent: within the answer while they are small, else in a folder that only the gateway serves."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import secrets
import time
from pathlib import Path
from typing import Any

from .. import beneath
from ..datadir import is_disk_full
from ..errors import TelebrowserError

INLINE_BYTES = 1 << 20
"""Up to this size a file travels within the answer, which saves its way of its own."""
KEEP_SECONDS = 3600.0
NAME = re.compile(r"[0-9a-f]{32}")


class Outgoing:
    """A file that is being written for the agent; `mark` is what the answer says of it. Used in a thread: its methods block."""

    def __init__(self, folder: Path) -> None:
        self.size = 0
        self._folder = folder
        self._kept: list[bytes] = []
        self._arrival: beneath.Arrival | None = None
        self._hasher = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Append. Raises `TelebrowserError` DISK_FULL."""
        self.size += len(data)
        self._hasher.update(data)
        self._kept.append(data)
        if self._arrival is None and self.size <= INLINE_BYTES:
            return
        try:
            if self._arrival is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                sweep(self._folder, time.time() - KEEP_SECONDS)
                self._arrival = beneath.Arrival(beneath.open_folder(self._folder.parent, (self._folder.name,)), mode=0o600)
            for piece in self._kept:
                self._arrival.write(piece)
        except OSError as error:
            self.close()
            raise TelebrowserError("DISK_FULL" if is_disk_full(error) else "INTERNAL", f"{self._folder} cannot be written: {error.strerror}") from None
        self._kept.clear()

    def mark(self) -> dict[str, Any]:
        """Finish the file: where the launcher finds it, its size and its checksum."""
        told = {"size": self.size, "sha256": self._hasher.hexdigest()}
        if self._arrival is None:
            return {"data": base64.b64encode(b"".join(self._kept)).decode(), **told}
        name = secrets.token_hex(16)
        self._arrival.publish(name, replace=False)
        self.close()
        return {"outbox": name, **told}

    def copy_to(self, arrival: beneath.Arrival) -> None:
        """Write the whole file into another. Raises OSError."""
        if self._arrival is None:
            for piece in self._kept:
                arrival.write(piece)
            return
        beneath.copy(self._arrival.descriptor, arrival)

    def close(self) -> None:
        """Throw away what is not finished."""
        if self._arrival is not None:
            self._arrival.close()


def sweep(folder: Path, before: float) -> None:
    """Remove files that no launcher has taken."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < before:
                os.unlink(path)

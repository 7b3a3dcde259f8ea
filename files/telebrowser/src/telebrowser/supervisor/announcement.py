"""Tells the gateway, by `run/view.json`, which view server shows which desktop, and on which socket it listens."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from ..datadir import DataDir, write_json

NAME = "view.json"


class Announcement:
    """What this supervisor serves. The file is there while there is something to tell."""

    def __init__(self, data: DataDir, backend: str) -> None:
        self._path = data.run / NAME
        self._backend = backend
        self._sockets: dict[str, Path] = {}
        self._write()

    def add(self, desktop: str, socket: Path) -> None:
        """A desktop can be seen at a Unix socket from now on. Raises OSError."""
        self._sockets[desktop] = socket
        self._write()

    def remove(self, desktop: str) -> None:
        """It cannot be seen any more."""
        if self._sockets.pop(desktop, None) is not None:
            self._write()

    def _write(self) -> None:
        if self._sockets:
            desktops: Mapping[str, object] = {name: {"socket": str(path)} for name, path in sorted(self._sockets.items())}
            write_json(self._path, {"backend": self._backend, "desktops": desktops})
            return
        with contextlib.suppress(OSError):
            self._path.unlink()

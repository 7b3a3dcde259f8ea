"""Tells the gateway, by `run/view.json`, which view server shows which desktop, and on which socket it listens."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..datadir import DataDir, write_json

NAME = "view.json"
SHARED = "shared"
PROJECT = "project "


def key(desktop: str) -> str:
    """What the names of a desktop's files in ``run/`` end with: nothing for the shared one."""
    return "" if desktop == SHARED else f"-{desktop.removeprefix(PROJECT)}"


def socket_path(data: DataDir, desktop: str) -> Path:
    """Where a desktop's view server listens. A path of a socket has little room: a project's name would not always fit."""
    return data.run / ("view.sock" if desktop == SHARED else f"v{hashlib.sha256(desktop.encode()).hexdigest()[:9]}.sock")


class Announcement:
    """What this supervisor serves. The file is there while there is something to tell. Set `backend` before anything is added."""

    def __init__(self, data: DataDir) -> None:
        self.backend = ""
        self._path = data.run / NAME
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
            write_json(self._path, {"backend": self.backend, "desktops": desktops})
            return
        with contextlib.suppress(OSError):
            self._path.unlink()

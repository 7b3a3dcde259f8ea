"""Which view server shows displays to people, if any; it begins and ends with each display."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import sys

from ..config import Settings
from ..datadir import DataDir
from ..errors import ConfigError
from ..novnc import NOVNC, has_novnc
from . import selkies, x11_servers
from .announcement import Announcement, socket_path
from .children import Children
from .display import Display

log = logging.getLogger(__name__)

VNC = "vnc"


class Views:
    """Begins and ends the views of the desktops of one supervisor. `examine` once before."""

    def __init__(self, settings: Settings, data: DataDir, children: Children) -> None:
        self._settings = settings
        self._data = data
        self._children = children
        self._announcement = Announcement(data)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def in_display(self) -> bool:
        """Whether the display is to show itself."""
        return self._announcement.backend == VNC

    def examine(self) -> None:
        """Look for what shall show the desktops. Raises `ConfigError` when it is not there and was asked for by its name."""
        wanted = self._settings.view
        if self._settings.display != "xvfb":
            if wanted == "vnc":
                raise ConfigError(f"TELEBROWSER_VIEW=vnc needs TELEBROWSER_DISPLAY=xvfb; it is {self._settings.display}")
            if wanted in ("auto", "selkies"):
                self._announcement.backend = selkies.CONTAINER_BACKEND
            return
        if wanted == "auto" and self._settings.view_url:
            # People look elsewhere.
            return
        if wanted in ("auto", "selkies") and self._has_selkies():
            self._announcement.backend = selkies.BACKEND
        elif wanted in ("auto", "vnc") and self._has_vnc():
            self._announcement.backend = VNC

    def _has_selkies(self) -> bool:
        python = self._settings.selkies_python or sys.executable
        version = selkies.installed(python)
        if version is None and (self._settings.view == "selkies" or self._settings.selkies_python):
            raise ConfigError(
                f"{python} has no package selkies; install it with `pip install 'telebrowser[view]'`, or set TELEBROWSER_VIEW to screencast and "
                "TELEBROWSER_SELKIES_PYTHON to nothing"
            )
        if version is not None:
            log.info("people see desktops by Selkies %s", version)
        return version is not None

    def _has_vnc(self) -> bool:
        server = x11_servers.XVNC
        missing = [] if shutil.which(server.program) else [server.package]
        missing += [] if has_novnc() else ["novnc"]
        if missing and self._settings.view == "vnc":
            raise ConfigError(f"TELEBROWSER_VIEW=vnc needs {server.program} and the files in {NOVNC}; on Debian: apt-get install {' '.join(missing)}")
        if not missing:
            log.info("people see desktops by %s and noVNC", server.program)
        return not missing

    def begin(self, desktop: str, display: Display) -> None:
        """Show a desktop from now on."""
        if self.in_display and display.view_socket is not None:
            self._announcement.add(desktop, display.view_socket)
        elif self._announcement.backend == selkies.CONTAINER_BACKEND:
            self._tasks[desktop] = asyncio.create_task(selkies.Served(self._announcement, desktop, socket_path(self._data, desktop)).run())
        elif self._announcement.backend == selkies.BACKEND:
            view = selkies.Selkies(self._data, self._children, self._settings, self._announcement, desktop, display.own_environment)
            self._tasks[desktop] = asyncio.create_task(view.run())

    async def end(self, desktop: str) -> None:
        """Do not show it any more."""
        self._announcement.remove(desktop)
        task = self._tasks.pop(desktop, None)
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

"""Which view server shows a display to people, if any; it runs beside the display and is begun anew with it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Mapping

from ..config import Settings
from ..datadir import DataDir
from ..errors import ConfigError
from . import selkies
from .announcement import Announcement
from .children import Children

log = logging.getLogger(__name__)


class Views:
    """Begins and ends the views of the desktops of one supervisor. `examine` once before."""

    def __init__(self, settings: Settings, data: DataDir, children: Children) -> None:
        self._settings = settings
        self._data = data
        self._children = children
        self._announcement = Announcement(data, selkies.BACKEND)
        self._wanted = settings.view in ("auto", "selkies") and settings.display == "xvfb"
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def examine(self) -> None:
        """Look for what shall show the desktops. Raises `ConfigError` when it is not there and was asked for by its name."""
        if not self._wanted:
            return
        python = self._settings.selkies_python or sys.executable
        version = selkies.installed(python)
        if version is None and (self._settings.view == "selkies" or self._settings.selkies_python):
            raise ConfigError(
                f"{python} has no package selkies; install it with `pip install 'telebrowser[view]'`, or set TELEBROWSER_VIEW to screencast and "
                "TELEBROWSER_SELKIES_PYTHON to nothing"
            )
        self._wanted = version is not None
        if self._wanted:
            log.info("people see desktops by Selkies %s", version)

    def begin(self, desktop: str, environment: Mapping[str, str]) -> None:
        """Show a desktop from now on; ``environment`` is what a program needs to reach it."""
        if self._wanted:
            view = selkies.Selkies(self._data, self._children, self._settings, self._announcement, desktop, environment)
            self._tasks[desktop] = asyncio.create_task(view.run())

    async def end(self, desktop: str) -> None:
        """Do not show it any more."""
        task = self._tasks.pop(desktop, None)
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

"""The desktops of one supervisor: one that all projects share, or one a project. Each is a display, kept up, with what shows it to people beside."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from ..config import Settings
from ..datadir import DataDir
from ..errors import ConfigError, ExitError, TelebrowserError
from . import x11_servers
from .announcement import PROJECT, SHARED
from .children import Children
from .display import Display, clear_remains, make_display, parse_size
from .views import Views

log = logging.getLogger(__name__)

DISPLAY_SECONDS = 15.0
DISPLAY_RETRY_SECONDS = 5.0


class Desktop:
    """One display. `keep` brings it up whenever it is not there, until `stop`."""

    def __init__(self, name: str, display: Display, views: Views) -> None:
        self.name = name
        self.display = display
        # How often the display was lost up to now: a browser that saw another number at its start has lost it.
        self.losses = 0
        self._views = views
        self._up = asyncio.Event()
        self._error = ""
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Bring it up once. Raises `ExitError`."""
        await self.display.start()
        self._is_up()

    def keep(self) -> None:
        """Have it from now on."""
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Take it down; after its browsers have ended."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._views.end(self.name)
        await self.display.stop()

    async def wait(self) -> None:
        """Wait until it is there. Raises `TelebrowserError` BROWSER_UNAVAILABLE when it does not come."""
        try:
            async with asyncio.timeout(DISPLAY_SECONDS):
                await self._up.wait()
        except TimeoutError:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"the display does not start: {self._error}") from None

    def _is_up(self) -> None:
        self._views.begin(self.name, self.display)
        self._up.set()

    async def _keep(self) -> None:
        while True:
            await self._bring_up()
            reason = await self.display.wait_lost()
            self.losses += 1
            self._up.clear()
            log.error("the display of %s was lost: %s", self.name, reason)
            await self._views.end(self.name)
            await self.display.stop()

    async def _bring_up(self) -> None:
        while not self._up.is_set():
            try:
                await self.start()
            except (ExitError, OSError) as error:
                self._error = str(error)
                log.error("the display of %s does not start: %s", self.name, error)
                await asyncio.sleep(DISPLAY_RETRY_SECONDS)
            else:
                log.info("the display of %s is there: %s", self.name, self.display.name)


class Desktops:
    """`examine` once, then `opened` around all use. Raises `ConfigError` for a size of the display that cannot be."""

    def __init__(self, settings: Settings, data: DataDir, children: Children) -> None:
        self._settings = settings
        self._data = data
        self._children = children
        self._size = parse_size(settings.screen)
        self._views = Views(settings, data, children)
        self._server = x11_servers.XVFB
        self._apart = settings.displays == "per-project"
        self._shared: Desktop | None = None
        self._own: dict[str, Desktop] = {}

    def examine(self) -> None:
        """Look for what shows desktops. Raises `ConfigError` when settings do not fit together, or name what is not installed."""
        if self._apart and self._settings.display != "xvfb":
            raise ConfigError(f"TELEBROWSER_DISPLAYS=per-project needs TELEBROWSER_DISPLAY=xvfb; it is {self._settings.display}")
        self._views.examine()
        if self._views.in_display:
            self._server = x11_servers.XVNC

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Have the shared desktop, or be ready to have some, until the block ends. Raises `ExitError` when that cannot be."""
        await clear_remains(self._data)
        if self._apart:
            x11_servers.check(self._server)
            yield
            return
        shared = self._shared = self._make(SHARED)
        await shared.start()
        shared.keep()
        try:
            yield
        finally:
            await shared.stop()

    @contextlib.asynccontextmanager
    async def use(self, project: str) -> AsyncIterator[Desktop]:
        """The desktop for a project's browser. One of its own begins and ends with the block."""
        if self._shared is not None:
            yield self._shared
            return
        desktop = self._own[project] = self._make(f"{PROJECT}{project}")
        desktop.keep()
        try:
            yield desktop
        finally:
            del self._own[project]
            await desktop.stop()

    async def raise_window(self, project: str) -> str | None:
        """Bring the project's window to the front of its desktop; None when done, else the reason."""
        desktop = self._shared or self._own.get(project)
        if desktop is None:
            return f"{project} has no display now"
        return await desktop.display.raise_window(f"[{project}]")

    def describe(self) -> dict[str, str]:
        """Backend, name and size, for the gateway and the log."""
        display = (self._shared or self._make(SHARED)).display
        return {"backend": display.backend, "name": "one a project" if self._apart else display.name, "size": display.size}

    def _make(self, name: str) -> Desktop:
        settings = self._settings
        return Desktop(name, make_display(self._data, self._children, settings.display, self._size, self._server, name, bar=settings.project_bar), self._views)

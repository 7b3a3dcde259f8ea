"""What all browsers of a supervisor share: the user they run as, the program, its sandbox, and the display."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator

from ..config import Settings
from ..datadir import DataDir
from ..errors import ExitError, TelebrowserError
from . import chromium, walls
from .children import Children, Identity
from .display import Display, make_display
from .profile import Profile, check_reachable, find_identity
from .selkies import SHARED
from .views import Views

log = logging.getLogger(__name__)

DISPLAY_SECONDS = 15.0
DISPLAY_RETRY_SECONDS = 5.0


class Machine:
    """`examine` once, then `with_display` around all use of the display."""

    def __init__(self, settings: Settings, data: DataDir) -> None:
        self.data = data
        self.children = Children()
        self.display: Display = make_display(data, self.children, settings.display, settings.screen)
        self._views = Views(settings, data, self.children)
        self.identity: Identity | None = find_identity(settings.browser_user) if settings.browser_user else None
        self.sandbox = chromium.Sandbox(True, None)
        self.chromium: dict[str, str | None] = {"path": None, "version": None}
        self.warnings: list[str] = []
        self.walls = walls.Walls(False, None)
        self.people_port: int = settings.people_port
        self._configured = settings.chromium_path
        self._wanted_walls: str = settings.walls
        self._hidden = [str(data.root), settings.secrets_dir]
        self._display_up = asyncio.Event()
        self._display_error = ""
        # How often the display was lost up to now: a browser that saw another number at its start has lost it.
        self.losses = 0

    def examine(self) -> None:
        """Look at users, Chromium, sandbox, walls and view. Raises `ConfigError` when one that is configured or required cannot be had."""
        self._views.examine()
        if self.identity is not None and os.geteuid() != 0:
            if os.geteuid() != self.identity.uid:
                self.warnings.append(f"TELEBROWSER_BROWSER_USER is ignored: only root can start browsers as {self.identity.name}")
            self.identity = None
        if self.identity is not None:
            check_reachable(self.data.root, self.identity)
        path: str | None = None
        try:
            path = self.program()
            self.sandbox = chromium.choose_sandbox(path, self.identity)
            self.chromium = {"path": path, "version": chromium.read_version(path)}
        except TelebrowserError as error:
            # Each start tries again and reports it; until then there is nobody to tell.
            self.warnings.append(error.message)
        self.walls = walls.choose(self._wanted_walls, path, self.sandbox, self.identity, self._hidden)
        self.warnings += self.limits
        for warning in self.warnings:
            log.warning("%s", warning)

    @property
    def limits(self) -> list[str]:
        """What keeps browsers in less well than it could, and why."""
        return [warning for warning in (self.sandbox.warning, self.walls.warning) if warning]

    def program(self) -> str:
        """The Chromium to start. Raises `TelebrowserError` BROWSER_UNAVAILABLE."""
        return chromium.find_program(self._configured)

    def profile(self, project: str) -> Profile:
        """The folders of a project."""
        return Profile(self.data, project, self.identity)

    @contextlib.asynccontextmanager
    async def with_display(self) -> AsyncIterator[None]:
        """Have the display, brought back whenever it is lost, until the block ends. Raises `ExitError` when it does not start at all."""
        await self.display.start()
        self._display_is_up()
        keeper = asyncio.create_task(self._keep_display())
        try:
            yield
        finally:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
            await self._views.end(SHARED)
            await self.display.stop()

    def _display_is_up(self) -> None:
        self._views.begin(SHARED, self.display.own_environment)
        self._display_up.set()

    async def wait_display(self) -> None:
        """Wait for the display. Raises `TelebrowserError` BROWSER_UNAVAILABLE when it does not come back."""
        try:
            async with asyncio.timeout(DISPLAY_SECONDS):
                await self._display_up.wait()
        except TimeoutError:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"the display does not start: {self._display_error}") from None

    async def _keep_display(self) -> None:
        while True:
            reason = await self.display.wait_lost()
            self.losses += 1
            self._display_up.clear()
            log.error("the display was lost: %s", reason)
            await self._views.end(SHARED)
            await self.display.stop()
            await self._bring_back()

    async def _bring_back(self) -> None:
        while True:
            try:
                await self.display.start()
            except (ExitError, OSError) as error:
                self._display_error = str(error)
                log.error("the display does not start: %s", error)
                await asyncio.sleep(DISPLAY_RETRY_SECONDS)
            else:
                self._display_is_up()
                log.info("the display is back: %s", self.display.name)
                return

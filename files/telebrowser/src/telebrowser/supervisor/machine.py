"""What all browsers of a supervisor share: the user they run as, the program, its sandbox, and the desktops."""

from __future__ import annotations

import logging
import os

from ..config import Settings
from ..datadir import DataDir
from ..errors import TelebrowserError
from . import chromium, walls
from .children import Children, Identity
from .desktop import Desktops
from .profile import Profile, check_reachable, find_identity

log = logging.getLogger(__name__)


class Machine:
    """`examine` once before all use."""

    def __init__(self, settings: Settings, data: DataDir) -> None:
        self.data = data
        self.children = Children()
        self.desktops = Desktops(settings, data, self.children)
        self.identity: Identity | None = find_identity(settings.browser_user) if settings.browser_user else None
        self.sandbox = chromium.Sandbox(True, None)
        self.chromium: dict[str, str | None] = {"path": None, "version": None}
        self.warnings: list[str] = []
        self.walls = walls.Walls(False, None)
        self.people_port: int = settings.people_port
        self._configured = settings.chromium_path
        self._bar: bool = settings.project_bar
        self._wanted_walls: str = settings.walls
        self._hidden = [str(data.root), settings.secrets_dir]

    def examine(self) -> None:
        """Look at users, Chromium, sandbox, walls and view. Raises `ConfigError` when one that is configured or required cannot be had."""
        self.desktops.examine()
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
        return Profile(self.data, project, self.identity, bar=self._bar)

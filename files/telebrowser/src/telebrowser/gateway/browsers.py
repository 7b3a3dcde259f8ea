"""All projects' browsers, and what they share: the supervisor's connection, the watch for idle ones and for uploads that are old."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from ..config import Settings
from ..datadir import DataDir
from ..project import is_valid
from .audit import Audit
from .handoff.service import Handoffs
from .lifecycle import ProjectBrowser
from .supervisor_client import Event, SupervisorClient, close_all
from .uploads import KEEP_SECONDS, sweep

log = logging.getLogger(__name__)

IDLE_CHECK_SECONDS = 5.0
SWEEP_SECONDS = 3600.0


class Browsers:
    """The browsers by project. A project exists as soon as somebody asks for it."""

    def __init__(self, data: DataDir, settings: Settings, audit: Audit) -> None:
        self.supervisor = SupervisorClient(data.socket, self._on_event, self._on_lost)
        self.started = time.monotonic()
        self.warnings: list[str] = []
        self.handoffs = Handoffs(data, settings, audit, self)
        self._data = data
        self._settings = settings
        self._audit = audit
        self._projects: dict[str, ProjectBrowser] = {}
        self._watches: list[asyncio.Task[None]] = []
        self._stops: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Connect to the supervisor and watch for idle browsers. Raises `ConfigError`."""
        self.handoffs.start()
        self.supervisor.start()
        self._watches = [asyncio.get_running_loop().create_task(watch) for watch in (self._stop_idle(), self._sweep())]

    async def stop(self) -> None:
        """Let go of all browsers; they run on."""
        for watch in self._watches:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
        await self.handoffs.stop()
        for browser in self._projects.values():
            await browser.shut_down()
        await self.supervisor.stop()

    def get(self, project: str) -> ProjectBrowser:
        """The browser of a project."""
        found = self._projects.get(project)
        if found is None:
            found = self._projects[project] = ProjectBrowser(project, self, self._data, self._settings, self._audit, self.supervisor)
        return found

    def all(self) -> list[ProjectBrowser]:
        """Those that anybody has asked for."""
        return list(self._projects.values())

    def _on_event(self, event: Event, descriptors: list[int]) -> None:
        if event["event"] == "hello":
            close_all(descriptors)
            self.warnings = [str(warning) for warning in event.get("warnings") or []]
            log.info("connected to supervisor %s", event.get("version"))
            return
        project = event.get("project")
        if not isinstance(project, str) or not is_valid(project):
            close_all(descriptors)
            log.error("dropped an event of the supervisor without a project: %s", event["event"])
            return
        self.get(project).handle(event, descriptors)

    def _on_lost(self) -> None:
        for browser in self._projects.values():
            browser.on_supervisor_lost()

    async def _stop_idle(self) -> None:
        while True:
            await asyncio.sleep(IDLE_CHECK_SECONDS)
            for browser in self._projects.values():
                if browser.is_idle:
                    task = asyncio.get_running_loop().create_task(browser.stop_idle())
                    self._stops.add(task)
                    task.add_done_callback(self._stops.discard)

    async def _sweep(self) -> None:
        while True:
            await asyncio.to_thread(self._sweep_all)
            await asyncio.sleep(SWEEP_SECONDS)

    def _sweep_all(self) -> None:
        with contextlib.suppress(OSError):
            for folder in list(self._data.projects.iterdir()):
                sweep(self._data.uploads(folder.name), time.time() - KEEP_SECONDS)

"""The supervisor proper: makes what runs agree with what is wanted, and talks to the gateway.

`run/want/<project>` says what is wanted. One `Life` per wanted project does the rest; everything here only
begins and ends those.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from .. import __version__
from ..config import Settings
from ..datadir import PROJECT_NAME, DataDir
from ..errors import TelebrowserError
from ..heartbeat import Heart
from ..logs import rotate
from . import orphans
from .crashes import Crashes
from .life import Life
from .machine import Machine
from .server import Server

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
MAX_LOG_BYTES = 1 << 20


class Supervisor:
    """One per data directory; the caller holds its lock."""

    def __init__(self, settings: Settings, data: DataDir) -> None:
        self._data = data
        self._heart = Heart(data)
        self._own_log = data.log_file("supervisor") if settings.supervisor_log == "file" else None
        self._machine = Machine(settings, data)
        self._server = Server(data.socket)
        self._crashes = Crashes()
        self._lives: dict[str, Life] = {}
        self._wiping: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._strange: set[str] = set()
        self._stopping = asyncio.Event()
        self._raising = asyncio.Lock()

    def request_stop(self) -> None:
        """Stop all browsers and end `run`. May be called from a signal handler."""
        self._stopping.set()

    async def run(self) -> None:
        """Serve until `request_stop`. Raises `ExitError` when it cannot start."""
        self._machine.children.install()
        # From the first moment on: a gateway in a dead network need not wait for the desktop to leave it.
        self._heart.begin()
        beating = asyncio.create_task(self._heart.keep())
        try:
            for stale in self._data.up.iterdir():
                stale.unlink()
            self._machine.examine()
            await orphans.end_all(self._data)
            async with self._machine.desktops.opened():
                await self._serve()
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            self._heart.end()
            self._machine.children.uninstall()

    async def _serve(self) -> None:
        self._server.on_connect = self._greet
        self._server.on_lost = self._gateway_lost
        self._server.on_command = self._command
        self._server.start()
        log.info("ready: display %s, %s", self._machine.desktops.describe()["name"], self._machine.chromium["version"] or "no Chromium")
        try:
            while not self._stopping.is_set():
                self._look()
                if self._own_log is not None:
                    rotate(self._own_log, MAX_LOG_BYTES)
                for life in self._lives.values():
                    life.cap_log()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._stopping.wait()
        finally:
            for life in self._lives.values():
                life.stop.set()
            running = [life.task for life in self._lives.values() if life.task is not None]
            await asyncio.gather(*running, *self._tasks, return_exceptions=True)
            self._server.stop()

    # What is wanted

    def _look(self) -> None:
        """Compare what is wanted with what runs, and see whether a window is to be raised."""
        if self._stopping.is_set():
            return
        wanted = self._wanted()
        for project, life in self._lives.items():
            if project not in wanted:
                life.stop.set()
        for project in wanted - self._lives.keys() - self._wiping:
            life = self._lives[project] = Life(project, self._machine, self._crashes, self._server, self)
            life.task = asyncio.create_task(self._live(life))
        self._look_for_raise()

    def _wanted(self) -> set[str]:
        try:
            names = {path.name for path in self._data.want.iterdir()}
        except OSError as error:
            log.error("cannot read %s: %s", self._data.want, error.strerror)
            return set(self._lives)
        valid = {name for name in names if PROJECT_NAME.fullmatch(name)}
        for name in names - valid - self._strange:
            self._strange.add(name)
            log.warning("ignored a file in %s that is no project's name: %r", self._data.want, name)
        return valid

    def unwant(self, project: str) -> None:
        """Record that a project is not wanted any more."""
        with contextlib.suppress(OSError):
            self._data.want_file(project).unlink()

    async def _live(self, life: Life) -> None:
        try:
            await life.run()
        finally:
            del self._lives[life.project]
            # It may be wanted anew by now: `_look` was deaf for it while it was ending.
            asyncio.get_running_loop().call_soon(self._look)

    def _look_for_raise(self) -> None:
        try:
            project = self._data.raise_file.read_text(errors="replace").strip()
            self._data.raise_file.unlink()
        except OSError:
            return
        self._spawn(self._raise(project))

    async def _raise(self, project: str) -> None:
        error: str | None = f"not a project's name: {project!r}"
        if PROJECT_NAME.fullmatch(project):
            async with self._raising:
                error = await self._machine.desktops.raise_window(project)
        if error:
            log.warning("raise: %s", error)
        self._server.send({"event": "raised", "project": project, "ok": error is None, "message": error or ""})

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The gateway

    def _greet(self) -> None:
        self._server.send(
            {
                "event": "hello",
                "version": __version__,
                "warnings": self._machine.warnings,
                "display": self._machine.desktops.describe(),
                "chromium": self._machine.chromium,
            }
        )
        for life in self._lives.values():
            life.gateway_connected()

    def _gateway_lost(self) -> None:
        for life in self._lives.values():
            life.gateway_lost()

    def _command(self, command: dict[str, Any]) -> None:
        name, project = command["cmd"], command.get("project")
        if name == "hello":
            log.info("gateway %s connected", command.get("version"))
        elif name == "look":
            self._look()
        elif name in ("wipe", "failed-reset") and isinstance(project, str) and PROJECT_NAME.fullmatch(project):
            if name == "failed-reset":
                self._crashes.reset(project)
            elif project not in self._wiping:
                self._wiping.add(project)
                self._spawn(self._wipe(project))
        else:
            log.error("dropped an unknown command of the gateway: %r", name)

    async def _wipe(self, project: str) -> None:
        """Stop a project's browser and delete what it kept. While it lasts, the project is not started."""
        error: str | None = None
        try:
            self.unwant(project)
            life = self._lives.get(project)
            if life is not None and life.task is not None:
                life.stop.set()
                await asyncio.wait({life.task})
            profile = self._machine.profile(project)
            await orphans.free_profile(profile)
            profile.wipe()
            log.info("[%s] wiped", project)
        except TelebrowserError as fault:
            error = fault.message
        except OSError as fault:
            error = f"{fault.strerror}: {fault.filename}"
        finally:
            self._wiping.discard(project)
        self._server.send({"event": "wiped", "project": project, "error": error})
        self._look()

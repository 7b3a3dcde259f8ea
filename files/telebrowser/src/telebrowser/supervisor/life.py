"""One wanted project: its browser is started, watched, started again after a crash, and cleaned up after."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Protocol

from ..datadir import SCRATCH, write_json
from ..errors import TelebrowserError
from . import chromium, orphans
from .browser import Browser, start_error
from .crashes import LIMIT, WINDOW_SECONDS, Crashes
from .desktop import Desktop
from .display import Display
from .machine import Machine
from .profile import Profile
from .server import Server

log = logging.getLogger(__name__)


class Wants(Protocol):
    """Where it is recorded what is wanted."""

    def unwant(self, project: str) -> None:
        """The project is not wanted any more."""


class Life:
    """Run `run` once, as a task of its own; `stop` may be set at any time."""

    def __init__(self, project: str, machine: Machine, crashes: Crashes, server: Server, wants: Wants) -> None:
        self.project = project
        self.stop = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._machine = machine
        self._crashes = crashes
        self._server = server
        self._wants = wants
        self._profile: Profile = machine.profile(project)
        self._browser: Browser | None = None
        self._up = False
        self._settling: asyncio.Task[None] | None = None
        self._losses = 0

    async def run(self) -> None:
        """From wanted to ended, restarts after crashes included. Raises nothing."""
        try:
            async with self._machine.desktops.use(self.project) as desktop:
                await self._run(desktop)
        except Exception:
            log.exception("[%s] unexpected fault", self.project)
            self._fail(TelebrowserError("INTERNAL", "the supervisor met a fault; see supervisor.log"))
        finally:
            if self.project == SCRATCH:
                self._wipe()

    async def _run(self, desktop: Desktop) -> None:
        try:
            while not self.stop.is_set() and await self._run_once(desktop):
                log.info("[%s] starting again", self.project)
        finally:
            # Before its display ends.
            await self._clean_up()

    def _wipe(self) -> None:
        try:
            if not self._profile.holders():
                self._profile.wipe()
        except OSError as error:
            log.error("[%s] not wiped: %s", self.project, error)

    async def _run_once(self, desktop: Desktop) -> bool:
        """One run of the browser. True to start it again at once."""
        try:
            if self._crashes.blocked(self.project):
                raise TelebrowserError("BROWSER_CRASHED", f"the browser crashed {LIMIT} times in {WINDOW_SECONDS:.0f} s and is left down")
            browser = await self._start(desktop)
        except TelebrowserError as error:
            await self._clean_up()
            self._fail(error)
            return False
        if browser is None:
            await self._report_down("stopped", self._browser.exit_code if self._browser is not None else None)
            return False
        stopping: asyncio.Task[Any] = asyncio.create_task(self.stop.wait())
        waited: list[asyncio.Future[Any]] = [stopping, browser.ended]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not browser.ended.done():
            await self._stop(browser)
        return await self._judge(browser, desktop)

    async def _start(self, desktop: Desktop) -> Browser | None:
        """Start the browser and tell the gateway; None when a stop came first. Raises `TelebrowserError`."""
        await desktop.wait()
        self._losses = desktop.losses
        shown = desktop.display
        program = self._machine.program()
        try:
            await orphans.free_profile(self._profile)
            self._profile.prepare()
            self._profile.unlock()
            display = shown.environment(self._profile)
        except OSError as error:
            raise start_error(error) from None
        log_path = self._machine.data.log_file(f"chromium-{self.project}")
        front = await shown.front()
        command = chromium.command(program, self._profile, self._machine.sandbox, shown.size, shown.options(self.project), self._machine.people_port)
        browser = self._browser = Browser.launch(self._profile, command, self._machine.walls, display, self._machine.children, log_path)
        ready = asyncio.create_task(browser.wait_ready())
        stopping: asyncio.Task[Any] = asyncio.create_task(self.stop.wait())
        try:
            waited: list[asyncio.Future[Any]] = [ready, stopping]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                await self._stop(browser)
                return None
            await ready
            self._announce(browser, shown)
        except TelebrowserError:
            await self._stop(browser)
            raise
        except OSError as error:
            await self._stop(browser)
            raise start_error(error) from None
        finally:
            for task in (ready, stopping):
                task.cancel()
            await asyncio.gather(ready, stopping, return_exceptions=True)
        self._settling = asyncio.create_task(shown.settle(f"[{self.project}]", front))
        return browser

    def _announce(self, browser: Browser, display: Display) -> None:
        record = {**browser.describe(), "pgid": browser.group, "display": display.name, "version": browser.version}
        write_json(self._machine.data.up_file(self.project), record)
        self._up = True
        browser.ask_gateway = self._ask_gateway
        log.info("[%s] up: pid %d, Chromium %s", self.project, browser.pid, browser.version)
        browser.pipe.drain(not self._server.connected)
        self._send_up(browser)

    def _send_up(self, browser: Browser) -> None:
        machine = self._machine
        event = {"event": "up", **browser.describe(), "sandbox": machine.sandbox.on, "walls": machine.walls.on, "warnings": machine.limits}
        self._server.send(event, (browser.pipe.write_end, browser.pipe.read_end))

    def _ask_gateway(self) -> bool:
        return self._server.send({"event": "close", "project": self.project})

    async def _stop(self, browser: Browser) -> None:
        log.info("[%s] %s", self.project, await browser.stop())

    async def _judge(self, browser: Browser, desktop: Desktop) -> bool:
        """Tell why the browser has ended. True when it is to be started again."""
        code = browser.exit_code
        if self.stop.is_set() or browser.asked:
            await self._report_down("stopped", code)
            return False
        if desktop.display.lost or desktop.losses != self._losses:
            # Chromium exits with 0 then, as if a person had closed it.
            await self._report_down("crashed", code, "the display was lost")
            return True
        if code == 0:
            # A person closed its last window, or an agent its last tab.
            self._wants.unwant(self.project)
            await self._report_down("exited", code)
            return False
        await self._report_down("crashed", code, f"the browser crashed, {_describe_exit(code)}")
        if self._crashes.record(self.project):
            message = f"the browser crashed {LIMIT} times in {WINDOW_SECONDS:.0f} s and is left down, last {_describe_exit(code)}"
            self._fail(TelebrowserError("BROWSER_CRASHED", message))
            return False
        return True

    async def _clean_up(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.gather(self._settling, return_exceptions=True)
            self._settling = None
        if self._browser is not None:
            browser, self._browser = self._browser, None
            await browser.clean_up()
        self._up = False
        with contextlib.suppress(OSError):
            self._machine.data.up_file(self.project).unlink()

    async def _report_down(self, reason: str, code: int | None, message: str = "") -> None:
        """Clean up after a browser, then report it down: whoever hears that may rely on nothing being left."""
        await self._clean_up()
        if self.project == SCRATCH and reason != "crashed":
            self._wipe()
        log.info("[%s] down: %s%s", self.project, reason, f" ({message})" if message else "")
        self._server.send({"event": "down", "project": self.project, "reason": reason, "exit_code": code, "message": message})

    def _fail(self, error: TelebrowserError) -> None:
        self._wants.unwant(self.project)
        log.error("[%s] %s: %s", self.project, error.code, error.message)
        self._server.send({"event": "failed", "project": self.project, "code": error.code, "message": error.message})

    # What the supervisor tells it

    def gateway_connected(self) -> None:
        """Hand the browser to a new gateway."""
        if self._browser is not None and self._up:
            self._browser.pipe.drain(False)
            self._send_up(self._browser)
            if self._browser.asked:
                # The gateway that this one replaces may not have passed the request on.
                self._ask_gateway()

    def gateway_lost(self) -> None:
        """Nobody reads from the browser any more, and a request to close may not have been passed on."""
        if self._browser is not None and self._up:
            self._browser.pipe.drain(True)
            if self._browser.asked:
                self._browser.pipe.close_browser()

    def cap_log(self) -> None:
        """Keep the browser's log small."""
        if self._browser is not None:
            self._browser.cap_log()


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "exit code unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"

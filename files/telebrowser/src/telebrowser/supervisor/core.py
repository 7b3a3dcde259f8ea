"""The supervisor proper: makes what runs agree with what is wanted, and tells the gateway.

`run/want/<project>` says what is wanted. One task per wanted project starts its browser, waits for its end,
and cleans up; everything else here only wakes those tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import Any

from .. import __version__
from ..config import Settings
from ..datadir import PROJECT_NAME, SCRATCH, DataDir, is_disk_full, write_json
from ..errors import ExitError, TelebrowserError
from . import chromium, orphans
from .browser import Browser, start_error
from .children import Children, Identity
from .crashes import LIMIT, WINDOW_SECONDS, Crashes
from .display import Display, make_display
from .profile import Profile, check_reachable, find_identity
from .server import Server

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
DISPLAY_SECONDS = 15.0
DISPLAY_RETRY_SECONDS = 5.0


class Slot:
    """A project that is wanted: its task, its browser once started, and the request to stop."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.browser: Browser | None = None
        self.up = False
        self.warnings: list[str] = []
        self.task: asyncio.Task[None] | None = None


class Supervisor:
    """One per data directory; the caller holds its lock."""

    def __init__(self, settings: Settings, data: DataDir) -> None:
        self._data = data
        self._configured = settings.chromium_path
        self._identity: Identity | None = find_identity(settings.browser_user) if settings.browser_user else None
        self._children = Children()
        self._display: Display = make_display(data, self._children, settings.display, settings.screen)
        self._display_up = asyncio.Event()
        self._display_error = ""
        self._server = Server(data.socket)
        self._crashes = Crashes()
        self._slots: dict[str, Slot] = {}
        self._wiping: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._strange: set[str] = set()
        self._stopping = asyncio.Event()
        self._raising = asyncio.Lock()
        self._sandbox = chromium.Sandbox(True, None)
        self._chromium: dict[str, str | None] = {"path": None, "version": None}
        self._warnings: list[str] = []

    def request_stop(self) -> None:
        """Stop all browsers and end `run`. May be called from a signal handler."""
        self._stopping.set()

    async def run(self) -> None:
        """Serve until `request_stop`. Raises `ExitError` when it cannot start."""
        self._children.install()
        try:
            self._examine()
            await orphans.end_all(self._data)
            await self._display.start()
            self._display_up.set()
            try:
                await self._serve()
            finally:
                await self._display.stop()
        finally:
            self._children.uninstall()

    def _examine(self) -> None:
        """Look at the machine: user, Chromium, sandbox."""
        for stale in self._data.up.iterdir():
            stale.unlink()
        if self._identity is not None:
            if self._identity_is_needless():
                self._identity = None
            else:
                check_reachable(self._data.root, self._identity)
        try:
            path = chromium.find_program(self._configured)
            self._sandbox = chromium.choose_sandbox(path, self._identity)
            self._chromium = {"path": path, "version": chromium.read_version(path)}
        except TelebrowserError as error:
            # Each start tries again and reports it; until then there is nobody to tell.
            self._warnings.append(error.message)
        if self._sandbox.warning:
            self._warnings.append(self._sandbox.warning)
        for warning in self._warnings:
            log.warning("%s", warning)

    def _identity_is_needless(self) -> bool:
        assert self._identity is not None
        if os.geteuid() == 0:
            return False
        if os.geteuid() != self._identity.uid:
            self._warnings.append(f"TELEBROWSER_BROWSER_USER is ignored: only root can start browsers as {self._identity.name}")
        return True

    async def _serve(self) -> None:
        self._server.on_connect = self._greet
        self._server.on_lost = self._gateway_lost
        self._server.on_command = self._command
        self._server.start()
        display = asyncio.create_task(self._keep_display())
        log.info("ready: display %s, %s", self._display.name, self._chromium["version"] or "no Chromium")
        try:
            while not self._stopping.is_set():
                self._look()
                for slot in self._slots.values():
                    if slot.browser is not None:
                        slot.browser.cap_log()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._stopping.wait()
        finally:
            for slot in self._slots.values():
                slot.stop.set()
            running = [slot.task for slot in self._slots.values() if slot.task is not None]
            await asyncio.gather(*running, *self._wiping.values(), *self._tasks, return_exceptions=True)
            display.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await display
            self._server.stop()

    # What is wanted

    def _look(self) -> None:
        """Compare what is wanted with what runs, and see whether a window is to be raised."""
        if self._stopping.is_set():
            return
        wanted = self._wanted()
        for project, slot in self._slots.items():
            if project not in wanted:
                slot.stop.set()
        for project in wanted:
            if project not in self._slots:
                slot = Slot()
                self._slots[project] = slot
                slot.task = asyncio.create_task(self._live(project, slot))
        self._look_for_raise()

    def _wanted(self) -> set[str]:
        try:
            names = {path.name for path in self._data.want.iterdir()}
        except OSError as error:
            log.error("cannot read %s: %s", self._data.want, error.strerror)
            return set(self._slots)
        valid = {name for name in names if PROJECT_NAME.fullmatch(name)}
        for name in names - valid - self._strange:
            self._strange.add(name)
            log.warning("ignored a file in %s that is no project's name: %r", self._data.want, name)
        return valid

    def _unwant(self, project: str) -> None:
        with contextlib.suppress(OSError):
            self._data.want_file(project).unlink()

    def _look_for_raise(self) -> None:
        try:
            project = self._data.raise_file.read_text(errors="replace").strip()
            self._data.raise_file.unlink()
        except OSError:
            return
        self._spawn(self._raise(project))

    async def _raise(self, project: str) -> None:
        if not PROJECT_NAME.fullmatch(project):
            error: str | None = f"not a project's name: {project!r}"
        else:
            async with self._raising:
                error = await self._display.raise_window(f"[{project}]")
        if error:
            log.warning("raise: %s", error)
        self._server.send({"event": "raised", "project": project, "ok": error is None, "message": error or ""})

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # One project

    async def _live(self, project: str, slot: Slot) -> None:
        """From wanted to ended, restarts after crashes included."""
        profile = Profile(self._data, project, self._identity)
        try:
            if project in self._wiping:
                await asyncio.wait({self._wiping[project]})
            while not slot.stop.is_set() and await self._live_once(project, slot, profile):
                log.info("[%s] starting again", project)
        except Exception:
            log.exception("[%s] unexpected fault", project)
            self._fail(project, TelebrowserError("INTERNAL", "the supervisor met a fault; see supervisor.log"))
        finally:
            if slot.browser is not None:
                await slot.browser.clean_up()
            if project == SCRATCH:
                self._wipe_scratch(profile)
            del self._slots[project]
            # It may be wanted anew by now; `look` was deaf for it while it was ending.
            asyncio.get_running_loop().call_soon(self._look)

    def _wipe_scratch(self, profile: Profile) -> None:
        try:
            if not profile.holders():
                profile.wipe()
        except OSError as error:
            log.error("[%s] not wiped: %s", SCRATCH, error)

    async def _live_once(self, project: str, slot: Slot, profile: Profile) -> bool:
        """One run of the browser. True to start it again at once."""
        try:
            if self._crashes.blocked(project):
                raise TelebrowserError("BROWSER_CRASHED", f"the browser crashed {LIMIT} times in {WINDOW_SECONDS:.0f} s and is left down")
            browser = await self._start(project, slot, profile)
        except TelebrowserError as error:
            self._fail(project, error)
            return False
        if browser is None:
            await self._end(project, slot, "stopped", None)
            return False
        stopping: asyncio.Future[Any] = asyncio.ensure_future(slot.stop.wait())
        ended: asyncio.Future[Any] = browser.ended
        await asyncio.wait({stopping, ended}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not browser.ended.done():
            await self._stop(slot, browser)
        return await self._judge(project, slot, browser)

    async def _start(self, project: str, slot: Slot, profile: Profile) -> Browser | None:
        """Start the browser and tell the gateway; None when a stop came first. Raises `TelebrowserError`."""
        try:
            async with asyncio.timeout(DISPLAY_SECONDS):
                await self._display_up.wait()
        except TimeoutError:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"the display does not start: {self._display_error}") from None
        program = chromium.find_program(self._configured)
        try:
            profile.prepare()
            await orphans.free_profile(profile)
            profile.unlock()
            display = self._display.environment(profile)
        except OSError as error:
            raise start_error(error) from None
        browser = Browser.launch(profile, program, self._sandbox, display, self._children, self._data.log_file(f"chromium-{project}"))
        slot.browser = browser
        ready = asyncio.create_task(browser.wait_ready())
        stopping = asyncio.create_task(slot.stop.wait())
        try:
            await asyncio.wait({ready, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                await self._stop(slot, browser)
                return None
            await ready
            self._announce(project, slot, browser)
        except TelebrowserError:
            await self._stop(slot, browser)
            raise
        except OSError as error:
            await self._stop(slot, browser)
            raise start_error(error) from None
        finally:
            for task in (ready, stopping):
                task.cancel()
            await asyncio.gather(ready, stopping, return_exceptions=True)
        await self._display.show_if_alone(f"[{project}]")
        return browser

    def _announce(self, project: str, slot: Slot, browser: Browser) -> None:
        record = {"pid": browser.pid, "pgid": browser.group, "started_at": browser.started_at, "window": f"[{project}]"}
        write_json(self._data.up_file(project), {**record, "display": self._display.name, "version": browser.version})
        slot.up = True
        browser.ask_gateway = self._ask_gateway
        log.info("[%s] up: pid %d, Chromium %s", project, browser.pid, browser.version)
        browser.pipe.drain(not self._server.connected)
        self._send_up(browser)

    def _send_up(self, browser: Browser) -> None:
        warnings = [self._sandbox.warning] if self._sandbox.warning else []
        event = {"event": "up", **browser.describe(), "sandbox": self._sandbox.on, "warnings": warnings}
        self._server.send(event, (browser.pipe.write_end, browser.pipe.read_end))

    async def _stop(self, slot: Slot, browser: Browser) -> None:
        step = await browser.stop()
        log.info("[%s] %s", browser.project, step)

    async def _judge(self, project: str, slot: Slot, browser: Browser) -> bool:
        """Tell why the browser has ended. True when it is to be started again."""
        code = browser.exit_code
        if slot.stop.is_set() or browser.asked:
            await self._end(project, slot, "stopped", code)
            return False
        if code == 0:
            # A person closed its last window, or an agent its last tab.
            self._unwant(project)
            await self._end(project, slot, "exited", code)
            return False
        if not self._display_up.is_set():
            await self._end(project, slot, "crashed", code, "the display was lost")
            return True
        await self._end(project, slot, "crashed", code, f"the browser crashed, {_describe_exit(code)}")
        if self._crashes.record(project):
            self._fail(
                project,
                TelebrowserError(
                    "BROWSER_CRASHED", f"the browser crashed {LIMIT} times in {WINDOW_SECONDS:.0f} s and is left down, last {_describe_exit(code)}"
                ),
            )
            return False
        return True

    async def _end(self, project: str, slot: Slot, reason: str, code: int | None, message: str = "") -> None:
        """Clean up after a browser, then report it down: whoever hears that may rely on nothing being left."""
        if slot.browser is not None:
            await slot.browser.clean_up()
            slot.browser = None
        with contextlib.suppress(OSError):
            self._data.up_file(project).unlink()
        slot.up = False
        log.info("[%s] down: %s%s", project, reason, f" ({message})" if message else "")
        self._server.send({"event": "down", "project": project, "reason": reason, "exit_code": code, "message": message})

    def _fail(self, project: str, error: TelebrowserError) -> None:
        self._unwant(project)
        log.error("[%s] %s: %s", project, error.code, error.message)
        self._server.send({"event": "failed", "project": project, "code": error.code, "message": error.message})

    # The gateway

    def _greet(self) -> None:
        self._server.send(
            {
                "event": "hello",
                "version": __version__,
                "warnings": self._warnings,
                "display": {"backend": self._display.backend, "name": self._display.name, "size": self._display.size},
                "chromium": self._chromium,
            }
        )
        for slot in self._slots.values():
            if slot.browser is not None and slot.up:
                slot.browser.pipe.drain(False)
                self._send_up(slot.browser)

    def _gateway_lost(self) -> None:
        for slot in self._slots.values():
            if slot.browser is not None and slot.up:
                slot.browser.pipe.drain(True)
                if slot.browser.asked:
                    # The gateway may have ended before it passed the request on.
                    slot.browser.pipe.close_browser()

    def _ask_gateway(self, project: str) -> bool:
        return self._server.send({"event": "close", "project": project})

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
                self._wiping[project] = asyncio.create_task(self._wipe(project))
        else:
            log.error("dropped an unknown command of the gateway: %r", name)

    async def _wipe(self, project: str) -> None:
        self._unwant(project)
        slot = self._slots.get(project)
        error: str | None = None
        try:
            if slot is not None and slot.task is not None:
                slot.stop.set()
                await asyncio.wait({slot.task})
            profile = Profile(self._data, project, self._identity)
            await orphans.free_profile(profile)
            profile.wipe()
            log.info("[%s] wiped", project)
        except TelebrowserError as fault:
            error = fault.message
        except OSError as fault:
            error = f"{fault.strerror}: {fault.filename}"
        finally:
            del self._wiping[project]
        self._server.send({"event": "wiped", "project": project, "error": error})

    # The display

    async def _keep_display(self) -> None:
        """Bring the display back when it is lost. Browsers end with it; their tasks start them again."""
        while True:
            reason = await self._display.wait_lost()
            self._display_up.clear()
            log.error("the display was lost: %s", reason)
            await self._display.stop()
            while not self._display_up.is_set():
                try:
                    await self._display.start()
                    self._display_up.set()
                except (ExitError, OSError) as error:
                    self._display_error = str(error)
                    log.error("the display does not start: %s", error)
                    await asyncio.sleep(DISPLAY_RETRY_SECONDS)
            log.info("the display is back: %s", self._display.name)


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "exit code unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def fault_line(error: OSError) -> str:
    """One line for a fault of the operating system at start."""
    return f"no room left on the disk: {error.filename or ''}" if is_disk_full(error) else f"{error.strerror}: {error.filename or ''}"

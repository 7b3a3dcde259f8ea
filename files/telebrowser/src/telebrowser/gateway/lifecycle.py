"""One project's browser: started on demand, stopped when idle, taken over, and why it is not there.

The state follows what the supervisor reports: ``stopped → starting → up → stopping → stopped``, or ``failed`` with a
reason. What is wanted is a file, so that it outlives both programs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from typing import TYPE_CHECKING, Any

from ..cdp.transport import PipeTransport, Transport
from ..config import Settings
from ..datadir import DataDir, read_json, write_json
from ..errors import TelebrowserError
from .audit import Audit
from .browser import BrowserLink
from .engines import Engines
from .files import ProjectFiles
from .handoff.agents import SessionHandoffs
from .session import SessionBrowser
from .status import document, session_document
from .supervisor_client import Event, SupervisorClient, close_all
from .tabs import Hooks
from .wishes import Wishes

if TYPE_CHECKING:
    from .browsers import Browsers

log = logging.getLogger(__name__)

START_SECONDS = 30.0
STOP_SECONDS = 30.0
WIPE_SECONDS = 60.0
RAISE_SECONDS = 5.0
SUPERVISOR_SECONDS = 5.0

STOPPED, STARTING, UP, STOPPING, FAILED = "stopped", "starting", "up", "stopping", "failed"


class ProjectBrowser:
    """The browser of one project, whatever its state."""

    def __init__(self, project: str, owner: Browsers, data: DataDir, settings: Settings, audit: Audit, supervisor: SupervisorClient) -> None:
        self.project = project
        self.state = STOPPED
        self.reason: str | None = None
        self.link: BrowserLink | None = None
        self.hold_until: float | None = None
        self.downloads_dir = data.downloads(project)
        self.uploads_dir = data.uploads(project)
        self.files = ProjectFiles(data, project, settings)
        self.engines = Engines(settings, self.provider, self._session_over)
        self.owner = owner
        self._data = data
        self.settings = settings
        self._audit = audit
        self._supervisor = supervisor
        self._wishes = Wishes(project, data, supervisor)
        self.up_event: Event = {}
        self._last_used = time.monotonic()
        self._generation = 0
        self._saving = False
        self._adopting = asyncio.Lock()
        self._waiters: set[asyncio.Future[BrowserLink]] = set()
        self._downs: set[asyncio.Future[None]] = set()
        self._wiped: set[asyncio.Future[str | None]] = set()
        self._raised: set[asyncio.Future[str | None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # -- use

    def touch(self) -> None:
        """The browser is being used."""
        self._last_used = time.monotonic()

    def idle_seconds(self) -> float:
        """Seconds since the last use."""
        latest = self._last_used if self.link is None else max(self._last_used, self.link.last_activity)
        return time.monotonic() - latest

    def provider(self, session: str) -> SessionBrowser:
        """The engine's way to a session of this browser."""
        return SessionBrowser(
            self.project,
            session,
            connect=self.connect,
            activity=self.touch,
            status=lambda name: session_document(self, name),
            output_dir=self.downloads_dir,
            downloads_dir=self.downloads_dir,
            uploads_dir=self.uploads_dir,
            handoffs=SessionHandoffs(self.owner.handoffs, self.project, session),
        )

    async def connect(self, session: str) -> Transport:
        """A client connection of a session; starts the browser if needed. Raises `TelebrowserError`."""
        return await (await self.ensure_up()).connect(session)

    async def ensure_up(self) -> BrowserLink:
        """The link to the running browser, started if needed, within `START_SECONDS`. Raises `TelebrowserError`."""
        self.touch()
        if self.link is not None and self.link.down is None and self.state == UP:
            return self.link
        await self._wait_supervisor()
        waiter: asyncio.Future[BrowserLink] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            if self.state != STOPPING:
                self._want()
            async with asyncio.timeout(START_SECONDS):
                return await waiter
        except TimeoutError:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser did not start within {START_SECONDS:.0f} s") from None
        finally:
            self._waiters.discard(waiter)

    async def _wait_supervisor(self) -> None:
        try:
            async with asyncio.timeout(SUPERVISOR_SECONDS):
                await self._supervisor.connected.wait()
        except TimeoutError:
            raise TelebrowserError("BROWSER_UNAVAILABLE", "The supervisor is not running") from None

    async def start(self) -> None:
        """Start at the wish of a person, also after crashes. Raises `TelebrowserError`."""
        if self.state == FAILED:
            self._supervisor.send({"cmd": "failed-reset", "project": self.project})
        await self.ensure_up()

    async def stop(self, why: str = "asked") -> None:
        """Stop and wait until it has ended, within `STOP_SECONDS`. Raises `TelebrowserError`."""
        if self.state == STARTING:
            with contextlib.suppress(TelebrowserError):
                await self.ensure_up()
        if self.state in (STOPPED, FAILED):
            self._wishes.unwant()
            return
        down: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._downs.add(down)
        try:
            if self.state != STOPPING:
                self._audit.write(self.project, "stop", why=why)
            self.state = STOPPING
            self._wishes.unwant()
            async with asyncio.timeout(STOP_SECONDS):
                await down
        except TimeoutError:
            raise TelebrowserError("TIMEOUT", f"The browser has not ended within {STOP_SECONDS:.0f} s", "See supervisor.log.") from None
        finally:
            self._downs.discard(down)

    async def wipe(self) -> None:
        """Stop, and delete everything the browser has kept. Raises `TelebrowserError`."""
        await self._wait_supervisor()
        done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._wiped.add(done)
        try:
            self._audit.write(self.project, "wipe")
            self._supervisor.send({"cmd": "wipe", "project": self.project})
            async with asyncio.timeout(WIPE_SECONDS):
                error = await done
        except TimeoutError:
            raise TelebrowserError("TIMEOUT", f"The profile was not wiped within {WIPE_SECONDS:.0f} s", "See supervisor.log.") from None
        finally:
            self._wiped.discard(done)
        if error:
            raise TelebrowserError("INTERNAL", f"The profile was not wiped: {error}")

    async def focus(self) -> None:
        """Bring the project's window to the front, within `RAISE_SECONDS`. Raises `TelebrowserError`."""
        await self.ensure_up()
        raised: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._raised.add(raised)
        try:
            self._wishes.raise_window()
            async with asyncio.timeout(RAISE_SECONDS):
                error = await raised
        except TimeoutError:
            error = "the supervisor did not answer"
        finally:
            self._raised.discard(raised)
        if error:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The window was not raised: {error}")

    def hold(self, minutes: int) -> None:
        """No idle stop for so many minutes from now; 0 ends a hold."""
        self.hold_until = time.time() + minutes * 60 if minutes else None
        self._audit.write(self.project, "hold", minutes=minutes)
        self._save_soon()

    @property
    def is_idle(self) -> bool:
        """Whether it runs and has not been used for longer than it is kept."""
        limit = self.settings.idle_minutes * 60
        held = self.hold_until is not None and self.hold_until > time.time()
        wanted = held or self.engines.busy or self.owner.handoffs.busy(self.project)
        return bool(limit) and self.state == UP and not wanted and self.idle_seconds() >= limit

    async def stop_idle(self) -> None:
        """Stop because nobody uses it."""
        self.engines.disconnect()
        try:
            await self.stop("idle")
        except TelebrowserError as error:
            log.warning("[%s] %s", self.project, error.message)

    # -- what is wanted

    def _want(self) -> None:
        if self.state != UP:
            self.state = STARTING
        try:
            self._wishes.want()
        except TelebrowserError as error:
            self.state, self.reason = FAILED, error.message
            raise

    def _agent_selected(self) -> None:
        """An agent brought a tab to the front: the window follows, but never over one in which a person works."""
        if self.owner.handoffs.lets_raise(self.project):
            self._wishes.raise_window()

    def _page_closed(self, target: str, opener: str | None) -> None:
        self.owner.handoffs.page_gone(self.project, target, opener)

    # -- what the supervisor reports

    def handle(self, event: Event, descriptors: list[int]) -> None:
        """An event about this project."""
        kind = event["event"]
        if kind == "up" and len(descriptors) == 2:
            task = asyncio.get_running_loop().create_task(self._adopt(event, descriptors))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        close_all(descriptors)
        if kind == "down":
            self._on_down(str(event.get("reason", "")), str(event.get("message") or ""))
        elif kind == "failed":
            self._on_failed(str(event.get("code", "")), str(event.get("message") or ""))
        elif kind == "close":
            self.engines.disconnect()
            if self.link is not None and self.link.down is None:
                self.state = STOPPING
                self.link.post("Browser.close", {}, "")
        elif kind == "wiped":
            _resolve(self._wiped, event.get("error"))
        elif kind == "raised":
            _resolve(self._raised, None if event.get("ok") else str(event.get("message") or "unknown"))

    async def _adopt(self, event: Event, descriptors: list[int]) -> None:
        self._generation += 1
        generation = self._generation
        async with self._adopting:
            sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
            if generation != self._generation:
                for sock in sockets:
                    sock.close()
                return
            await self._let_go()
            transport = await PipeTransport(sockets[0], sockets[1], takeover=True).open()
            hooks = Hooks(changed=self._save_soon, raised=self._agent_selected, down=self._on_link_down, closed=self._page_closed, audit=self._on_audit)
            link = BrowserLink(
                transport,
                project=self.project,
                downloads_dir=self.downloads_dir,
                uploads_dir=self.uploads_dir,
                session_grace=self.settings.session_grace,
                hooks=hooks,
            )
            self.up_event = event
            saved = self._saved(event)
            try:
                if saved is None:
                    await link.start()
                else:
                    self.hold_until = saved.get("hold_until")
                    await link.start(saved.get("targets") or {}, roots=saved.get("roots") or (), downloads=saved.get("downloads") or {})
            except TelebrowserError as error:
                ended = link.down is not None
                await link.close(keep_tabs=True)
                # Of a browser that ended meanwhile the supervisor knows why, and says so.
                if generation == self._generation and not ended:
                    self._on_failed(error.code, error.message)
                return
            if generation != self._generation:
                await link.close(keep_tabs=True)
                return
            self.link, self.state, self.reason = link, UP, None
            self.touch()
            self._save_soon()
            self._audit.write(self.project, "up" if saved is None else "taken over", pid=event.get("pid"))
            _resolve(self._waiters, link)
            self.owner.handoffs.browser_up(self, link)

    def _saved(self, event: Event) -> dict[str, Any] | None:
        """What the previous gateway knew of this very browser."""
        saved = read_json(self._data.sessions / f"{self.project}.json")
        same = saved is not None and (saved.get("pid"), saved.get("started_at")) == (event.get("pid"), event.get("started_at"))
        return saved if same else None

    def _on_down(self, why: str, message: str) -> None:
        self._generation += 1
        self._drop_link()
        with contextlib.suppress(OSError):
            (self._data.sessions / f"{self.project}.json").unlink()
        self._audit.write(self.project, "down", why=why)
        self.owner.handoffs.browser_down(self.project, why)
        crashed = why == "crashed"
        self.state = STARTING if crashed else STOPPED
        self.reason = message or None
        _resolve(self._downs, None)
        if self._waiters and not crashed:
            with contextlib.suppress(TelebrowserError):
                self._want()

    def _on_failed(self, code: str, message: str) -> None:
        self._generation += 1
        self._drop_link()
        self.state, self.reason = FAILED, " ".join(message.split())
        self._audit.write(self.project, "failed", code=code)
        self.owner.handoffs.browser_down(self.project, code)
        _resolve(self._downs, None)
        known = code if code in ("BROWSER_UNAVAILABLE", "BROWSER_CRASHED", "DISK_FULL", "INTERNAL") else "BROWSER_UNAVAILABLE"
        hint = "Start it with `telebrowser start` once the cause is gone." if known == "BROWSER_CRASHED" else None
        for waiter in list(self._waiters):
            if not waiter.done():
                waiter.set_exception(TelebrowserError(known, message, hint))

    def on_supervisor_lost(self) -> None:
        """The supervisor has ended: close our ends, so that a browser it left behind ends cleanly too."""
        self._generation += 1
        had = self.state not in (STOPPED, FAILED)
        self._drop_link()
        if had:
            self.state, self.reason = STOPPED, "the supervisor ended"
            self.owner.handoffs.browser_down(self.project, self.reason)
        _resolve(self._downs, None)
        for future in (*self._wiped, *self._raised):
            if not future.done():
                future.set_result("the supervisor ended")
        for waiter in list(self._waiters):
            if not waiter.done():
                waiter.set_exception(TelebrowserError("BROWSER_UNAVAILABLE", "The supervisor ended"))

    def _on_link_down(self, reason: str) -> None:
        # The supervisor reports the end itself and knows why; until then nobody is to be handed this link.
        if self.state == UP:
            self.state, self.reason = STARTING, reason

    def _drop_link(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            link.abandon("the browser has stopped")

    async def _let_go(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            await link.close(keep_tabs=True)

    # -- what is kept for the next gateway

    def _session_over(self, session: str) -> None:
        if self.link is not None and self.link.down is None:
            self.link.end_session(session)

    def _on_audit(self, event: str, fields: dict[str, Any]) -> None:
        self._audit.write(self.project, event, **fields)

    def _save_soon(self) -> None:
        if not self._saving:
            self._saving = True
            asyncio.get_running_loop().call_soon(self._save)

    def _save(self) -> None:
        self._saving = False
        if self.link is None or self.link.down is not None:
            return
        state = {"pid": self.up_event.get("pid"), "started_at": self.up_event.get("started_at"), "hold_until": self.hold_until, **self.link.state()}
        try:
            write_json(self._data.sessions / f"{self.project}.json", state)
        except OSError as error:
            log.warning("[%s] the owners of tabs cannot be saved: %s", self.project, error.strerror)

    async def shut_down(self) -> None:
        """The gateway ends; the browser runs on."""
        self._generation += 1
        for waiter in list(self._waiters):
            if not waiter.done():
                waiter.set_exception(TelebrowserError("BROWSER_UNAVAILABLE", "The gateway is shutting down"))
        self._save()
        self._saving = True
        await self._let_go()
        await self.engines.aclose()
        self.files.close()
        for task in self._tasks:
            task.cancel()

    def status(self) -> dict[str, Any]:
        """The status document."""
        return document(self)


def _resolve(futures: set[asyncio.Future[Any]], value: Any) -> None:
    for future in list(futures):
        if not future.done():
            future.set_result(value)

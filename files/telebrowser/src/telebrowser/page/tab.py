"""One tab of the session: its page session, frames, dialogs, console and loading state."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..cdp.connection import CdpError, ConnectionLost, Session, SessionGone
from ..errors import TelebrowserError
from .console import ConsoleBuffer
from .deadline import within
from .dialogs import Dialogs
from .document import Document, DocumentGone
from .effects import Watch
from .frames import Frames
from .guard import NetworkGuard
from .lock import OperationLock
from .requests import BLOCKED, Requests

CROSS_DOCUMENT = frozenset({"reload", "reloadBypassingCache", "restore", "restoreWithPost", "historyDifferentDocument", "differentDocument"})


class Chooser(NamedTuple):
    """A file chooser that the page wanted to open: where, and the input that takes the files, if it is one."""

    session: Session
    frame: str
    input: int | None


class Tab:
    """What the engine knows of one page target, kept up to date by events alone."""

    def __init__(self, target_id: str, name: str, queue_limit: int) -> None:
        self.target_id = target_id
        self.name = name
        self.url = ""
        self.title = ""
        self.mime = ""
        self.closed = False
        self.crashed = False
        self.settled = False
        self.opener: str | None = None
        self.lock = OperationLock(queue_limit)
        self.console = ConsoleBuffer()
        self.watches: list[Watch] = []
        self.notes: deque[dict[str, Any]] = deque(maxlen=20)
        self.dialogs = Dialogs(self._dialog_answered)
        self.chooser: Chooser | None = None
        self.requests = Requests(target_id, self.watches, self._frame_blocked)
        self.failed_url = ""
        self._session: Session | None = None
        self._guard: NetworkGuard | None = None
        self._frames: Frames | None = None
        self._attached = asyncio.Event()
        self._interactive = asyncio.Event()
        self._loaded = asyncio.Event()
        self._navigating = False
        self._loader = ""
        self._progress = asyncio.Event()

    @property
    def session(self) -> Session:
        """The page session. Raises ``TAB_CLOSED`` or ``BROWSER_CRASHED`` when there is none."""
        if self.crashed:
            raise self.crash_error()
        return self.any_session

    @property
    def any_session(self) -> Session:
        """The page session, also of a crashed page: a navigation brings it back. Raises ``TAB_CLOSED``."""
        if self.closed or self._session is None:
            raise TelebrowserError("TAB_CLOSED", f"Tab {self.name} is closed")
        return self._session

    @property
    def frames(self) -> Frames:
        """The tab's frames; raises like `session`."""
        _ = self.session
        assert self._frames is not None
        return self._frames

    @property
    def is_ready(self) -> bool:
        """The document can be used: it is parsed."""
        return self._interactive.is_set()

    @property
    def is_loaded(self) -> bool:
        """The load event has fired."""
        return self._loaded.is_set()

    def owns(self, document: Document) -> bool:
        """Whether the document is one of this tab's."""
        return self._frames is not None and document in self._frames.all()

    def knows_frame(self, frame_id: str) -> bool:
        """Whether the frame is one of this tab's."""
        return self._frames is not None and self._frames.has(frame_id)

    async def attach(self, session: Session, guard: NetworkGuard | None) -> None:
        """Take the page session and switch its domains on; ``guard`` then checks each document request."""
        self._session = session
        self._guard = guard
        self._frames = Frames(session, self.target_id, self._listen_anywhere)
        self._listen_page(session)
        opened = self._frames.open()
        opened += [
            session.start("Page.setLifecycleEventsEnabled", enabled=True),
            session.start("Network.enable", maxTotalBufferSize=10_000_000, maxResourceBufferSize=5_000_000),
            session.start("Log.enable"),
            session.start("Page.setInterceptFileChooserDialog", enabled=not self.dialogs.handed),
        ]
        results = await asyncio.gather(*opened, return_exceptions=True)
        for result in results:
            if isinstance(result, dict) and "frameTree" in result:
                self._frames.learn(result["frameTree"])
                self.failed_url = self.failed_url or result["frameTree"]["frame"].get("unreachableUrl", "")
            elif isinstance(result, ConnectionLost):
                raise result
        if not self._navigating:
            self._interactive.set()
            self._loaded.set()
        if self.failed_url:
            self.settled = True
        self._attached.set()

    async def attached(self, timeout: float) -> None:
        """Wait until the tab can be used."""
        async with asyncio.timeout(timeout):
            await self._attached.wait()

    def _listen_anywhere(self, session: Session) -> None:
        if self._guard is not None:
            self._guard.watch(session)
        self.dialogs.listen(session)
        session.on("Runtime.consoleAPICalled", self.console.api_called)
        session.on("Runtime.exceptionThrown", self.console.exception_thrown)
        session.on("Page.fileChooserOpened", lambda params: self._chooser(session, params))
        session.on("Page.windowOpen", self._window_open)
        session.on("Page.frameRequestedNavigation", self._requested)

    def _listen_page(self, session: Session) -> None:
        session.on("Page.frameStartedNavigating", self._started)
        session.on("Page.frameNavigated", self._navigated)
        session.on("Page.navigatedWithinDocument", self._within)
        session.on("Page.lifecycleEvent", self._lifecycle)
        session.on("Page.frameStoppedLoading", self._stopped)
        self.requests.listen(session)
        session.on("Inspector.targetCrashed", lambda _params: self.crash())
        session.on("Log.entryAdded", self.console.log_entry)

    def info_changed(self, info: dict[str, Any]) -> None:
        """Take in a Target.targetCreated or targetInfoChanged."""
        self.url = info.get("url", "")
        self.title = info.get("title", "")
        for watch in self.watches:
            watch.touch()
        self._progress.set()

    def seen(self, url: str, title: str) -> None:
        """Take in what the page itself says of its address and title; target events lag behind."""
        self.url = url
        self.title = title

    async def learn_title(self, seconds: float) -> None:
        """Ask for the title, within ``seconds``: no event tells of a change. The browser answers, not the page, which may hang."""
        try:
            history = await self.any_session.call("Page.getNavigationHistory", timeout=seconds)
        except (CdpError, SessionGone, ConnectionLost, TelebrowserError, TimeoutError):
            return
        entry = history["entries"][history["currentIndex"]]
        if entry["url"] == self.url:
            self.title = entry["title"]

    def gone(self) -> None:
        """The target was destroyed."""
        self.closed = True
        self._attached.set()
        self._interactive.set()
        self._loaded.set()
        for watch in self.watches:
            watch.stopped = True
            watch.touch()

    @contextmanager
    def watch(self) -> Iterator[Watch]:
        """Collect what happens in this tab during the block."""
        watch = Watch()
        self.watches.append(watch)
        try:
            yield watch
        finally:
            self.watches.remove(watch)

    # -- page state ------------------------------------------------------------------------------

    def _is_main(self, params: dict[str, Any]) -> bool:
        return bool(params.get("frameId") == self.target_id)

    def _requested(self, params: dict[str, Any]) -> None:
        if not self._is_main(params):
            if self.guarded and params.get("disposition") == "currentTab":
                # Whether its address is blocked belongs into the answer.
                for watch in self.watches:
                    watch.frames.add(params["frameId"])
            return
        for watch in self.watches:
            if params.get("disposition") == "currentTab":
                watch.requested = params["url"]
                # The end of the page's own load may have been told just before.
                watch.stopped = False
            elif params.get("disposition") in ("newTab", "newWindow"):
                watch.windows.append(params["url"])
            watch.touch()

    def _started(self, params: dict[str, Any]) -> None:
        if not self._is_main(params) or params.get("navigationType") not in CROSS_DOCUMENT:
            return
        self._navigating = True
        self.requests.started()
        for watch in self.watches:
            watch.started = params["url"]
            watch.stopped = False
            watch.touch()

    def _navigated(self, params: dict[str, Any]) -> None:
        frame = params["frame"]
        if frame.get("parentId"):
            self._frame_done(frame["id"])
            return
        self._navigating = False
        self.chooser = None
        if self._frames is not None:
            self._frames.left()
        self._loader = frame["loaderId"]
        self.crashed = False
        self.url = frame["url"] + frame.get("urlFragment", "")
        self.mime = frame.get("mimeType", "")
        self.failed_url = frame.get("unreachableUrl", "")
        if not self.watches and (failure := self.load_failure()) is not None:
            self.note("navigation_failed", failure)
        self._interactive.clear()
        self._loaded.clear()
        self.requests.committed()
        self.console.clear()
        for watch in self.watches:
            watch.committed = True
            watch.touch()
        self._progress.set()

    def _within(self, params: dict[str, Any]) -> None:
        if self._is_main(params):
            self.url = params["url"]
            for watch in self.watches:
                watch.within = params["url"]
                watch.requested = None
                watch.touch()

    def _lifecycle(self, params: dict[str, Any]) -> None:
        if not self._is_main(params) or (self._loader and params["loaderId"] != self._loader):
            return
        if params["name"] == "DOMContentLoaded":
            self._interactive.set()
        elif params["name"] == "load":
            self._interactive.set()
            self._loaded.set()
            self.settled = True

    def _frame_done(self, frame_id: str) -> None:
        for watch in self.watches:
            watch.frames.discard(frame_id)
            watch.touch()

    def _stopped(self, params: dict[str, Any]) -> None:
        if not self._is_main(params):
            self._frame_done(params["frameId"])
            return
        self._navigating = False
        self.settled = True
        self._interactive.set()
        for watch in self.watches:
            watch.stopped = True
            watch.touch()
        self._progress.set()

    def _frame_blocked(self, url: str) -> None:
        if self._guard is not None:
            self.note("blocked", {"url": url, "error": "PRIVATE_NETWORK_BLOCKED", "what": "a frame"})

    def crash(self) -> None:
        """The page's process ended: nothing that was asked of it will be answered. Two events tell of one crash."""
        if self.crashed:
            return
        self.crashed = True
        if self._session is not None:
            self._session.connection.abandon(self._session.id)
        self._interactive.set()
        self._loaded.set()
        for watch in self.watches:
            watch.stopped = True
            watch.touch()

    # -- what interrupts -------------------------------------------------------------------------

    def _dialog_answered(self, dialog: dict[str, Any]) -> None:
        self.note("dialog", dialog)
        for watch in self.watches:
            watch.dialogs.append(dialog)
            watch.touch()

    def hand_over(self, handed: bool) -> None:
        """Leave dialogs and file choosers to a person, or take them back; a dialog that is open then is answered."""
        if handed == self.dialogs.handed:
            return
        if self._session is not None and not self.closed:
            self._session.forget("Page.setInterceptFileChooserDialog", enabled=not handed)
        self.dialogs.hand_over(handed)

    def _chooser(self, session: Session, params: dict[str, Any]) -> None:
        self.chooser = Chooser(session, params.get("frameId", self.target_id), params.get("backendNodeId"))
        for watch in self.watches:
            watch.choosers.append(params.get("mode", "selectSingle"))
            watch.touch()

    def _window_open(self, params: dict[str, Any]) -> None:
        for watch in self.watches:
            watch.windows.append(params["url"])
            watch.touch()

    def note(self, kind: str, value: dict[str, Any]) -> None:
        """Remember something for the next answer, unless an answer tells it before."""
        value["told"] = False
        self.notes.append({"kind": kind, "value": value})

    def pending_notes(self) -> list[dict[str, Any]]:
        """What happened since the last answer and no answer has told yet."""
        fresh = [{note["kind"]: {key: value for key, value in note["value"].items() if key != "told"}} for note in self.notes if not note["value"].get("told")]
        self.notes.clear()
        return fresh

    # -- waiting ---------------------------------------------------------------------------------

    async def wait_ready(self, seconds: float) -> bool:
        """Wait until the document is parsed; whether it is."""
        return await within(self._interactive, seconds)

    async def wait_loaded(self, seconds: float) -> bool:
        """Wait for the load event; whether it came."""
        return await within(self._loaded, seconds)

    async def navigation_guard(self, seconds: float) -> None:
        """Before a reading tool touches the page: let a navigation under way arrive, within ``seconds``."""
        end = time.monotonic() + seconds
        while self._navigating and not self.closed:
            left = end - time.monotonic()
            if left <= 0:
                return
            self._progress.clear()
            await within(self._progress, left)
        await self.wait_ready(max(0.0, end - time.monotonic()))

    async def main_document(self, seconds: float) -> Document:
        """The main frame's document. Raises ``TIMEOUT`` when the page gives none."""
        try:
            return await self.frames.main(seconds)
        except TimeoutError:
            raise TelebrowserError("TIMEOUT", f"The page of tab {self.name} did not answer") from None

    @property
    def guarded(self) -> bool:
        """Whether private address ranges are blocked for this tab."""
        return self._guard is not None

    def load_failure(self) -> dict[str, Any] | None:
        """The address that could not be loaded and why, while the browser's error page is shown in its place."""
        if not self.failed_url:
            return None
        blocked = self._guard is not None and self.requests.failure in (BLOCKED, "")
        return {"url": self.failed_url, "error": "PRIVATE_NETWORK_BLOCKED" if blocked else self.requests.failure or "it could not be loaded"}

    def crash_error(self) -> TelebrowserError:
        """What a call on a crashed page answers."""
        return TelebrowserError("BROWSER_CRASHED", f"The page of tab {self.name} crashed", "Navigate the tab again to reload it.")

    async def respond(self, seconds: float) -> bool:
        """Whether the page's renderer answers at all."""
        if self.crashed:
            return False
        try:
            document = await self.frames.main(seconds)
            await document.session.call("Runtime.evaluate", expression="1", timeout=seconds)
        except (TimeoutError, DocumentGone, SessionGone):
            return False
        return True

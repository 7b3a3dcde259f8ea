"""One client connection of a browser: carries out what its filter decides.

A WebSocket client and the engine in the same process use the same object: they give it messages by
`Client.feed` and take messages by the ``deliver`` that they pass in.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import wire
from .actions import Action, Activated, Adopt, Drop, End, Operation, Resumed, ToBrowser, ToClient
from .filter import SessionFilter
from .guard import refused
from .targets import Info, selects

if TYPE_CHECKING:
    from .browser import BrowserLink

CLOSE_SECONDS = 5.0
"""How long a page to which a close was sent does not count as one that stays."""
ACTIVATIONS = 20
ACTIVATION_SECONDS = 10.0


class Client:
    """A client of session ``session``, or with None of the whole browser. Implements `filter.View`."""

    def __init__(
        self,
        link: BrowserLink,
        session: str | None,
        root: str,
        deliver: Callable[[bytes], None],
        on_end: Callable[[str], None],
        page: tuple[str, str] | None = None,
    ) -> None:
        self.session = session
        self.root = root
        self.closed = False
        self.last_used = 0.0
        self._link = link
        self._deliver = deliver
        self._on_end = on_end
        self._activations: deque[float] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._attaching = asyncio.Lock()
        self._routes: set[str] = {root, page[1]} if page else {root}
        for name in self._routes:
            link.route(name, self)
        self.filter = SessionFilter(root, self, link.files.of(session), page)

    # -- messages

    def feed(self, raw: bytes) -> None:
        """A message of the client."""
        if self.closed:
            return
        self.last_used = self._link.last_activity = time.monotonic()
        self._run(self.filter.from_client(raw))

    def refuse_oversize(self, limit: int) -> None:
        """The client sent more than ``limit`` bytes in one message: say so; the connection goes on."""
        self._deliver(wire.error(None, wire.INVALID_REQUEST, f"Message is larger than {limit // 1048576} MiB"))

    def from_browser(self, raw: bytes, upstream: str) -> None:
        """A message of the browser on one of this client's sessions."""
        self._run(self.filter.from_browser(raw, upstream))

    def _run(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if self.closed:
                return
            if type(action) is ToBrowser:
                self._link.send(action.data)
            elif type(action) is ToClient:
                self._deliver(action.data)
            else:
                self._run_rare(action)

    def _run_rare(self, action: Action) -> None:
        if isinstance(action, Adopt):
            self._routes.add(action.session)
            self._link.route(action.session, self)
            if self.session is None:
                self._link.visit(action.target, self)
        elif isinstance(action, Drop):
            self._routes.discard(action.session)
            self._link.unroute(action.session)
        elif isinstance(action, Activated):
            self._link.activated(action.target)
        elif isinstance(action, Resumed):
            self._link.pauses.resumed(action.target)
        elif isinstance(action, End):
            self.end(action.reason)
        elif isinstance(action, Operation):
            task = asyncio.get_running_loop().create_task(self._operate(action))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def end(self, reason: str) -> None:
        """End the connection: detach everything upstream and tell the client why. Repeated calls do nothing."""
        if self.closed:
            return
        self.closed = True
        for task in self._tasks:
            task.cancel()
        self._link.forget_client(self, self._routes)
        self._on_end(reason)

    # -- notices of the link

    def target_event(self, name: str, info: Info, extra: Mapping[str, Any] | None = None) -> None:
        """A target that exists for this client changed."""
        self._run(self.filter.target_event(name, info, extra))

    def download_event(self, name: str, params: Mapping[str, Any]) -> None:
        """A download that a tab of this client began changed."""
        self._run(self.filter.download_event(name, params))

    def wants_tabs(self) -> bool:
        """Whether the client asked for ``tab`` targets."""
        sessions = self.filter.sessions.values()
        return any(chosen is not None and selects(chosen, "tab") for session in sessions for chosen in (session.discover, session.attach))

    def waits(self, *, pages: bool = False) -> bool:
        """Whether the client wants new pages to wait for it; ``pages``: and attaches to them directly, not to their tabs."""
        roots = (session for session in self.filter.sessions.values() if session.attach is not None and session.waits)
        return any(not pages or selects(session.attach, "page") for session in roots)

    def hand_over(self, session: str, target: str) -> bool:
        """Give the client the session that paused a page, as if its own auto-attach had made it. False if it has one already."""
        info = self._link.targets.info(target)
        if info is None or self.closed:
            return False
        actions = self.filter.handed(session, info)
        self._run(actions)
        return bool(actions)

    def handed_gone(self, session: str) -> None:
        """A session that was handed over has ended."""
        self._run(self.filter.handed_gone(session))

    def attach_new(self, info: Info) -> None:
        """A page or tab that exists for this client is new: attach to it wherever auto-attach is on."""
        for session_id, session in self.filter.sessions.items():
            if session.attach is not None and session.is_root and selects(session.attach, info["type"]):
                task = asyncio.get_running_loop().create_task(self._attach_quietly(session_id, info["targetId"]))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    # -- filter.View

    @property
    def context_id(self) -> str:
        return self._link.context_id

    @property
    def browser_id(self) -> str:
        return self._link.browser_id

    def infos(self) -> Iterable[Info]:
        targets = self._link.targets
        return [info for info in targets.all() if self._shows(info) and not targets.is_going(info["targetId"])]

    def visible(self, target: str) -> Info | None:
        info = self._link.targets.info(target)
        return info if info is not None and self._shows(info) else None

    def _shows(self, info: Info) -> bool:
        return self._link.shows(self.session, info)

    def is_last_page(self, target: str) -> bool:
        return self._link.targets.is_last(self._link.targets.page_for(target) or target)

    def paused(self, target: str) -> bool:
        return self._link.pauses.holds(target)

    def closing(self, target: str, *, certain: bool) -> None:
        self._link.targets.closing(self._link.targets.page_for(target) or target, CLOSE_SECONDS, certain=certain)

    def owns_download(self, guid: str) -> bool:
        return self._link.downloads.belongs(guid, self.session)

    def may_activate(self) -> bool:
        now = time.monotonic()
        while self._activations and self._activations[0] < now - ACTIVATION_SECONDS:
            self._activations.popleft()
        if len(self._activations) >= ACTIVATIONS:
            return False
        self._activations.append(now)
        return True

    def take_trace(self) -> bool:
        if self._link.tracer not in (None, self):
            return False
        self._link.tracer = self
        return True

    def end_trace(self) -> bool:
        if self._link.tracer is not self:
            return False
        self._link.tracer = None
        return True

    # -- operations: calls that take more than one message

    async def _operate(self, operation: Operation) -> None:
        try:
            result = await getattr(self, "_do_" + operation.name)(operation.session, operation.params)
            if result is not None:
                self._deliver_open(wire.reply(operation.ident, result, operation.session))
        except wire.ProtocolError as error:
            self._deliver_open(wire.error(operation.ident, error.code, error.message, operation.session))
        except TimeoutError:
            self._deliver_open(wire.error(operation.ident, wire.SERVER_ERROR, "The browser did not answer in time", operation.session))

    def _deliver_open(self, data: bytes) -> None:
        if not self.closed:
            self._deliver(data)

    async def _do_create_target(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        target = await self._link.create_page(params["url"], self.session)
        await self._attach_everywhere(target)
        return {"targetId": target}

    async def _do_close_last(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        await self._link.create_page("about:blank", None)
        return await self._link.call(params["method"], params["params"], params["upstream"])

    async def _do_on_control(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._link.call(params["method"], params["params"])

    async def _do_history_entry(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        upstream = self.filter.sessions[session_id].upstream
        history = await self._link.call("Page.getNavigationHistory", {}, upstream)
        for entry in history.get("entries", []):
            if entry.get("id") == params["entryId"] and refused(entry.get("url", "")) is not None:
                raise wire.ProtocolError(wire.SERVER_ERROR, "The history entry is an internal page of the browser")
        return await self._link.call("Page.navigateToHistoryEntry", params, upstream)

    async def _do_discover_tabs(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        await self._pair_all()
        self._run(self.filter.replay(session_id))
        return {}

    async def _do_auto_attach(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        session = self.filter.sessions.get(session_id)
        if session is None or session.attach is None:
            return {}
        await self._link.update_pauses()
        if selects(session.attach, "tab"):
            await self._pair_all()
        for info in self.infos():
            if info["type"] in ("page", "tab") and session.attach is not None and selects(session.attach, info["type"]):
                await self._attach_quietly(session_id, info["targetId"])
        return {}

    async def _do_auto_detach(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        upstream = self.filter.sessions[session_id].upstream
        await self._link.update_pauses()
        for name in params["sessions"]:
            if name in self.filter.sessions:
                if self.filter.sessions[name].handed:
                    await self._link.pauses.detach(name)
                else:
                    await self._link.call("Target.detachFromTarget", {"sessionId": name}, upstream)
        return {}

    async def _do_detach_handed(self, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
        await self._link.pauses.detach(params["sessionId"])
        return {}

    async def _pair_all(self) -> None:
        for info in self.infos():
            if info["type"] == "page":
                await self._link.pair(info["targetId"])

    async def _attach_everywhere(self, page: str) -> None:
        """Attach the auto-attaching roots to a new page before its creator hears of it: Playwright counts on that order."""
        for session_id, session in list(self.filter.sessions.items()):
            if session.attach is None:
                continue
            target: str | None = page
            if selects(session.attach, "tab"):
                target = await self._link.pair(page)
            if target is not None:
                await self._attach_quietly(session_id, target)

    async def _attach_quietly(self, session_id: str, target: str) -> None:
        """Auto-attach one target, once; one that closes meanwhile is no error."""
        if self.waits(pages=True):
            await self._link.pauses.arrival(target)
        async with self._attaching:
            session = self.filter.sessions.get(session_id)
            if session is None or target in session.attached:
                return
            with contextlib.suppress(wire.ProtocolError, TimeoutError):
                result = await self._link.call("Target.attachToTarget", {"targetId": target, "flatten": True}, session.upstream)
                session.attached[target] = result["sessionId"]

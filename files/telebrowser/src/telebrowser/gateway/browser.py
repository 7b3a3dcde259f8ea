"""The link to one browser: the single place where its messages come in and go out.

Over one stream (a supervisor's pipe, or a WebSocket to somebody's Chromium) the link keeps a *control* root
of its own for discovery, ownership, downloads and shadows, and one virtual root for each client. Session ids are
unique in the stream, so that a client's own ids need no rewriting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..cdp.transport import Transport
from ..datadir import is_disk_full
from ..errors import TelebrowserError
from . import wire
from .client import Client
from .downloads import Downloads
from .guard import FileGuard
from .memory import MemoryTransport
from .selection import Selection
from .session import AgentSession, SessionBrowser
from .shadow import Shadow
from .targets import Info, Targets

log = logging.getLogger(__name__)

CALL_SECONDS = 15.0
Handler = Callable[[bytes, str], None]


def _nothing(*_: Any) -> None:
    """The default of a hook."""


@dataclass
class Hooks:
    """What the link tells its owner.

    ``changed``: `BrowserLink.state` has changed. ``raised``: an agent selected a tab; show the window.
    ``down``: the stream ended, with the reason. ``audit``: kind and fields of something worth a line.
    """

    changed: Callable[[], None] = _nothing
    raised: Callable[[], None] = _nothing
    down: Callable[[str], None] = _nothing
    audit: Callable[[str, dict[str, Any]], None] = field(default=_nothing)


class BrowserLink:
    """One browser and all its clients.

    ``session_grace`` is in seconds. ``foreign`` is for a browser that a person uses by themselves: only own tabs are
    ever touched, no placeholder is taken, and its download folder stays.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        project: str,
        downloads_dir: Path,
        uploads_dir: Path,
        session_grace: float,
        foreign: bool = False,
        hooks: Hooks | None = None,
    ) -> None:
        self.project = project
        self.foreign = foreign
        self.targets = Targets()
        self.downloads = Downloads(downloads_dir, named=not foreign)
        self.files = FileGuard((uploads_dir, downloads_dir))
        self.selection = Selection(self)
        self.frames: dict[str, str] = {}
        self.tracer: Client | None = None
        self.context_id = ""
        self.browser_id = ""
        self.version: dict[str, Any] = {}
        self.last_activity = time.monotonic()
        self.down: str | None = None
        self.received = 0
        self.sent = 0
        self._uploads_dir = uploads_dir
        self._downloads_dir = downloads_dir
        self._grace = session_grace
        self._hooks = hooks or Hooks()
        self._transport = transport
        self._control = ""
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._routes: dict[str, Handler] = {}
        self._roots: set[str] = set()
        self._clients: set[Client] = set()
        self._agents: dict[str, AgentSession] = {}
        self._shadows: dict[str, Shadow] = {}
        self._visitors: dict[str, set[Client]] = {}
        self._tab_hints: dict[str, str] = {}
        self._creating = 0
        self._undecided: list[str] = []
        self._pairing = asyncio.Lock()
        self._may_load: Callable[[str], Awaitable[bool]] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._events: dict[str, Callable[[dict[str, Any]], None]] = {
            "Target.targetCreated": self._on_created,
            "Target.targetInfoChanged": self._on_changed,
            "Target.targetDestroyed": self._on_destroyed,
            "Target.targetCrashed": self._on_crashed,
            "Browser.downloadWillBegin": self._on_download,
            "Browser.downloadProgress": self._on_download_progress,
        }
        transport.on_message = self._receive
        transport.on_close = self._lost

    # -- life

    async def start(self, adopt: Mapping[str, str] | None = None, *, roots: Iterable[str] = (), downloads: Mapping[str, str] | None = None) -> None:
        """Attach the control root and learn what there is.

        ``adopt`` (target → session), ``roots`` and ``downloads`` are the `state` of a previous gateway on the same
        browser; ``adopt`` None says that the browser is fresh. Raises `TelebrowserError` BROWSER_UNAVAILABLE.
        """
        try:
            self.downloads.prepare(downloads or {}, fresh=adopt is None)
            # Its answer ends what a previous reader left half read; a transport that takes over drops it.
            self.post("Browser.getVersion", {}, "")
            self._control = (await self.call("Target.attachToBrowserTarget", {}, ""))["sessionId"]
            self.route_events(self._control, self._control_message)
            self._roots.add(self._control)
            self.version = await self.call("Browser.getVersion", {})
            self.browser_id = (await self.call("Target.getTargetInfo", {}))["targetInfo"]["targetId"]
            self.context_id = (await self.call("Target.getBrowserContexts", {})).get("defaultBrowserContextId", "")
            await self.call("Browser.setDownloadBehavior", self.downloads.behavior())
            await self.call("Target.setDiscoverTargets", {"discover": True, "filter": [{}]})
        except (wire.ProtocolError, TimeoutError) as error:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser did not answer: {error}") from None
        except OSError as error:
            raise TelebrowserError("DISK_FULL" if is_disk_full(error) else "INTERNAL", f"{error.strerror}: {error.filename}") from None
        for root in roots:
            # The virtual roots of the previous gateway are still attached.
            self.post("Target.detachFromTarget", {"sessionId": root}, "")
        for target, session in (adopt or {}).items():
            if self.targets.info(target) is not None:
                self._agent(session).count_down()
                await self._take(target, session)
        await self.selection.look()
        self._hooks.changed()

    async def close(self, *, keep_tabs: bool = False) -> None:
        """End all clients and sessions and detach; ``keep_tabs`` leaves the tabs for the next gateway."""
        for client in list(self._clients):
            client.end("the gateway lets go of the browser")
        for agent in list(self._agents.values()):
            agent.stop()
            if not keep_tabs and self.down is None:
                await self._end_session(agent)
        for task in self._tasks:
            task.cancel()
        for shadow in self._shadows.values():
            shadow.stop()
        if self.down is None:
            self.post("Target.detachFromTarget", {"sessionId": self._control}, "")
            self.down = "the gateway let go of the browser"
        self._transport.close()

    def _lost(self, reason: str) -> None:
        self.down = reason
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(wire.ProtocolError(wire.SERVER_ERROR, f"The browser has ended: {reason}"))
        self._waiting.clear()
        for client in list(self._clients):
            client.end(f"the browser has ended: {reason}")
        for agent in self._agents.values():
            agent.stop()
        for task in self._tasks:
            task.cancel()
        self._hooks.down(reason)

    def abandon(self, reason: str) -> None:
        """The browser is known to have ended: let everyone know, and close the stream."""
        if self.down is None:
            self._lost(reason)
        self._transport.close()

    def state(self) -> dict[str, Any]:
        """What the next gateway on this browser needs: see `start`."""
        return {"targets": self.targets.owners(), "roots": sorted(self._roots), "downloads": self.downloads.state()}

    def sessions(self) -> list[dict[str, Any]]:
        """Name, tabs and connections of each session, for people."""
        return [{"session": name, "tabs": len(self.targets.owned(name)), "connections": len(agent.clients)} for name, agent in sorted(self._agents.items())]

    @property
    def client_count(self) -> int:
        """Connected clients."""
        return len(self._clients)

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold a task until it ends, or the link does; log its fault."""
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("%s: background work failed: %s", self.project, fault, exc_info=fault)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self.keep(asyncio.get_running_loop().create_task(work))

    # -- messages

    def send(self, data: bytes) -> None:
        """One ready message to the browser."""
        self.sent += 1
        self._transport.send(data)

    def post(self, method: str, params: Mapping[str, Any], session: str | None = None) -> None:
        """A call whose answer nobody awaits; on the control root unless a session is given ("" is the stream itself)."""
        self.send(wire.call(wire.fresh_id(), method, wire.encode(params), self._control if session is None else session))

    async def call(self, method: str, params: Mapping[str, Any], session: str | None = None) -> dict[str, Any]:
        """A call of the gateway itself. Raises `wire.ProtocolError`, or TimeoutError after `CALL_SECONDS`."""
        if self.down is not None:
            raise wire.ProtocolError(wire.SERVER_ERROR, f"The browser has ended: {self.down}")
        ident = wire.fresh_id()
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        self.send(wire.call(ident, method, wire.encode(params), self._control if session is None else session))
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await future
        finally:
            self._waiting.pop(ident, None)

    def _receive(self, raw: bytes) -> None:
        self.received += 1
        if (ident := wire.own_reply_id(raw)) is not None:
            self._answered(ident, raw)
            return
        session = wire.session_of(raw)
        handler = self._routes.get(session)
        if handler is not None:
            handler(raw, session)

    def _answered(self, ident: int, raw: bytes) -> None:
        future = self._waiting.pop(ident, None)
        if future is None or future.done():
            return
        try:
            message = wire.decode(raw)
        except msgspec.DecodeError as error:
            future.set_exception(wire.ProtocolError(wire.PARSE_ERROR, str(error)))
            return
        if "error" in message:
            future.set_exception(wire.ProtocolError(message["error"].get("code", wire.SERVER_ERROR), message["error"].get("message", "")))
        else:
            future.set_result(message.get("result", {}))

    def _control_message(self, raw: bytes, session: str) -> None:
        handler = self._events.get(wire.event_name(raw))
        if handler is not None:
            try:
                handler(wire.decode(raw)["params"])
            except (msgspec.DecodeError, KeyError) as error:
                log.warning("%s: an event of the browser could not be read: %s", self.project, error)

    def route(self, session: str, client: Client) -> None:
        """Messages of a session go to a client."""
        self._routes[session] = client.from_browser

    def route_events(self, session: str, handler: Handler) -> None:
        """Messages of a session of the gateway itself go to ``handler``."""
        self._routes[session] = handler

    def unroute(self, session: str) -> None:
        """The session is gone."""
        self._routes.pop(session, None)

    # -- clients

    async def connect(self, session: str | None) -> MemoryTransport:
        """A client connection inside the process. Raises `TelebrowserError`."""
        transport = MemoryTransport()
        transport.bind(await self.open_client(session, transport.deliver, transport.ended))
        return transport

    def session_provider(self, session: str, output_dir: Path | None = None) -> SessionBrowser:
        """The engine's provider of a session of this very browser (no start on demand)."""
        return SessionBrowser(
            self.project,
            session,
            connect=self.connect,
            activity=self.touch,
            output_dir=output_dir or self._downloads_dir,
            downloads_dir=self._downloads_dir,
            uploads_dir=self._uploads_dir,
        )

    def guard_documents(self, may_load: Callable[[str], Awaitable[bool]]) -> None:
        """Ask ``may_load`` for the address of every document request, in whatever tab, before it is sent.

        Only for a browser that nobody else uses. Unlike a guard on each tab it also holds the first request of a popup.
        """
        self._may_load = may_load
        self._events["Fetch.requestPaused"] = lambda params: self._spawn(self._decide_load(params))
        self.post("Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]})

    async def _decide_load(self, params: dict[str, Any]) -> None:
        if self._may_load is not None and not await self._may_load(params["request"]["url"]):
            self.post("Fetch.failRequest", {"requestId": params["requestId"], "errorReason": "BlockedByClient"})
        else:
            self.post("Fetch.continueRequest", {"requestId": params["requestId"]})

    def touch(self) -> None:
        """Something is being done with the browser."""
        self.last_activity = time.monotonic()

    async def open_client(self, session: str | None, deliver: Callable[[bytes], None], on_end: Callable[[str], None], page: str | None = None) -> Client:
        """A new client of ``session`` (None: the whole browser), which has a tab by then. Raises `TelebrowserError`.

        ``page`` connects it to that page (or tab) alone; NOT_FOUND when none such exists for the session.
        """
        if self.down is not None:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser has ended: {self.down}")
        agent = None if session is None else self._agent(session)
        if agent is not None:
            agent.hold()
        try:
            if agent is not None:
                async with agent.starting:
                    await self._first_tab(agent)
            root, attached = await self._attach_client(session, page)
        except BaseException as error:
            if agent is not None:
                agent.let_go()
            if isinstance(error, (wire.ProtocolError, TimeoutError)):
                raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser did not give a connection: {error}") from None
            raise
        client = Client(self, session, root, deliver, on_end, attached)
        self._roots.add(root)
        self._clients.add(client)
        if agent is not None:
            agent.clients.add(client)
        self.touch()
        self._hooks.changed()
        self._hooks.audit("connect", {"session": session})
        return client

    async def _attach_client(self, session: str | None, page: str | None) -> tuple[str, tuple[str, str] | None]:
        """A virtual root, and below it a session of ``page`` where one is asked for."""
        if page is not None:
            info = self.targets.info(page)
            if info is None or info["type"] not in ("page", "tab") or not self.shows(session, info):
                raise TelebrowserError("NOT_FOUND", f"There is no page with the id {page[:64]}")
        root = str((await self.call("Target.attachToBrowserTarget", {}, ""))["sessionId"])
        if page is None:
            return root, None
        try:
            attached = await self.call("Target.attachToTarget", {"targetId": page, "flatten": True}, root)
        except BaseException:
            self.post("Target.detachFromTarget", {"sessionId": root}, "")
            raise
        return root, (page, str(attached["sessionId"]))

    def forget_client(self, client: Client, routes: Iterable[str]) -> None:
        """A client is gone: detach its root, which ends all its sessions."""
        for session in routes:
            self.unroute(session)
        self._roots.discard(client.root)
        self._clients.discard(client)
        if self.tracer is client:
            self.tracer = None
        if self.down is None:
            self.post("Target.detachFromTarget", {"sessionId": client.root}, "")
        for page in [page for page, visitors in self._visitors.items() if client in visitors]:
            self._leave(page, client)
        agent = self._agents.get(client.session) if client.session is not None else None
        if agent is not None and client in agent.clients:
            agent.clients.discard(client)
            agent.let_go()
        if self.down is None:
            self._hooks.changed()
            self._hooks.audit("disconnect", {"session": client.session})

    def _agent(self, name: str) -> AgentSession:
        if name not in self._agents:
            self._agents[name] = AgentSession(name, self._grace, self._expired)
        return self._agents[name]

    async def _first_tab(self, agent: AgentSession) -> None:
        if self.targets.owned(agent.name):
            return
        # In a browser that a person uses, a blank tab among others may be theirs.
        lone = len(list(self.targets.pages())) == 1
        placeholder = self.targets.placeholder() if lone or not self.foreign else None
        if placeholder is None:
            await self.create_page("about:blank", agent.name)
            return
        # Claimed before the first await: another session that starts meanwhile finds no placeholder.
        await self._take(placeholder, agent.name)

    def end_unused(self, name: str) -> None:
        """A session got a tab without a connection: its grace time begins now."""
        self._agent(name).count_down()

    def end_session(self, name: str) -> None:
        """The grace time of a session is over by its owner's count: end it now unless somebody is connected."""
        agent = self._agents.get(name)
        if agent is not None and agent.idle:
            agent.stop()
            self._expired(agent)

    def _expired(self, agent: AgentSession) -> None:
        self._spawn(self._end_session(agent))

    async def _end_session(self, agent: AgentSession) -> None:
        """Close the tabs of a session that nobody uses any more; the browser's last one becomes a fresh placeholder."""
        self._agents.pop(agent.name, None)
        self._hooks.audit("session_end", {"session": agent.name})
        for page in self.targets.owned(agent.name):
            with contextlib.suppress(wire.ProtocolError, TimeoutError):
                await self.close_page(page)

    async def close_page(self, target: str) -> None:
        """Close a page (or tab), even with a dialog or a beforeunload handler open; a placeholder takes the place of the last one.

        Raises `wire.ProtocolError` or TimeoutError.
        """
        page = self.targets.page_for(target) or target
        last = self.targets.is_last(page)
        self.targets.closing(page, CALL_SECONDS, certain=True)
        if last:
            await self.create_page("about:blank", None)
        await self.call("Target.closeTarget", {"targetId": target})

    # -- targets

    def shows(self, session: str | None, info: Info) -> bool:
        """Whether a target exists for a client of ``session``."""
        if session is None:
            return self.targets.exposed(info)
        return info["type"] in ("page", "iframe", "worker", "tab") and self.targets.owner(info["targetId"]) == session

    def _audience(self, target: str) -> list[Client]:
        owner = self.targets.owner(target)
        return [client for client in self._clients if client.session is None or client.session == owner]

    def _tell(self, name: str, info: Info, extra: Mapping[str, Any] | None = None) -> None:
        for client in self._audience(info["targetId"]):
            if self.shows(client.session, info):
                client.target_event(name, info, extra)

    async def create_page(self, url: str, owner: str | None) -> str:
        """Open a tab in the background; gives its target id. Raises `wire.ProtocolError` or TimeoutError."""
        self._creating += 1
        try:
            target = str((await self.call("Target.createTarget", {"url": url, "background": True}))["targetId"])
            if owner is not None:
                await self._take(target, owner)
        finally:
            self._creating -= 1
            if not self._creating:
                self._decide_late()
        return target

    def _on_created(self, params: dict[str, Any]) -> None:
        info: Info = params["targetInfo"]
        self.targets.put(info)
        if info["type"] == "page":
            self._tab_hints[info["targetId"]] = self.targets.latest_tab()
            if self._creating and not info.get("openerId"):
                # It may be the tab that is being created: its answer, which follows, names it.
                self._undecided.append(info["targetId"])
                self._tell_unscoped("targetCreated", info)
                return
            if self._decide(info):
                return
        self._tell("targetCreated", info)

    def _tell_unscoped(self, name: str, info: Info) -> None:
        for client in self._clients:
            if client.session is None and self.shows(None, info):
                client.target_event(name, info)
                client.attach_new(info)

    def _decide_late(self) -> None:
        waiting, self._undecided = self._undecided, []
        for target in waiting:
            info = self.targets.info(target)
            if info is not None and self.targets.owner(target) is None:
                self._decide(info, told=True)

    def _decide(self, info: Info, *, told: bool = False) -> bool:
        """Give a page that appeared by itself to the session that caused it. False when it is the person's."""
        found = self.targets.decide(info)
        if found is None:
            if not told:
                for client in self._clients:
                    if client.session is None and self.shows(None, info):
                        client.attach_new(info)
            return False
        session, opener = found
        tab = self._tab_hints.get(info["targetId"], "")
        tab_info = self.targets.info(tab) or {}
        self._claim(info["targetId"], session, told=told)
        self._spawn(self._shadow(info["targetId"]))
        if (tab_info.get("embedderData") or {}).get("tabActive"):
            self.selection.popup(tab, opener)
        return True

    async def _take(self, target: str, session: str) -> None:
        """Make a page a session's, with its shadow on the way before anybody can use it."""
        self._claim(target, session, told=self.targets.info(target) is not None)
        await self._shadow(target)

    def _claim(self, target: str, session: str, *, told: bool) -> None:
        self.targets.claim(target, session)
        self._agent(session)
        info = self.targets.info(target)
        if info is not None:
            for client in self._audience(target):
                if client.session is not None or not told:
                    client.target_event("targetCreated", info)
                    client.attach_new(info)
            if any(client.wants_tabs() for client in self._audience(target)):
                self._spawn(self.pair(target))
        self.selection.watch()
        self._hooks.changed()

    def _on_changed(self, params: dict[str, Any]) -> None:
        info: Info = params["targetInfo"]
        before = self.targets.info(info["targetId"])
        self.targets.put(info)
        self._tell("targetInfoChanged", info)
        if info["type"] == "page" and before is not None and before["url"] != info["url"]:
            owner = self.targets.owner(info["targetId"])
            if owner is not None and (origin := _origin(info["url"])) != _origin(before["url"]):
                self._hooks.audit("navigate", {"session": owner, "origin": origin})

    def _on_destroyed(self, params: dict[str, Any]) -> None:
        target = params["targetId"]
        info = self.targets.info(target)
        if info is None:
            return
        audience = [client for client in self._audience(target) if self.shows(client.session, info)]
        owner = self.targets.remove(target)
        self._tab_hints.pop(target, None)
        if (shadow := self._shadows.pop(target, None)) is not None:
            shadow.stop()
        self._visitors.pop(target, None)
        for client in audience:
            client.target_event("targetDestroyed", info)
        if owner is not None:
            self._hooks.changed()

    def _on_crashed(self, params: dict[str, Any]) -> None:
        info = self.targets.info(params["targetId"])
        if info is not None:
            self._tell("targetCrashed", info, {"status": params.get("status", ""), "errorCode": params.get("errorCode", 0)})

    def click_opened(self, page: str, url: str) -> None:
        """A ctrl, middle or shift click in an own page asked for a new tab."""
        owner = self.targets.owner(page)
        if owner is not None:
            self.targets.expect(owner, page, url)

    def activated(self, target: str) -> None:
        """A client selected an own tab: the person shall see it."""
        self._spawn(self.selection.look())
        self._hooks.raised()

    async def pair(self, page: str) -> str | None:
        """The tab target of a page; finds it by attaching to tabs, the likely one first."""
        async with self._pairing:
            if (known := self.targets.tab_of(page)) is not None:
                return known
            hint = self._tab_hints.get(page, "")
            for tab in sorted(self.targets.unpaired_tabs(), key=lambda tab: tab != hint):
                await self._probe(tab)
                if (known := self.targets.tab_of(page)) is not None:
                    return known
            return None

    async def _probe(self, tab: str) -> None:
        found: list[str] = []

        def attached(raw: bytes, session: str) -> None:
            if wire.event_name(raw) == "Target.attachedToTarget":
                found.append(wire.decode(raw)["params"]["targetInfo"]["targetId"])

        try:
            session = (await self.call("Target.attachToTarget", {"targetId": tab, "flatten": True}))["sessionId"]
        except (wire.ProtocolError, TimeoutError):
            return
        self.route_events(session, attached)
        try:
            only_pages = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": [{"type": "page"}]}
            await self.call("Target.setAutoAttach", only_pages, session)
        except (wire.ProtocolError, TimeoutError):
            return
        finally:
            self.unroute(session)
            self.post("Target.detachFromTarget", {"sessionId": session})
        for page in found:
            self.targets.pair(tab, page)
            info = self.targets.info(tab)
            if info is not None and self.targets.owner(page) is not None:
                for client in self._audience(page):
                    if client.session is not None:
                        client.target_event("targetCreated", info)
                        client.attach_new(info)

    # -- shadows

    async def _shadow(self, page: str, *, focus: bool = True) -> None:
        old = self._shadows.get(page)
        if old is not None and (old.focus or not focus):
            return
        if old is not None:
            old.stop()
        shadow = self._shadows[page] = Shadow(self, page, focus=focus)
        await shadow.start()

    def visit(self, target: str, client: Client) -> None:
        """An unscoped client attached to a page: its screenshots must not hang in the background either."""
        info = self.targets.info(target)
        if info is None or info["type"] != "page":
            return
        self._visitors.setdefault(target, set()).add(client)
        if target not in self._shadows:
            self._spawn(self._shadow(target, focus=False))

    def _leave(self, page: str, client: Client) -> None:
        self._visitors[page].discard(client)
        if not self._visitors[page]:
            del self._visitors[page]
            shadow = self._shadows.get(page)
            if shadow is not None and not shadow.focus:
                del self._shadows[page]
                shadow.stop()

    def frames_gone(self, frames: Iterable[str]) -> None:
        """Frames of a shadow that are no more."""
        for frame in frames:
            self.frames.pop(frame, None)

    # -- downloads

    def _on_download(self, params: dict[str, Any]) -> None:
        frame = params.get("frameId", "")
        owner = self.targets.owner_ever(self.frames.get(frame, frame))
        self.downloads.began(params, owner)
        self._tell_download("downloadWillBegin", owner, params)
        self._hooks.changed()
        self._hooks.audit("download", {"session": owner, "origin": _origin(params.get("url", ""))})

    def _on_download_progress(self, params: dict[str, Any]) -> None:
        owner, told = self.downloads.progress(params)
        self._tell_download("downloadProgress", owner, told)
        if params.get("state") != "inProgress":
            self._hooks.changed()

    def _tell_download(self, name: str, owner: str | None, params: Mapping[str, Any]) -> None:
        for client in list(self._clients):
            if client.session is None or client.session == owner:
                client.download_event(name, params)


def _origin(url: str) -> str:
    """Scheme and host of an address; never its path or query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else f"{parts.scheme}:"

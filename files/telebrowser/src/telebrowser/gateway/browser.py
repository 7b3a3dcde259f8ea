"""The link to one browser: the single place where its messages come in and go out.

Over one stream (a supervisor's pipe, or a WebSocket to somebody's Chromium) the link keeps a *control* root
of its own for discovery, ownership, downloads and shadows, and one virtual root for each client. Session ids are
unique in the stream, so that a client's own ids need no rewriting.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..cdp.transport import Transport
from ..datadir import is_disk_full
from ..errors import TelebrowserError
from . import wire
from .client import Client
from .downloads import Downloads
from .guard import FileGuard
from .memory import MemoryTransport
from .session import AgentSession
from .tabs import Hooks, Tabs, origin_of


class BrowserLink(Tabs):
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
        super().__init__(transport, project, hooks or Hooks())
        self.foreign = foreign
        self.downloads = Downloads(downloads_dir, named=not foreign)
        self.files = FileGuard((uploads_dir, downloads_dir))
        self.tracer: Client | None = None
        self.context_id = ""
        self.browser_id = ""
        self.version: dict[str, Any] = {}
        self.last_activity = time.monotonic()
        self._uploads_dir = uploads_dir
        self._downloads_dir = downloads_dir
        self._grace = session_grace
        self._agents: dict[str, AgentSession] = {}
        self._may_load: Callable[[str], Awaitable[bool]] | None = None
        self._events["Browser.downloadWillBegin"] = self._on_download
        self._events["Browser.downloadProgress"] = self._on_download_progress

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
        if adopt is not None:
            self.spawn(self.pauses.sweep())
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
            self.pauses.release_all()
            self.post("Target.detachFromTarget", {"sessionId": self._control}, "")
            self.down = "the gateway let go of the browser"
        self._transport.close()

    def _lost(self, reason: str) -> None:
        super()._lost(reason)
        for client in list(self._clients):
            client.end(f"the browser has ended: {reason}")
        for agent in self._agents.values():
            agent.stop()
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

    def route(self, session: str, client: Client) -> None:
        """Messages of a session go to a client."""
        self._routes[session] = client.from_browser

    # -- clients

    async def connect(self, session: str | None) -> MemoryTransport:
        """A client connection inside the process. Raises `TelebrowserError`."""
        transport = MemoryTransport()
        transport.bind(await self.open_client(session, transport.deliver, transport.ended))
        return transport

    def guard_documents(self, may_load: Callable[[str], Awaitable[bool]]) -> None:
        """Ask ``may_load`` for the address of every document request, in whatever tab, before it is sent.

        Only for a browser that nobody else uses. Unlike a guard on each tab it also holds the first request of a popup.
        """
        self._may_load = may_load
        self._events["Fetch.requestPaused"] = lambda params: self.spawn(self._decide_load(params))
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
            self.pauses.client_gone(client)
        if client.waits():
            self.spawn(self.update_pauses())
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

    def _session_has_tab(self, session: str) -> None:
        # A tab may come when its session's last connection has gone already.
        self._agent(session).count_down()

    def latest_page(self, session: str) -> str | None:
        """The page of a session to which one of its clients spoke last; without any, its newest one."""
        own, agent = self.targets.owned(session), self._agents.get(session)
        for client in sorted(agent.clients if agent is not None else (), key=lambda client: client.last_used, reverse=True):
            page = self.targets.page_for(client.filter.latest)
            if page in own:
                return page
        return own[-1] if own else None

    async def keep_session(self, session: str) -> Callable[[], None]:
        """Keep a session and its tabs without a connection until the function that is returned is called; it has a tab by then.

        Raises `TelebrowserError` BROWSER_UNAVAILABLE.
        """
        if self.down is not None:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser has ended: {self.down}")
        agent = self._agent(session)
        agent.hold()

        def release() -> None:
            if self.down is None:
                agent.let_go()

        try:
            async with agent.starting:
                await self._first_tab(agent)
        except BaseException as error:
            release()
            if isinstance(error, (wire.ProtocolError, TimeoutError)):
                raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser did not give a tab: {error}") from None
            raise
        return release

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
        self.files.forget(agent.name)
        self.spawn(self._end_session(agent))

    async def _end_session(self, agent: AgentSession) -> None:
        """Close the tabs of a session that nobody uses any more; the browser's last one becomes a fresh placeholder."""
        self._agents.pop(agent.name, None)
        self._hooks.audit("session_end", {"session": agent.name})
        for page in self.targets.owned(agent.name):
            with contextlib.suppress(wire.ProtocolError, TimeoutError):
                await self.close_page(page)

    # -- downloads

    def _on_download(self, params: dict[str, Any]) -> None:
        frame = params.get("frameId", "")
        owner = self.targets.owner_ever(self.frames.get(frame, frame))
        self.downloads.began(params, owner)
        self._tell_download("downloadWillBegin", owner, params)
        self._hooks.changed()
        self._hooks.audit("download", {"session": owner, "origin": origin_of(params.get("url", ""))})

    def _on_download_progress(self, params: dict[str, Any]) -> None:
        owner, told = self.downloads.progress(params)
        self._tell_download("downloadProgress", owner, told)
        if params.get("state") != "inProgress":
            self._hooks.changed()

    def _tell_download(self, name: str, owner: str | None, params: Mapping[str, Any]) -> None:
        for client in list(self._clients):
            if client.session is None or client.session == owner:
                client.download_event(name, params)

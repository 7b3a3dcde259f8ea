"""The tabs of one browser: who owns them, who hears of them, and what is kept on them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..cdp.transport import Transport
from . import wire
from .channel import CALL_SECONDS, Channel
from .client import Client
from .pausing import Pauses
from .selection import Selection
from .shadow import Shadow
from .targets import Info, Targets

log = logging.getLogger(__name__)


def _nothing(*_: Any) -> None:
    """The default of a hook."""


@dataclass
class Hooks:
    """What the link tells its owner.

    ``changed``: `BrowserLink.state` has changed. ``raised``: an agent selected a tab; show the window.
    ``down``: the stream ended, with the reason. ``closed``: a page of a session has closed; its target, and the page that
    opened it. ``audit``: kind and fields of something worth a line.
    """

    changed: Callable[[], None] = _nothing
    raised: Callable[[], None] = _nothing
    down: Callable[[str], None] = _nothing
    closed: Callable[[str, str | None], None] = _nothing
    audit: Callable[[str, dict[str, Any]], None] = field(default=_nothing)


class Tabs(Channel):
    """The tabs, their shadows, and the clients that are told of them. `browser.BrowserLink` adds sessions and downloads."""

    def __init__(self, transport: Transport, project: str, hooks: Hooks) -> None:
        super().__init__(transport, project)
        self.targets = Targets()
        self.selection = Selection(self)
        self.pauses = Pauses(self)
        self.frames: dict[str, str] = {}
        """Frame → page, of all own pages."""
        self.front: str | None = None
        """The page in which a person works at an agent's wish: nothing that agents select takes its place."""
        self._hooks = hooks
        self._clients: set[Client] = set()
        self._roots: set[str] = set()
        """Sessions of all roots, ours and the clients': whoever takes the browser over must detach them."""
        self._shadows: dict[str, Shadow] = {}
        self._visitors: dict[str, set[Client]] = {}
        self._tab_hints: dict[str, str] = {}
        self._creating = 0
        self._undecided: list[str] = []
        self._pairing = asyncio.Lock()
        self._events: dict[str, Callable[[dict[str, Any]], None]] = {
            "Target.targetCreated": self._on_created,
            "Target.targetInfoChanged": self._on_changed,
            "Target.targetDestroyed": self._on_destroyed,
            "Target.targetCrashed": self._on_crashed,
        }

    def _session_has_tab(self, session: str) -> None:
        """A session got a tab, perhaps its first sign of life."""
        raise NotImplementedError

    def waits(self, session: str | None) -> bool:
        """Whether a client of ``session`` (None: of any) wants new pages paused. An unscoped client does not count: it owns none."""
        return any(client.session is not None and session in (None, client.session) and client.waits() for client in self._clients)

    def taker(self, session: str) -> Client | None:
        """The client of ``session`` to which a paused page is handed."""
        return next((client for client in self._clients if client.session == session and client.waits(pages=True)), None)

    async def update_pauses(self) -> None:
        """A client began or ceased to want new pages paused. A browser that does not answer pauses nothing."""
        with contextlib.suppress(wire.ProtocolError, TimeoutError):
            await self.pauses.update()

    async def open_root(self, handler: Callable[[bytes, str], None]) -> str:
        """One more root of the link's own, with its messages going to ``handler``. Raises `wire.ProtocolError` or TimeoutError."""
        root = str((await self.call("Target.attachToBrowserTarget", {}, ""))["sessionId"])
        self.route_events(root, handler)
        self._roots.add(root)
        self._hooks.changed()
        return root

    def undecided(self, target: str) -> bool:
        """Whether the page may be one that is just being created for a session."""
        return target in self._undecided

    def _control_message(self, raw: bytes, session: str) -> None:
        handler = self._events.get(wire.event_name(raw))
        if handler is not None:
            try:
                handler(wire.decode(raw)["params"])
            except (msgspec.DecodeError, KeyError) as error:
                log.warning("%s: an event of the browser could not be read: %s", self.project, error)

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
        """Open a tab in the background; gives its target id. Raises `wire.ProtocolError` or TimeoutError.

        Whoever asked may vanish meanwhile: the tab becomes the session's all the same, and closes with it.
        """
        making = asyncio.get_running_loop().create_task(self._create_page(url, owner))
        self._tasks.add(making)
        making.add_done_callback(self._tasks.discard)
        return await asyncio.shield(making)

    async def _create_page(self, url: str, owner: str | None) -> str:
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
            self.pauses.created(info["targetId"])
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
                self.pauses.settle(target)

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
        self.spawn(self._shadow(info["targetId"]))
        if (tab_info.get("embedderData") or {}).get("tabActive"):
            self.selection.popup(tab, opener)
        return True

    async def _take(self, target: str, session: str) -> None:
        """Make a page a session's, with its shadow on the way before anybody can use it."""
        self._claim(target, session, told=self.targets.info(target) is not None)
        self.pauses.settle(target)
        await self._shadow(target)

    def _claim(self, target: str, session: str, *, told: bool) -> None:
        self.targets.claim(target, session)
        self._session_has_tab(session)
        info = self.targets.info(target)
        if info is not None:
            for client in self._audience(target):
                if client.session is not None or not told:
                    client.target_event("targetCreated", info)
                    client.attach_new(info)
            if any(client.wants_tabs() for client in self._audience(target)):
                self.spawn(self.pair(target))
        self.selection.watch()
        self._hooks.changed()

    def _on_changed(self, params: dict[str, Any]) -> None:
        info: Info = params["targetInfo"]
        before = self.targets.info(info["targetId"])
        self.targets.put(info)
        self._tell("targetInfoChanged", info)
        if info["type"] == "page" and before is not None and before["url"] != info["url"]:
            owner = self.targets.owner(info["targetId"])
            if owner is not None and (origin := origin_of(info["url"])) != origin_of(before["url"]):
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
        self.pauses.gone(target)
        for client in audience:
            client.target_event("targetDestroyed", info)
        if owner is not None:
            self._hooks.changed()
            if info["type"] == "page":
                self._hooks.closed(target, info.get("openerId"))

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
        """A client selected an own tab: the person shall see it, unless one works in another tab at an agent's wish."""
        if self.front is not None and self.targets.info(self.front) is not None:
            self.post("Target.activateTarget", {"targetId": self.front})
            return
        self.spawn(self.selection.look())
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
            self.spawn(self._shadow(target, focus=False))

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


def origin_of(url: str) -> str:
    """Scheme and host of an address; never its path or query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else f"{parts.scheme}:"

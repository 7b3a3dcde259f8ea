"""One session's engine: its connection, its tabs, its downloads. The tools build on it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ..cdp.connection import CdpError, Connection, ConnectionLost, Session, SessionGone
from ..config import Settings
from ..errors import TelebrowserError
from .effects import Watch
from .guard import NetworkGuard
from .provider import BrowserProvider
from .refs import Refs
from .tab import Tab

log = logging.getLogger("telebrowser.engine")

CONNECT_SECONDS = 40.0
ATTACH_SECONDS = 10.0


class Engine:
    """Connects on the first call, follows the session's targets, reconnects when the browser was replaced."""

    def __init__(self, provider: BrowserProvider, settings: Settings, *, allow_private: bool) -> None:
        self.provider = provider
        self.settings = settings
        self.allow_private = allow_private
        self.guard = None if allow_private else NetworkGuard()
        self.tabs: dict[str, Tab] = {}
        self.refs = Refs()
        self.downloads: dict[str, dict[str, Any]] = {}
        self._current: str | None = None
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._tab_number = 0
        self._attaching: set[asyncio.Task[None]] = set()
        self._tab_seen = asyncio.Event()
        self._expected: set[str] = set()

    # -- connection ------------------------------------------------------------------------------

    async def ready(self) -> None:
        """Be connected, with at least one tab. Raises ``BROWSER_UNAVAILABLE``."""
        async with self._connecting:
            if self._connection is not None and self._connection.closed is None:
                return
            self.tabs.clear()
            self._current = None
            self._expected.clear()
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._connect()
            except TimeoutError:
                self.drop()
                raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser did not answer within {CONNECT_SECONDS:.0f} s") from None
            except (ConnectionLost, CdpError, SessionGone) as error:
                self.drop()
                raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser cannot be used: {error}") from None

    async def _connect(self) -> None:
        transport = await self.provider.connect()
        connection = Connection(transport)
        self._connection = connection
        connection.on_closed = self._lost
        root = connection.root
        root.on("Target.targetCreated", self._target_created)
        root.on("Target.targetInfoChanged", self._target_changed)
        root.on("Target.targetDestroyed", self._target_destroyed)
        root.on("Target.targetCrashed", self._target_crashed)
        root.on("Browser.downloadWillBegin", self._download_begins)
        root.on("Browser.downloadProgress", self._download_progress)
        await asyncio.gather(
            root.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.provider.downloads_dir), eventsEnabled=True),
            root.call("Target.setDiscoverTargets", discover=True, filter=[{"type": "page"}]),
        )
        while not self.tabs:
            if connection.closed is not None:
                raise ConnectionLost(connection.closed)
            self._tab_seen.clear()
            await self._tab_seen.wait()

    def _lost(self, reason: str) -> None:
        """The browser went away: nobody waits for its tabs any longer."""
        for tab in self.tabs.values():
            tab.gone()
        self._tab_seen.set()

    def drop(self) -> None:
        """Close the connection; the next call makes a new one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    async def aclose(self) -> None:
        """Close the connection and let go of the browser."""
        for task in self._attaching:
            task.cancel()
        self.drop()
        await self.provider.aclose()

    @property
    def root(self) -> Session:
        """The root session of the connection."""
        if self._connection is None:
            raise TelebrowserError("BROWSER_UNAVAILABLE", "There is no connection to the browser")
        return self._connection.root

    # -- tabs ------------------------------------------------------------------------------------

    def _target_created(self, params: dict[str, Any]) -> None:
        info = params["targetInfo"]
        if info["type"] != "page" or info["targetId"] in self.tabs:
            return
        self._tab_number += 1
        tab = Tab(info["targetId"], f"t{self._tab_number}", self.settings.queue_limit)
        tab.opener = info.get("openerId")
        tab.info_changed(info)
        self.tabs[tab.target_id] = tab
        if self._current is None:
            self._current = tab.target_id
        self._announce(tab)
        task = asyncio.create_task(self._attach(tab))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)
        self._tab_seen.set()

    def _announce(self, tab: Tab) -> None:
        """Tell whoever waits in the opener, or in any tab when the opener is not known, of a tab that a page opened."""
        if self._expected or tab.target_id in self._expected:
            return
        opener = self.tabs.get(tab.opener or "")
        watching: list[Watch] = (
            list(opener.watches) if opener is not None else [watch for other in self.tabs.values() for watch in other.watches if watch.windows]
        )
        for watch in watching:
            watch.new_tabs.append(tab)
            watch.touch()
        if not watching and opener is not None:
            opener.note("new_tab", {"tab": tab.name, "url": tab.url})

    async def _attach(self, tab: Tab) -> None:
        tab.hand_over(self._is_handed(tab))
        try:
            attached = await self.root.call("Target.attachToTarget", targetId=tab.target_id, flatten=True, timeout=ATTACH_SECONDS)
            await tab.attach(self.root.connection.session(attached["sessionId"]), self.guard)
        except (CdpError, SessionGone, ConnectionLost, TimeoutError, TelebrowserError) as error:
            log.info("tab %s could not be attached: %s", tab.name, error)
            tab.gone()
            self.tabs.pop(tab.target_id, None)

    def handoffs_changed(self) -> None:
        """A handoff of this session has begun or ended: whose are the dialogs of which tab?"""
        for tab in self.tabs.values():
            tab.hand_over(self._is_handed(tab))

    def _is_handed(self, tab: Tab) -> bool:
        return self.provider.handoffs is not None and self.provider.handoffs.held(tab.target_id)

    def _target_changed(self, params: dict[str, Any]) -> None:
        tab = self.tabs.get(params["targetInfo"]["targetId"])
        if tab is not None:
            tab.info_changed(params["targetInfo"])

    def _target_destroyed(self, params: dict[str, Any]) -> None:
        tab = self.tabs.pop(params["targetId"], None)
        if tab is None:
            return
        tab.gone()
        if self._current == tab.target_id:
            opener = tab.opener if tab.opener in self.tabs else None
            self._current = opener or next(iter(reversed(self.tabs)), None)

    def _target_crashed(self, params: dict[str, Any]) -> None:
        tab = self.tabs.get(params.get("targetId", ""))
        if tab is not None:
            tab.crash()

    async def tab(self, name: str | None, seconds: float = ATTACH_SECONDS) -> Tab:
        """The tab of that name, or the current one. Raises ``TAB_CLOSED`` or ``TIMEOUT``."""
        await self.ready()
        if name is None:
            if self._current is None:
                await self.new_tab("about:blank", seconds)
            found = self.tabs.get(self._current or "")
        else:
            found = next((tab for tab in self.tabs.values() if tab.name == name), None)
        if found is None:
            raise TelebrowserError("TAB_CLOSED", f"There is no tab {name or 'to work in'}")
        try:
            await found.attached(seconds)
        except TimeoutError:
            raise TelebrowserError("TIMEOUT", f"Tab {found.name} does not answer", "Close it with browser_tabs, or navigate it elsewhere.") from None
        return found

    @property
    def current(self) -> Tab | None:
        """The tab that calls without ``tab`` mean."""
        return self.tabs.get(self._current or "")

    def select(self, tab: Tab) -> None:
        """Make a tab the one that calls without ``tab`` mean; the window is left alone."""
        self._current = tab.target_id

    async def new_tab(self, url: str, seconds: float) -> Tab:
        """Open a tab in the background and make it the current one."""
        await self.ready()
        self._expected.add("new")
        try:
            created = await self.root.call("Target.createTarget", url=url, background=True, timeout=seconds)
            target_id = created["targetId"]
            async with asyncio.timeout(seconds):
                while target_id not in self.tabs:
                    if self.root.connection.closed is not None:
                        raise ConnectionLost(self.root.connection.closed)
                    self._tab_seen.clear()
                    await self._tab_seen.wait()
        finally:
            self._expected.discard("new")
        tab = self.tabs[target_id]
        self._current = target_id
        await tab.attached(seconds)
        return tab

    async def close_tab(self, tab: Tab, seconds: float) -> None:
        """Close a tab and wait until it is gone (or has become the window's blank placeholder)."""
        await self.root.call("Target.closeTarget", targetId=tab.target_id, timeout=seconds)
        tab.closed = True
        self.tabs.pop(tab.target_id, None)
        if self._current == tab.target_id:
            self._current = tab.opener if tab.opener in self.tabs else next(iter(reversed(self.tabs)), None)

    # -- downloads -------------------------------------------------------------------------------

    def _download_begins(self, params: dict[str, Any]) -> None:
        download: dict[str, Any] = {"name": params["suggestedFilename"], "url": params["url"], "state": "inProgress", "size": 0, "path": "", "told": False}
        self.downloads[params["guid"]] = download
        frame = params.get("frameId", "")
        tab = next((tab for tab in self.tabs.values() if not tab.closed and tab.target_id == frame), None) or next(
            (tab for tab in self.tabs.values() if not tab.closed and tab.knows_frame(frame)), None
        )
        if tab is None:
            return
        for watch in tab.watches:
            watch.downloads.append(download)
            watch.touch()
        tab.notes.append({"kind": "download", "value": download})

    def _download_progress(self, params: dict[str, Any]) -> None:
        download = self.downloads.get(params["guid"])
        if download is None:
            return
        download["state"] = params["state"]
        download["size"] = int(params.get("totalBytes") or params.get("receivedBytes") or 0)
        download["path"] = params.get("filePath", download["path"])
        for tab in self.tabs.values():
            for watch in tab.watches:
                watch.touch()

"""What an action caused: collected from events while it runs, waited for, and told in its answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import urls
from .deadline import Deadline

if TYPE_CHECKING:
    from .tab import Tab

COMMIT_WAIT = 8.0
READY_WAIT = 4.0
STOPPED_WAIT = 0.5
TAB_WAIT = 2.0
FRAME_WAIT = 1.0
DOWNLOAD_WAIT = 3.0
REQUEST_WAIT = 0.6
TITLE_WAIT = 1.0
MAX_URL = 500


class Watch:
    """Everything that one tab reported between the start of an action and its answer."""

    def __init__(self) -> None:
        self.requested: str | None = None
        self.started: str | None = None
        self.committed = False
        self.stopped = False
        self.within: str | None = None
        self.windows: list[str] = []
        self.new_tabs: list[Tab] = []
        self.dialogs: list[dict[str, Any]] = []
        self.downloads: list[dict[str, Any]] = []
        self.saves: str | None = None
        """What the page has the browser save, which tells nothing of it before the server has answered."""
        self.choosers: list[str] = []
        self.frames: set[str] = set()
        self.requests: set[str] = set()
        self._changed = asyncio.Event()

    def touch(self) -> None:
        """Something was added: whoever waits looks again."""
        self._changed.set()

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for the condition, at most ``seconds``; whether it came true."""
        end = time.monotonic() + seconds
        while not condition():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                return condition()
        return True

    @property
    def began(self) -> bool:
        """A new main document was asked for."""
        return self.committed or self.requested is not None or self.started is not None

    @property
    def navigating(self) -> bool:
        """A new main document was asked for and has neither come nor been given up."""
        return self.began and not (self.committed or self.stopped or self.downloads)


async def conclude(tab: Tab, watch: Watch, deadline: Deadline) -> None:
    """Wait for the outcome of what the action visibly began; return at once where it began nothing."""
    if watch.windows and not watch.new_tabs:
        await watch.until(lambda: bool(watch.new_tabs), deadline.left(TAB_WAIT))
    if watch.new_tabs and tab.guarded and not all([await urls.may_load(url) for url in watch.windows]):
        # That the address was blocked is known once the tab is attached.
        await watch.until(lambda: any(opened.load_failure() for opened in watch.new_tabs), deadline.left(1.0))
    elif watch.new_tabs and not watch.windows:
        await watch.until(lambda: all(opened.url not in ("", "about:blank") or opened.settled for opened in watch.new_tabs), deadline.left(0.5))
    await _arrive(tab, watch, deadline)
    if watch.requests and not watch.committed:
        await watch.until(lambda: not watch.requests or watch.navigating, deadline.left(REQUEST_WAIT))
        await _arrive(tab, watch, deadline)
    if watch.frames:
        await watch.until(lambda: not watch.frames, deadline.left(FRAME_WAIT))
    if watch.saves is not None:
        await watch.until(lambda: bool(watch.downloads) or watch.began, deadline.left(DOWNLOAD_WAIT))
    if watch.downloads:
        await watch.until(lambda: all(download["state"] != "inProgress" for download in watch.downloads), deadline.left(DOWNLOAD_WAIT))


async def _arrive(tab: Tab, watch: Watch, deadline: Deadline) -> None:
    """If a navigation was begun, wait for what becomes of it, and until its page can be used."""
    if not watch.began:
        return
    await watch.until(lambda: not watch.navigating, deadline.left(COMMIT_WAIT))
    if watch.stopped and not watch.committed:
        # The request became a download, which is announced a little later, or nothing at all (204).
        await watch.until(lambda: bool(watch.downloads) or watch.committed, deadline.left(STOPPED_WAIT))
    if watch.committed:
        await tab.wait_ready(deadline.left(READY_WAIT))
        await tab.learn_title(deadline.left(TITLE_WAIT))


def describe(tab: Tab, watch: Watch) -> dict[str, Any]:
    """The keys that the answer gains: only what was seen."""
    told: dict[str, Any] = {}
    if watch.committed and (failure := tab.load_failure()) is not None:
        told["navigation_failed"] = failure
    elif watch.committed:
        told["navigated"] = {"url": tab.url, "title": tab.title}
        if tab.mime and tab.mime != "text/html":
            told["navigated"]["type"] = tab.mime
        if not tab.is_ready:
            told["navigated"]["note"] = "the page is still loading"
    elif watch.within is not None:
        told["navigated"] = {"url": watch.within, "same_document": True}
    elif watch.navigating:
        told["navigating"] = {"url": watch.requested or watch.started, "note": "the new page has not arrived yet; wait for it with browser_wait_for"}
    if watch.new_tabs:
        addresses = list(watch.windows)
        told["new_tabs"] = [_opened(opened, addresses[min(index, len(addresses) - 1)] if addresses else "") for index, opened in enumerate(watch.new_tabs)]
    if watch.dialogs:
        for dialog in watch.dialogs:
            dialog["told"] = True
        told["dialogs"] = [{key: value for key, value in dialog.items() if key != "told"} for dialog in watch.dialogs]
    if watch.downloads:
        told["downloads"] = [download_told(download) for download in watch.downloads]
    elif watch.saves is not None and not watch.began:
        told["downloading"] = {"url": watch.saves[:MAX_URL], "note": "the file has not begun to come yet; browser_downloads shows it when it is there"}
    if watch.choosers:
        told["file_chooser"] = {"mode": watch.choosers[-1], "note": "the page asks for a file: call browser_upload with paths and no target"}
    return told


def _opened(tab: Tab, announced: str) -> dict[str, Any]:
    """A new tab as an answer names it: by its address, or while it has none by the one that the opener announced."""
    told: dict[str, Any] = {"tab": tab.name, "url": tab.url if tab.url not in ("", "about:blank") or not announced else announced}
    if (failure := tab.load_failure()) is not None:
        told["error"] = failure["error"]
    return told


def download_told(download: dict[str, Any]) -> dict[str, Any]:
    """One download as an answer names it."""
    download["told"] = True
    told = {"name": download["name"], "url": download["url"], "state": download["state"], "size": download["size"]}
    if download.get("path"):
        told["path"] = download["path"]
    return told

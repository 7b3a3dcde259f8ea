"""What targets a browser has and which session owns each: pure bookkeeping, no input or output.

Ownership is decided once, when a target appears, because Chromium rewrites ``openerId`` later (when b of
a→b→c closes, c's opener becomes a).
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Info = dict[str, Any]

SHOWN_TO_SESSION = frozenset({"page", "iframe", "worker", "tab"})
SHOWN_UNSCOPED = SHOWN_TO_SESSION | {"service_worker", "shared_worker"}
INTERNAL = ("devtools://", "chrome-untrusted://", "chrome-extension://")
# DevTools windows, and what the browser's own window is made of: Chromium lists both as pages.
FURNITURE = re.compile(r"devtools://|chrome(-untrusted)?://[^/]*\.top-chrome(/|$)")

NAVIGATION_SECONDS = 1.0
"""How long a ctrl, middle or shift click waits for the tab that it opens."""
DISTRUST_SECONDS = 60.0
"""How long a session's clicks claim nothing after one that no tab followed: a page's script can fake such a click, which
opens nothing, and so wait for a tab that a person opens at the same address."""
MAX_PENDING = 8
"""Clicks of one session that wait at once."""
PAST_KEPT = 256
"""How many closed targets keep their owner, for downloads and popups that outlive them."""


class Pending(NamedTuple):
    """A click that asked for a new tab: whose it was, the page, the address, until when it counts."""

    session: str
    opener: str
    url: str
    until: float


def selects(filters: list[Mapping[str, Any]] | None, kind: str) -> bool:
    """Whether a CDP target filter lets ``kind`` through; None is Chromium's default (no browser, no tab)."""
    if filters is None:
        return kind not in ("browser", "tab")
    for entry in filters:
        if entry.get("type", kind) == kind:
            return not entry.get("exclude", False)
    return False


class Targets:
    """All targets of one browser and the owners of the pages among them."""

    def __init__(self) -> None:
        self._infos: dict[str, Info] = {}
        self._owners: dict[str, str] = {}
        self._past: OrderedDict[str, str] = OrderedDict()
        self._tab_of: dict[str, str] = {}
        self._page_of: dict[str, str] = {}
        self._pending: list[Pending] = []
        self._distrusted: dict[str, float] = {}
        self._closing: dict[str, float] = {}
        self._going: set[str] = set()
        self._latest_tab = ""

    # -- what exists

    def put(self, info: Info) -> None:
        """A target appeared or changed."""
        target = info["targetId"]
        if info["type"] == "tab" and target not in self._infos:
            self._latest_tab = target
        self._infos[target] = info

    def remove(self, target: str) -> str | None:
        """A target is gone; gives the session that owned it."""
        owner = self.owner(target)
        self._infos.pop(target, None)
        self._owners.pop(target, None)
        self._closing.pop(target, None)
        self._going.discard(target)
        page, tab = self._page_of.pop(target, None), self._tab_of.pop(target, None)
        if page:
            self._tab_of.pop(page, None)
        if tab:
            self._page_of.pop(tab, None)
        if owner is not None:
            self._past[target] = owner
            while len(self._past) > PAST_KEPT:
                self._past.popitem(last=False)
        return owner

    def info(self, target: str) -> Info | None:
        """The latest description of a target."""
        return self._infos.get(target)

    def all(self) -> list[Info]:
        """Descriptions of all targets, oldest first."""
        return list(self._infos.values())

    def pages(self) -> Iterator[Info]:
        """Tabs that a person can see: no DevTools windows, and none of the pages that the browser's own window is made of."""
        return (info for info in self._infos.values() if info["type"] == "page" and not FURNITURE.match(info["url"]))

    def tabs(self) -> Iterator[Info]:
        """The ``tab`` targets."""
        return (info for info in self._infos.values() if info["type"] == "tab")

    def exposed(self, info: Info) -> bool:
        """Whether an unscoped client may know of this target."""
        url = str(info.get("url", ""))
        return info["type"] in SHOWN_UNSCOPED and not url.startswith(INTERNAL) and not FURNITURE.match(url)

    # -- who owns it

    def owner(self, target: str) -> str | None:
        """The session that owns a target, directly, as its frame or worker, or as its tab."""
        for _ in range(32):
            found = self._owners.get(target)
            if found is not None:
                return found
            page = self._page_of.get(target)
            if page is not None:
                target = page
                continue
            info = self._infos.get(target)
            parent = info.get("parentId") or info.get("parentFrameId") if info else None
            if not parent or parent == target:
                return None
            target = parent
        return None

    def owner_ever(self, target: str) -> str | None:
        """Like `owner`, also for a target that has closed."""
        return self.owner(target) or self._past.get(target)

    def page_for(self, target: str) -> str | None:
        """The page of an own iframe, worker, tab or page."""
        for _ in range(32):
            info = self._infos.get(target)
            if info is None:
                return None
            if info["type"] == "page":
                return target
            up = self._page_of.get(target) or info.get("parentId") or info.get("parentFrameId")
            if not up or up == target:
                return None
            target = up
        return None

    def owned(self, session: str) -> list[str]:
        """The pages of a session, oldest first."""
        return [target for target in self._infos if self._owners.get(target) == session and target not in self._going]

    def owners(self) -> dict[str, str]:
        """Target → session, for all owned pages that still exist."""
        return {target: session for target, session in self._owners.items() if target in self._infos}

    def claim(self, target: str, session: str) -> None:
        """Makes ``session`` the owner of a page."""
        self._owners[target] = session

    def release(self, target: str) -> None:
        """The page belongs to the person again."""
        self._owners.pop(target, None)

    def expect(self, session: str, opener: str, url: str) -> None:
        """A click in ``opener`` asked for a new tab or window with ``url``; Chromium will not name the opener."""
        now = self._forget_clicks()
        waiting = sum(pending.session == session for pending in self._pending)
        if self._distrusted.get(session, 0.0) <= now and waiting < MAX_PENDING:
            self._pending.append(Pending(session, opener, url, now + NAVIGATION_SECONDS))

    def _forget_clicks(self) -> float:
        """Distrust the sessions of which a click was followed by no tab in time, and drop all their clicks; gives the time."""
        now = time.monotonic()
        late = {pending.session for pending in self._pending if pending.until <= now}
        for session in late:
            self._distrusted[session] = now + DISTRUST_SECONDS
        self._pending = [pending for pending in self._pending if pending.session not in late]
        return now

    def decide(self, info: Info) -> tuple[str, str] | None:
        """The session and the opener of a page that has just appeared, or None when it is the person's."""
        opener = info.get("openerId")
        if opener:
            owner = self.owner_ever(opener)
            return (owner, opener) if owner else None
        self._forget_clicks()
        for pending in self._pending:
            if pending.url == info["url"]:
                self._pending.remove(pending)
                return pending.session, pending.opener
        return None

    def placeholder(self) -> str | None:
        """A blank tab that nobody owns: one a session may start on."""
        for info in self.pages():
            free = info["targetId"] not in self._owners and info["targetId"] not in self._going
            if info["url"] == "about:blank" and free and not info.get("openerId"):
                return str(info["targetId"])
        return None

    # -- tabs

    def latest_tab(self) -> str:
        """The newest ``tab`` target: Chromium announces a tab just before its page."""
        return self._latest_tab

    def pair(self, tab: str, page: str) -> None:
        """``page`` is what the tab ``tab`` shows."""
        self._tab_of[page] = tab
        self._page_of[tab] = page

    def tab_of(self, page: str) -> str | None:
        """The tab that shows ``page``, once it is known."""
        return self._tab_of.get(page)

    def unpaired_tabs(self) -> list[str]:
        """Tabs whose page is not known, newest first."""
        return [info["targetId"] for info in self.tabs() if info["targetId"] not in self._page_of][::-1]

    def active_tabs(self) -> list[str]:
        """The selected tab of each window, by the last description of each tab."""
        return [info["targetId"] for info in self.tabs() if (info.get("embedderData") or {}).get("tabActive")]

    # -- the last page

    def closing(self, target: str, seconds: float, *, certain: bool) -> None:
        """A close was sent: the page does not count as one that stays, for ``seconds`` at most.

        ``certain`` when nothing can call it off (Page.close may be refused by a beforeunload handler).
        """
        self._closing[target] = time.monotonic() + seconds
        if certain:
            self._going.add(target)

    def is_going(self, target: str) -> bool:
        """Whether the page is certain to close in a moment."""
        return target in self._going

    def is_last(self, target: str) -> bool:
        """Whether the browser has no page that stays beside ``target``: closing it would end a headful Chromium."""
        now = time.monotonic()
        others = (info["targetId"] for info in self.pages() if info["targetId"] != target)
        return not any(self._closing.get(other, 0.0) <= now for other in others)

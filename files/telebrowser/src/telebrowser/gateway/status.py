"""The status document of a project: the same for HTTP clients, the launcher and people."""

from __future__ import annotations

import datetime
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from .. import __version__
from .handoff.documents import short

if TYPE_CHECKING:
    from .lifecycle import ProjectBrowser


def document(browser: ProjectBrowser) -> dict[str, Any]:
    """What a browser is doing. Times are ISO 8601 in UTC."""
    link, event = browser.link, browser.up_event
    up = link is not None and browser.state == "up"
    handoffs = browser.owner.handoffs
    held = browser.hold_until is not None and browser.hold_until > time.time()
    return {
        "project": browser.project,
        "state": browser.state,
        "reason": browser.reason,
        "pid": event.get("pid") if up else None,
        "started_at": _iso(event.get("started_at")) if up else None,
        "browser": link.version.get("product") if link is not None and up else None,
        "idle_seconds": int(browser.idle_seconds()) if up else 0,
        "idle_minutes": browser.settings.idle_minutes,
        "hold_until": _iso(browser.hold_until) if held else None,
        "handoffs": [short(handoff, handoffs.position(handoff)) for handoff in handoffs.of(browser.project) if handoff.is_open],
        "sessions": link.sessions() if link is not None else [],
        "downloads": {"directory": str(browser.downloads_dir), "files": _count_files(browser.downloads_dir)},
        "warnings": list(dict.fromkeys([*browser.owner.warnings, *handoffs.warnings(), *(event.get("warnings") or [] if up else [])])),
        "version": __version__,
        "view_url": browser.settings.view_url,
        "people": {"url": handoffs.pages_url, "view": handoffs.view.name, "setting": browser.settings.view, "displays": browser.settings.displays},
        "gateway": {"version": __version__, "uptime_seconds": int(time.monotonic() - browser.owner.started)},
    }


TOLD_TO_AGENTS = ("project", "state", "reason", "started_at", "browser", "idle_minutes", "hold_until", "downloads", "warnings", "version", "view_url")


def session_document(browser: ProjectBrowser, session: str) -> dict[str, Any]:
    """What one session's agent is told: no other session's name, and no address that opens anything."""
    whole = document(browser)
    rows = whole["sessions"]
    told = {name: whole[name] for name in TOLD_TO_AGENTS}
    told["view_url"] = _plain_url(whole["view_url"])
    own = next((row for row in rows if row["session"] == session), None)
    return {**told, "session": session, "tabs": own["tabs"] if own else 0, "other_sessions": len(rows) - (own is not None)}


def _plain_url(url: str | None) -> str | None:
    """An address without what may be a credential in it: user, query and fragment."""
    if not url:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _iso(value: Any) -> str | None:
    """A time as ISO 8601 in UTC; the supervisor may have written seconds or a text."""
    if isinstance(value, int | float):
        return datetime.datetime.fromtimestamp(value, datetime.UTC).isoformat(timespec="seconds")
    return str(value) if value else None


def _count_files(folder: os.PathLike[str]) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(1 for entry in entries if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False))
    except OSError:
        return 0

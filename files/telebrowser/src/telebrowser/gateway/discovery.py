"""Chromium's ``/json`` endpoints, for a whole project or for one session, with addresses of this gateway."""

from __future__ import annotations

from typing import Any, NamedTuple

from aiohttp import web

from ..errors import TelebrowserError
from .browser import BrowserLink
from .guard import refused
from .targets import Info
from .wire import ProtocolError

LISTED = frozenset({"page", "iframe", "worker", "service_worker", "shared_worker"})


class Place(NamedTuple):
    """Where a client reached us: ``ws`` and ``http`` addresses up to the token and session, without a final slash."""

    http: str
    ws: str


def version(link: BrowserLink, place: Place) -> dict[str, str]:
    """``/json/version``."""
    known = link.version
    return {
        "Browser": known.get("product", ""),
        "Protocol-Version": known.get("protocolVersion", ""),
        "User-Agent": known.get("userAgent", ""),
        "V8-Version": known.get("jsVersion", ""),
        "WebKit-Version": known.get("revision", ""),
        "webSocketDebuggerUrl": f"{place.ws}/devtools/browser",
    }


def row(info: Info, place: Place) -> dict[str, Any]:
    """One target of ``/json/list``."""
    described = {
        "description": "",
        "id": info["targetId"],
        "title": info.get("title", ""),
        "type": info["type"],
        "url": info.get("url", ""),
    }
    if info.get("parentId"):
        described["parentId"] = info["parentId"]
    if info["type"] == "page":
        described["webSocketDebuggerUrl"] = f"{place.ws}/devtools/page/{info['targetId']}"
    return described


def listing(link: BrowserLink, session: str | None, place: Place) -> list[dict[str, Any]]:
    """``/json/list``: what exists for the session, the newest first as in Chromium."""
    shown = (info for info in reversed(link.targets.all()) if info["type"] in LISTED and not link.targets.is_going(info["targetId"]))
    return [row(info, place) for info in shown if link.shows(session, info)]


def find(link: BrowserLink, session: str | None, target: str) -> Info:
    """A page of the session. Raises `TelebrowserError` NOT_FOUND."""
    info = link.targets.info(target)
    if info is None or info["type"] not in ("page", "tab") or not link.shows(session, info):
        raise TelebrowserError("NOT_FOUND", f"No such target id: {target[:64]}")
    return info


async def new(link: BrowserLink, session: str | None, url: str, place: Place) -> dict[str, Any]:
    """``PUT /json/new?<url>``: a background tab of the session. Raises `TelebrowserError`."""
    reason = refused(url)
    if reason is not None:
        raise TelebrowserError("INVALID_URL", f"Cannot open the address: {reason}")
    try:
        target = await link.create_page(url or "about:blank", session)
    except (ProtocolError, TimeoutError) as error:
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"The tab was not opened: {error}") from None
    if session is not None:
        link.end_unused(session)
    return row(link.targets.info(target) or {"targetId": target, "type": "page", "url": url}, place)


async def activate(link: BrowserLink, session: str | None, target: str) -> web.Response:
    """``/json/activate/<id>``."""
    info = find(link, session, target)
    await _call(link, "Target.activateTarget", info["targetId"])
    link.activated(info["targetId"])
    return web.Response(text="Target activated")


async def close(link: BrowserLink, session: str | None, target: str) -> web.Response:
    """``/json/close/<id>``; the last page of the browser becomes a placeholder."""
    info = find(link, session, target)
    try:
        await link.close_page(info["targetId"])
    except (ProtocolError, TimeoutError) as error:
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"The tab was not closed: {error}") from None
    return web.Response(text="Target is closing")


async def _call(link: BrowserLink, method: str, target: str) -> None:
    try:
        await link.call(method, {"targetId": target})
    except (ProtocolError, TimeoutError) as error:
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser did not do it: {error}") from None

"""Going to an address, back, forward, and loading again."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urldefrag

from ..cdp.connection import CdpError, SessionGone
from ..errors import TelebrowserError
from . import urls
from .deadline import Deadline
from .document import DocumentGone, ScriptFailed
from .effects import DOWNLOAD_WAIT, Watch, describe
from .engine import Engine
from .tab import Tab

LOAD_PATIENCE = 1.5
RESPOND_SECONDS = 0.4


async def navigate(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Open ``url`` (or go ``back``, ``forward``, ``reload``) and wait until the page can be used.

    Answers as soon as the document is parsed and the load event has come, or `LOAD_PATIENCE` seconds after parsing.
    Raises ``INVALID_URL``, ``PRIVATE_NETWORK_BLOCKED`` or ``TIMEOUT``.
    """
    wanted = args["url"].strip()
    async with tab.lock.hold():
        if wanted in ("back", "forward", "reload"):
            return await _history(engine, tab, wanted, deadline)
        url = urls.check(wanted)
        if not engine.allow_private:
            await urls.check_private(url)
        await _recover(tab)
        with tab.watch() as watch:
            try:
                return await _go(engine, tab, url, watch, deadline)
            except (SessionGone, TelebrowserError):
                if not tab.crashed or watch.committed:
                    raise
        # What the tab showed before crashed under the navigation; a navigation of the crashed tab replaces it.
        with tab.watch() as watch:
            return await _go(engine, tab, url, watch, deadline)


async def _go(engine: Engine, tab: Tab, url: str, watch: Watch, deadline: Deadline) -> dict[str, Any]:
    if _only_hash(tab.url, url) and not tab.crashed:
        return await _within(tab, url, watch, deadline)
    await _send(tab, url, watch, deadline)
    return await _arrive(engine, tab, url, watch, deadline)


def _only_hash(current: str, url: str) -> bool:
    before, _ = urldefrag(current)
    after, fragment = urldefrag(url)
    return before == after and bool(fragment) and current != url


async def _recover(tab: Tab) -> None:
    """Free a renderer that hangs in a script: it would ignore the navigation. One that crashed, also just now, is left as it is."""
    if tab.crashed or await tab.respond(RESPOND_SECONDS) or tab.crashed:
        return
    session = tab.any_session
    session.forget("Runtime.terminateExecution")
    if not await tab.respond(2.0):
        session.forget("Page.stopLoading")


async def _send(tab: Tab, url: str, watch: Watch, deadline: Deadline) -> None:
    try:
        answer = await tab.any_session.call("Page.navigate", url=url, timeout=deadline.left())
    except CdpError as error:
        raise TelebrowserError("INVALID_URL", f"The browser refuses {url[:200]!r}: {error.message}") from None
    except TimeoutError:
        raise _timeout(tab, url) from None
    if answer.get("isDownload") or watch.downloads:
        watch.stopped = True
        await watch.until(lambda: bool(watch.downloads), 2.0)
        return
    text = answer.get("errorText")
    if text:
        _raise_net_error(url, text)
    if not answer.get("loaderId"):
        watch.stopped = True


def _raise_net_error(url: str, text: str) -> None:
    if text in ("net::ERR_BLOCKED_BY_CLIENT", "net::ERR_BLOCKED_BY_ADMINISTRATOR"):
        raise TelebrowserError("PRIVATE_NETWORK_BLOCKED", f"{url[:200]} leads to a blocked address")
    if text in ("net::ERR_CONNECTION_TIMED_OUT", "net::ERR_TIMED_OUT"):
        raise TelebrowserError("TIMEOUT", f"{url[:200]} did not answer ({text})")
    raise TelebrowserError("INVALID_URL", f"{url[:200]} cannot be opened: {text}", "Check the address, and that its server runs.")


async def _arrive(engine: Engine, tab: Tab, url: str, watch: Watch, deadline: Deadline) -> dict[str, Any]:
    if not watch.downloads and not await watch.until(lambda: watch.committed or watch.stopped or bool(watch.downloads), deadline.left()):
        raise _timeout(tab, url)
    if watch.downloads:
        await watch.until(lambda: all(download["state"] != "inProgress" for download in watch.downloads), deadline.left(DOWNLOAD_WAIT))
        return {"url": tab.url, "title": tab.title, "status": 0, "note": "the address is a download; the page stays", **describe(tab, watch)}
    if not await tab.wait_ready(deadline.left()):
        raise _timeout(tab, url)
    if not engine.allow_private and tab.requests.remote:
        await _check_remote(tab, url)
    loaded = await tab.wait_loaded(deadline.left(LOAD_PATIENCE))
    if tab.requests.redirects > engine.settings.max_redirects:
        raise TelebrowserError("INVALID_URL", f"{url[:200]} redirects more than {engine.settings.max_redirects} times", "Raise MAX_REDIRECTS if that is meant.")
    answer = await _info(tab, deadline.left())
    if not loaded:
        answer["note"] = "the page can be used; it is still loading (images, frames or scripts have not finished)"
    told = describe(tab, watch)
    told.pop("navigated", None)
    return {**answer, **told}


async def _check_remote(tab: Tab, url: str) -> None:
    """The address that was really connected to, which a name may have changed to since it was checked."""
    address = urls.literal_address(tab.requests.remote)
    if address is not None and urls.is_private(address):
        await tab.session.call("Page.navigate", url="about:blank", timeout=5.0)
        raise TelebrowserError("PRIVATE_NETWORK_BLOCKED", f"{url[:200]} led to {address}, which is in a private address range; the tab was emptied")


async def _info(tab: Tab, seconds: float) -> dict[str, Any]:
    """The page's own word on where it is; what the events said when it does not answer."""
    status = tab.requests.status
    try:
        document = await tab.frames.main(min(seconds, 2.0))
        # The snapshot that follows needs the root and the size; here they cost no trip of their own.
        info, _ = await asyncio.gather(document.call("info", timeout=min(seconds, 2.0)), document.root_object(min(seconds, 2.0)))
        document.size = info["count"]
        tab.seen(info["url"], info["title"])
        answer = {"url": info["url"], "title": info["title"], "status": status or info["status"]}
        if info["type"] not in ("text/html", "application/xhtml+xml"):
            answer["type"] = info["type"]
    except (TimeoutError, DocumentGone, ScriptFailed):
        answer = {"url": tab.url, "title": tab.title, "status": status}
    return answer


async def _within(tab: Tab, url: str, watch: Watch, deadline: Deadline) -> dict[str, Any]:
    """A change of the fragment only: there is no load to wait for."""
    await _send(tab, url, watch, deadline)
    await watch.until(lambda: watch.within is not None or watch.committed, deadline.left(5.0))
    if watch.committed:
        await tab.wait_ready(deadline.left())
    answer = await _info(tab, deadline.left())
    told = describe(tab, watch)
    told.pop("navigated", None)
    return {**answer, "same_document": watch.within is not None, **told}


async def _history(engine: Engine, tab: Tab, way: str, deadline: Deadline) -> dict[str, Any]:
    await _recover(tab)
    with tab.watch() as watch:
        left = deadline.left()
        if way == "reload":
            await tab.any_session.call("Page.reload", timeout=left)
        else:
            history = await tab.any_session.call("Page.getNavigationHistory", timeout=left)
            index = history["currentIndex"] + (1 if way == "forward" else -1)
            if not 0 <= index < len(history["entries"]):
                raise TelebrowserError("INVALID_ARGS", f"There is no page to go {way} to")
            await tab.any_session.call("Page.navigateToHistoryEntry", entryId=history["entries"][index]["id"], timeout=left)
            if await watch.until(lambda: watch.within is not None or watch.committed, left) and not watch.committed:
                return {**await _info(tab, left), "same_document": True}
        return await _arrive(engine, tab, way, watch, deadline)


def _timeout(tab: Tab, url: str) -> TelebrowserError:
    return TelebrowserError("TIMEOUT", f"{url[:200]} did not arrive in time; tab {tab.name} is at {tab.url[:200] or 'about:blank'}")

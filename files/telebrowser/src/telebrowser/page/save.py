"""Saving a page: as PDF, as the HTML that it is now, or whole in one MHTML file."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from .. import beneath
from ..cdp.connection import CdpError
from ..datadir import is_disk_full
from ..errors import TelebrowserError
from ..handover import MARK
from .deadline import Deadline
from .document import DocumentGone
from .engine import Engine
from .files import place
from .outbox import Outgoing
from .tab import Tab
from .target import find, raise_for

PIECE_BYTES = 1 << 20


class Saved(NamedTuple):
    """What the answer says, and its ``_meta``."""

    told: dict[str, Any]
    meta: dict[str, Any] | None


async def save(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> Saved:
    """Write the page to a file: at ``path`` on the agent's machine, else in the output folder. Raises ``UNSAFE_PATH``, ``TIMEOUT`` or ``DISK_FULL``."""
    kind = args.get("format", "pdf")
    if kind != "html" and (args.get("ref") or args.get("selector")):
        raise TelebrowserError("INVALID_ARGS", f"A single element cannot be saved as {kind}", 'Pass format: "html", or no target.')
    path = place(args)
    await tab.navigation_guard(deadline.left())
    outgoing = Outgoing(engine.provider.outbox_dir)
    try:
        async for piece in _pieces(engine, tab, kind, args, deadline):
            await asyncio.to_thread(outgoing.write, piece)
        told = {"saved": kind, "size": outgoing.size, "url": tab.url, "title": tab.title}
        if path is not None:
            return Saved({"path": path, **told}, {MARK: await asyncio.to_thread(outgoing.mark)})
        name = time.strftime("page-%Y%m%d-%H%M%S.") + kind
        return Saved({"path": await asyncio.to_thread(_keep, engine, outgoing, name), **told}, None)
    finally:
        await asyncio.to_thread(outgoing.close)


async def _pieces(engine: Engine, tab: Tab, kind: str, args: dict[str, Any], deadline: Deadline) -> AsyncIterator[bytes]:
    try:
        if kind == "pdf":
            async for piece in _pdf(tab, args, deadline):
                yield piece
        elif kind == "mhtml":
            yield (await tab.session.call("Page.captureSnapshot", format="mhtml", timeout=deadline.left()))["data"].encode("utf-8", "surrogatepass")
        else:
            yield (await _html(engine, tab, args, deadline)).encode("utf-8", "replace")
    except TimeoutError:
        raise TelebrowserError("TIMEOUT", f"Tab {tab.name} was not saved in time", "Raise timeout_ms.") from None
    except CdpError as error:
        raise TelebrowserError("BROWSER_CRASHED" if tab.crashed else "INTERNAL", f"Tab {tab.name} could not be saved as {kind}: {error.message}") from None


async def _pdf(tab: Tab, args: dict[str, Any], deadline: Deadline) -> AsyncIterator[bytes]:
    """In pieces, so that a long document is never in memory as a whole."""
    printed = await tab.session.call(
        "Page.printToPDF",
        transferMode="ReturnAsStream",
        printBackground=True,
        preferCSSPageSize=True,
        landscape=args.get("landscape", False),
        timeout=deadline.left(),
    )
    handle = printed["stream"]
    try:
        while True:
            read = await tab.session.call("IO.read", handle=handle, size=PIECE_BYTES, timeout=deadline.left())
            yield base64.b64decode(read["data"]) if read.get("base64Encoded") else read["data"].encode()
            if read["eof"]:
                return
    finally:
        tab.session.forget("IO.close", handle=handle)


async def _html(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> str:
    if args.get("ref") is None and args.get("selector") is None:
        try:
            return str((await (await tab.main_document(deadline.left())).call("source", 0, timeout=deadline.left()))["html"])
        except DocumentGone:
            raise TelebrowserError("TIMEOUT", "The page went elsewhere while it was saved", "Call again.") from None
    element = await find(engine, tab, args, deadline)
    found = await element.document.call("source", element.number, timeout=deadline.left())
    if "error" in found:
        raise_for(found, element, engine)
    return str(found["html"])


def _keep(engine: Engine, outgoing: Outgoing, name: str) -> str:
    """Put the file into the output folder under a free name. Raises ``DISK_FULL`` or ``UNSAFE_PATH``."""
    folder = engine.provider.output_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with beneath.Arrival(beneath.open_folder(folder)) as arrival:
            outgoing.copy_to(arrival)
            return str(folder / beneath.publish_free(arrival, name))
    except OSError as error:
        raise TelebrowserError("DISK_FULL" if is_disk_full(error) else "UNSAFE_PATH", f"{folder} cannot be written: {error.strerror}") from None

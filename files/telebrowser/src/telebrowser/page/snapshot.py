"""The outline of a page, through all its frames, within a byte budget."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ..cdp.connection import CdpError
from ..errors import TelebrowserError
from .deadline import Deadline
from .document import GROUP, Document, DocumentGone
from .engine import Engine
from .refs import parse
from .tab import Tab
from .target import find

DEFAULT_BYTES = 20_000
TRAILER_BYTES = 300
HEAD_BYTES = 900
LISTENERS = 'typeof getEventListeners === "function" ? getEventListeners : null'
SCAN_ELEMENTS = 1500
SUSPECTS = 60
MAX_FRAMES = 60


async def outline(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> str:
    """The page as text, one line per thing, refs on what can be acted on."""
    await tab.navigation_guard(deadline.left())
    budget = args.get("max_bytes", DEFAULT_BYTES) - TRAILER_BYTES
    depth = args.get("depth", 1000)
    document, scope = await _scope(engine, tab, args, deadline)
    collected = _Collected(engine, tab, {"depth": depth, "text": args.get("include_text", True)}, deadline)
    lines = await collected.frame(document, scope, 0, budget - HEAD_BYTES)
    loading = "" if tab.is_loaded else " (still loading)"
    head = [f"Page: {' '.join(tab.title.split())[:200]}", f"URL: {tab.url[:500]}", f"Tab: {tab.name}{loading}", ""]
    return "\n".join([*head, *(lines or [_empty(tab)]), collected.trailer(args.get("max_bytes", DEFAULT_BYTES))])


def _empty(tab: Tab) -> str:
    if tab.mime in ("", "text/html", "application/xhtml+xml"):
        return "(nothing to see: the page is empty)"
    return f"(no outline: this document is {tab.mime}; use browser_screenshot)"


async def elements(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """The interactive elements as a list, with selectors; main frame first, then the frames in it."""
    await tab.navigation_guard(deadline.left())
    document, scope = await _scope(engine, tab, args, deadline)
    wanted = args.get("max_items", 100)
    found: list[dict[str, Any]] = []
    left = 0
    queue: list[tuple[Document, int | None]] = [(document, scope)]
    while queue:
        document, scope = queue.pop(0)
        options = {"scope": scope, "text": args.get("include_text", True), "maxItems": wanted - len(found)}
        try:
            part = await _with_closed_roots(engine, document, "elementList", options, deadline)
        except DocumentGone:
            continue
        if document.frame_id == tab.target_id:
            tab.seen(part["url"], part["title"])
        found += part["elements"]
        left += part["left"]
        for inner in part["frames"]:
            at = await tab.frames.inner(document, inner["number"])
            if at is not None:
                queue.append((at, None))
    return {"elements": found, "count": len(found), "truncated": left > 0, "left": left, "url": tab.url, "title": tab.title}


async def _scope(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> tuple[Document, int | None]:
    scope = args.get("scope")
    if scope is None:
        return await tab.main_document(deadline.left()), None

    named = {"ref": scope} if parse(scope) is not None else {"selector": scope}
    element = await find(engine, tab, named, deadline.sooner(1.0))
    return element.document, element.number


async def _with_closed_roots(engine: Engine, document: Document, function: str, options: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Run a walk; if it then turns out that closed shadow roots were passed over, make them known and run it again.

    The protocol alone can see them. A small document is described whole beside the walk (1 ms for a small page, 50 ms for
    one of 7,000 elements); in a large one only the elements are asked that show something without having anything inside.
    """
    for attempt in range(3):
        expression = f"__telebrowser.{function}({json.dumps({**options, 'next': engine.refs.next})}, {LISTENERS})"
        part, described = await asyncio.gather(document.evaluate(expression, timeout=deadline.left()), _describe_known(document))
        if part.get("missing"):
            raise TelebrowserError("ELEMENT_NOT_FOUND", "The element of scope is no longer there")
        engine.refs.took(document, part["next"])
        document.size = part["count"] if options["scope"] is None else document.size
        if attempt == 2:
            break
        if described is None:
            described = await _describe(document, part["count"])
        if not await _learn(document, described):
            break
    found: dict[str, Any] = part
    return found


async def _describe_known(document: Document) -> list[dict[str, Any]] | None:
    """The whole tree of a document that is known to be small, else None."""
    if document.size is None or document.size > SCAN_ELEMENTS:
        await document.root_object()
        return None
    return await _describe(document, document.size)


async def _describe(document: Document, size: int) -> list[dict[str, Any]]:
    """The nodes in which closed shadow roots are looked for."""
    object_ids, depth = ([await document.root_object()], -1) if size <= SCAN_ELEMENTS else (await document.objects("suspects", SUSPECTS), 1)
    try:
        described = await asyncio.gather(*(document.session.call("DOM.describeNode", objectId=each, depth=depth, pierce=True) for each in object_ids))
    except CdpError:
        return []
    return [answer["node"] for answer in described]


async def _learn(document: Document, described: list[dict[str, Any]]) -> bool:
    """Make the closed shadow roots among the nodes known to the document's world; whether there were new ones."""
    learnt = 0
    for backend in (root for node in described for root in _closed_roots(node)):
        resolved = await document.session.call("DOM.resolveNode", backendNodeId=backend, executionContextId=document.context_id, objectGroup=GROUP)
        learnt += bool(await document.call_on("(root) => __telebrowser.addClosedRoot(root)", [resolved["object"]["objectId"]]))
    if described and document.size is not None and (learnt or document.size > SCAN_ELEMENTS):
        document.release()
    return learnt > 0


def _closed_roots(node: dict[str, Any]) -> list[int]:
    """The backend ids of closed shadow roots in a described tree, not counting those of child documents."""
    found: list[int] = []
    stack = [node]
    while stack:
        at = stack.pop()
        for root in at.get("shadowRoots", ()):
            if root.get("shadowRootType") == "closed":
                found.append(root["backendNodeId"])
            if root.get("shadowRootType") != "user-agent":
                stack.append(root)
        stack.extend(at.get("children", ()))
    return found


class _Collected:
    """Gathers the frames of one outline and what had to be left out."""

    def __init__(self, engine: Engine, tab: Tab, options: dict[str, Any], deadline: Deadline) -> None:
        self._engine = engine
        self._tab = tab
        self._options = options
        self._deadline = deadline
        self.left = 0
        self.total = 0
        self.deep = 0
        self.full = False
        self.frames = 0

    async def frame(self, document: Document, scope: int | None, indent: int, budget: int) -> list[str]:
        """The lines of one frame, with those of the frames inside it in their places."""
        options = {**self._options, "depth": max(0, self._options["depth"] - indent), "scope": scope, "maxBytes": max(0, budget)}
        part = await _with_closed_roots(self._engine, document, "snapshot", options, self._deadline)
        if document.frame_id == self._tab.target_id:
            self._tab.seen(part["url"], part["title"])
        self.left += part["left"]
        self.total += part["total"]
        self.deep += part["deep"]
        self.full = self.full or part["full"]
        spent = part["bytes"]
        lines: list[str] = []
        placed = {number for _, _, number in part["lines"] if number}
        for depth, text, number in part["lines"]:
            lines.append("  " * (indent + depth) + text)
            if number:
                inner = await self._inner(document, number, indent + depth + 1, budget - spent)
                spent += sum(len(line.encode()) + 1 for line in inner)
                lines += inner
        for each in part["frames"]:
            if each["number"] not in placed:
                await self._inner(document, each["number"], indent + 1, 0)
        return lines

    async def _inner(self, document: Document, number: int, indent: int, budget: int) -> list[str]:
        self.frames += 1
        if self.frames > MAX_FRAMES:
            return []
        try:
            inner = await self._tab.frames.inner(document, number)
            return [] if inner is None else await self.frame(inner, None, indent, budget)
        except (DocumentGone, CdpError, TimeoutError):
            return ["  " * indent + "- text: (this frame does not answer)"]

    def trailer(self, limit: int) -> str:
        """What was left out, and how to get it."""
        if self.left or self.full:
            counted = f"{self.left} more elements of {self.total} left out" if self.left else "more text left out"
            return f"… {counted} (limit {limit} bytes). To see them: scope with a ref or CSS selector, a smaller depth, or a larger max_bytes.\n"
        if self.deep:
            return f"… {self.deep} more groups lie deeper than depth. Use a larger depth, or scope.\n"
        return ""

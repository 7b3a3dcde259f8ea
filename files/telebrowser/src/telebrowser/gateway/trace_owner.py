"""Whose an event of a trace is.

Chromium writes down what all processes do. A process may run frames and workers of several tabs: a frame of another
site goes into a process that has pages of that site already (measured with Chromium 156). So an event is the page's
when it names a frame of the page. One that names none is the page's when its process runs nothing of others; else only
when it holds no text but the names of the page's own requests and navigations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

NEEDED = ("devtools.timeline", "disabled-by-default-devtools.timeline")
"""Without these categories nothing would say which processes are the page's, and what else runs in them."""

_STARTED = frozenset({"TracingStartedInBrowser", "FrameCommittedInBrowser", "ProcessReadyInBrowser"})
_BROWSER = _STARTED | {"FrameDeletedInBrowser", "Screenshot"}
"""Events of the browser's process that are of the traced page alone."""
_SHARED = (b'"Browser"', b'"GPU Process"')
_METADATA = frozenset({"process_name", "thread_name", "process_sort_index", "thread_sort_index", "num_cpus", "trace_buffer_overflowed"})
_PAGE_TEXT = ("blink.user_timing", "blink.console")
"""Categories whose events are named by pages."""
# Quotes within a text are escaped, so that no page can write such a name.
_FRAME = re.compile(rb'"(?:frame|frameID|id_ref|parent)":"([0-9A-F]{32})"')
_CHILD = re.compile(rb'"frame":"([0-9A-F]{32})".*"parent":"([0-9A-F]{32})"')
_LINK = re.compile(rb'"(?:requestId|navigationId)":"([^"\\]+)"')


class _Head(msgspec.Struct):
    pid: int = 0
    tid: int = 0
    name: str = ""
    cat: str = ""


_head = msgspec.json.Decoder(_Head)
_event = msgspec.json.Decoder()


class TraceOwner:
    """Let it `learn` the trace as it comes, and `settle` at its end; then it knows what it `keeps`."""

    def __init__(self) -> None:
        self.left_out = False
        """Whether something that may have been the page's was left out."""
        self._frames: set[bytes] = set()
        self._own: set[int] = set()
        self._named: set[int] = {0}
        self._pseudo: set[str] = set()
        self._ready: dict[str, int] = {}
        self._children: list[tuple[bytes, bytes]] = []
        self._ran: dict[int, set[bytes]] = {}
        self._workers: dict[tuple[int, int], bytes] = {}
        self._links: dict[bytes, set[str]] = {}
        self._shared: set[int] = set()
        self._own_links: set[str] = set()

    def learn(self, events: Iterable[bytes]) -> None:
        """Take in some of the trace."""
        for event in events:
            head = _read(event)
            if head is None:
                continue
            if head.name in _STARTED:
                self._learn_process(head, _event.decode(event).get("args", {}).get("data", {}))
            elif head.name == "process_name" and any(name in event for name in _SHARED):
                self._named.add(head.pid)
            elif frames := _FRAME.findall(event):
                self._learn_frames(head, event, frames)

    def _learn_process(self, head: _Head, data: dict[str, Any]) -> None:
        """The page's frames, and the processes that they were in."""
        if head.name == "ProcessReadyInBrowser":
            self._ready[str(data.get("processPseudoId"))] = data.get("processId", 0)
            return
        for frame in data.get("frames", [data]):
            self._frames.add(str(frame.get("frame", "")).encode())
            self._own.add(frame.get("processId", 0))
            self._pseudo.add(str(frame.get("processPseudoId", "")))

    def _learn_frames(self, head: _Head, event: bytes, frames: list[bytes]) -> None:
        """Which frames a process runs, whose child a frame is, whose a worker's thread is, what the requests of a frame are called."""
        self._ran.setdefault(head.pid, set()).update(frames)
        if head.name == "CommitLoad" and (child := _CHILD.search(event)):
            self._children.append((child[1], child[2]))
        elif head.name == "TracingSessionIdForWorker":
            self._workers[head.pid, head.tid] = frames[0]
        if links := _LINK.findall(event):
            self._links.setdefault(frames[0], set()).update(link.decode() for link in links)

    def settle(self, is_own: Callable[[str], bool], *, suspect: bool) -> None:
        """The trace has ended. ``is_own``: whether a frame is one of the client's other pages.

        ``suspect``: some of the trace is missing, so that nobody can tell what else a process runs.
        """
        self._own = (self._own | {process for name, process in self._ready.items() if name in self._pseudo}) - {0}
        self._named |= self._own
        # Frames without an address are never committed in the browser. Each says whose child it is, a parent before its children.
        for child, parent in self._children:
            if parent in self._frames:
                self._frames.add(child)
        for process in self._own:
            strange = {frame for frame in self._ran.get(process, set()) - self._frames if not is_own(frame.decode())}
            self._frames |= self._ran.get(process, set()) - strange
            if strange or suspect:
                self._shared.add(process)
        self._workers = {thread: frame for thread, frame in self._workers.items() if frame in self._frames}
        self._own_links = {link for frame, links in self._links.items() if frame in self._frames for link in links}

    def keeps(self, event: bytes) -> bool:
        """Whether the event is the page's."""
        head = _read(event)
        if head is None:
            return False
        if head.cat == "__metadata":
            return head.name in _METADATA and head.pid in self._named
        if head.pid not in self._own:
            return head.name in _BROWSER
        if frames := _FRAME.findall(event):
            return self._frames.issuperset(frames)
        if head.pid not in self._shared or (head.pid, head.tid) in self._workers:
            return True
        kept = self._says_nothing(event, head)
        self.left_out = self.left_out or not kept
        return kept

    def _says_nothing(self, event: bytes, head: _Head) -> bool:
        texts = set(_texts(_event.decode(event).get("args")))
        return texts <= self._own_links and bool(texts or not any(name in head.cat for name in _PAGE_TEXT))


def _read(event: bytes) -> _Head | None:
    try:
        return _head.decode(event)
    except msgspec.DecodeError:
        return None


def _texts(value: Any) -> Iterator[str]:
    """All texts in a decoded value but the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)

"""What a client may trace: its own page, whatever Chromium writes down of other tabs.

A trace that is begun in a page's session holds events of every process (measured with Chromium 156), the addresses and
titles of all tabs among them. So the browser hands its events to the gateway, which keeps those of the page's own
processes, and gives them on as the client wished: as events, or as a stream that it reads piece by piece.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from .wire import INVALID_PARAMS, ProtocolError

NEEDED = "disabled-by-default-devtools.timeline"
"""Without this category nothing would say which processes are the page's."""

CATEGORIES = (
    "blink.console",
    "blink.user_timing",
    "devtools.timeline",
    "disabled-by-default-devtools.screenshot",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "disabled-by-default-devtools.timeline.invalidationTracking",
    "disabled-by-default-devtools.timeline.stack",
    "disabled-by-default-lighthouse",
    "disabled-by-default-v8.cpu_profiler",
    "disabled-by-default-v8.cpu_profiler.hires",
    "latencyInfo",
    "loading",
    "v8",
    "v8.execute",
)
"""Those that performance tools ask for, and no others."""

MAX_BUFFER_KB = 200 * 1024
"""The browser's own default; the memory is everybody's."""

MAX_BYTES = 128 << 20
"""What a trace may hold; the rest is left out, and the client is told that data was lost."""
MAX_READ = 1 << 20

_KEPT = ("bufferUsageReportingInterval", "screenshotMaxSize", "screenshotMaxCount")
_RECORD_MODES = ("recordUntilFull", "recordContinuously", "recordAsMuchAsPossible")


_FRAMES = (b"TracingStartedInBrowser", b"FrameCommittedInBrowser", b"ProcessReadyInBrowser")
_SHARED = (b'"Browser"', b'"GPU Process"')
_BROWSER = frozenset({"TracingStartedInBrowser", "FrameCommittedInBrowser", "ProcessReadyInBrowser", "FrameDeletedInBrowser", "Screenshot"})
"""Events of the browser's process that are of the traced page alone."""
_METADATA = frozenset({"process_name", "thread_name", "process_sort_index", "thread_sort_index", "num_cpus", "trace_buffer_overflowed"})


class _Head(msgspec.Struct):
    pid: int = 0
    name: str = ""
    cat: str = ""


class _Data(msgspec.Struct):
    value: list[msgspec.Raw]


class _Message(msgspec.Struct):
    params: _Data


_message = msgspec.json.Decoder(_Message)
_head = msgspec.json.Decoder(_Head)
_event = msgspec.json.Decoder()


class Trace:
    """One trace from its start until the browser has handed over all of it."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        if params.get("streamFormat", "json") != "json":
            raise ProtocolError(INVALID_PARAMS, "Only traces in JSON are given")
        self.as_stream = params.get("transferMode") == "ReturnAsStream"
        self.lost = False
        self._parts: list[bytes] = []
        self._bytes = 0

    def collect(self, raw: bytes) -> None:
        """A Tracing.dataCollected of the browser."""
        if self._bytes + len(raw) > MAX_BYTES:
            self.lost = True
            return
        self._parts.append(raw)
        self._bytes += len(raw)

    def parts(self) -> Iterator[bytes]:
        """The events of the page, some at a time: JSON without the brackets around it."""
        own, named = self._processes()
        for raw in self._parts:
            if kept := b",".join(bytes(event) for event in _events(raw) if _belongs(event, own, named)):
                yield kept

    def _processes(self) -> tuple[set[int], set[int]]:
        """The processes that the page's frames were in, and those whose names a trace may hold."""
        own: set[int] = set()
        shared = {0}
        pseudo: set[str] = set()
        ready: dict[str, int] = {}
        for raw in self._parts:
            if not any(name in raw for name in (*_FRAMES, b"process_name")):
                continue
            for event in _events(raw):
                head = _head.decode(event)
                if head.name == "process_name" and any(name in bytes(event) for name in _SHARED):
                    shared.add(head.pid)
                if head.name.encode() not in _FRAMES:
                    continue
                whole = _event.decode(event)
                data = whole.get("args", {}).get("data", {})
                if whole["name"] == "ProcessReadyInBrowser":
                    ready[str(data.get("processPseudoId"))] = data.get("processId", 0)
                    continue
                for frame in data.get("frames", [data]):
                    own.add(frame.get("processId", 0))
                    pseudo.add(str(frame.get("processPseudoId", "")))
        own = (own | {process for name, process in ready.items() if name in pseudo}) - {0}
        return own, own | shared


def _events(raw: bytes) -> list[msgspec.Raw]:
    try:
        return _message.decode(raw).params.value
    except msgspec.DecodeError:
        return []


def _belongs(event: msgspec.Raw, own: set[int], named: set[int]) -> bool:
    try:
        head = _head.decode(event)
    except msgspec.DecodeError:
        return False
    if head.pid in own:
        return True
    if head.cat == "__metadata":
        return head.name in _METADATA and head.pid in named
    return head.name in _BROWSER


class Stream:
    """A whole trace that a client reads piece by piece."""

    def __init__(self, trace: Trace) -> None:
        self._data = b'{"traceEvents":[' + b",".join(trace.parts()) + b"]}"
        self._at = 0

    def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to IO.read. Raises `ProtocolError`."""
        offset, size = params.get("offset", self._at), params.get("size", MAX_READ)
        if not isinstance(offset, int) or not isinstance(size, int) or offset < 0 or size < 1:
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: offset and size: positive integers expected")
        piece = self._data[offset : offset + min(size, MAX_READ)]
        self._at = offset + len(piece)
        return {"base64Encoded": True, "data": base64.b64encode(piece).decode(), "eof": self._at >= len(self._data)}


def confined(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of Tracing.start with the categories in `CATEGORIES` alone: those asked for, or all of them."""
    given = params.get("traceConfig")
    config: Mapping[str, Any] = given if isinstance(given, dict) else {}
    kept: dict[str, Any] = {"includedCategories": _chosen(config, params.get("categories")), "excludedCategories": ["*"]}
    if config.get("recordMode") in _RECORD_MODES:
        kept["recordMode"] = config["recordMode"]
    size = config.get("traceBufferSizeInKb")
    if isinstance(size, int | float) and size > 0:
        kept["traceBufferSizeInKb"] = min(size, MAX_BUFFER_KB)
    # tracingBackend and perfettoConfig reach beyond the browser; what is not named in _KEPT is left out.
    return {**{name: params[name] for name in _KEPT if name in params}, "transferMode": "ReportEvents", "traceConfig": kept}


def _chosen(config: Mapping[str, Any], legacy: Any) -> list[str]:
    included = config.get("includedCategories")
    asked: Iterable[Any] = included if isinstance(included, list) else legacy.split(",") if isinstance(legacy, str) else ()
    names = {name.strip() for name in asked if isinstance(name, str)}
    excluded = config.get("excludedCategories")
    gone = set(map(str, excluded)) if isinstance(excluded, list) else set()
    chosen = [name for name in CATEGORIES if name in names and name not in gone] or list(CATEGORIES)
    return chosen if NEEDED in chosen else [*chosen, NEEDED]

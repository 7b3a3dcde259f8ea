"""What a client may trace: its own page, whatever Chromium writes down of other tabs.

A trace that is begun in a page's session holds events of every process (measured with Chromium 156), the addresses and
titles of all tabs among them. So the browser hands its events to the gateway, which keeps those of the page
(`trace_owner`), and gives them on as the client wished: as events, or as a stream that it reads piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from .trace_owner import NEEDED, TraceOwner
from .wire import INVALID_PARAMS, ProtocolError

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
_RECORD_MODES = ("recordUntilFull", "recordAsMuchAsPossible")
"""Not a ring, which loses what tells whose an event is."""


class _Data(msgspec.Struct):
    value: list[msgspec.Raw]


class _Message(msgspec.Struct):
    params: _Data


_message = msgspec.json.Decoder(_Message)


class Trace:
    """One trace from its start until the browser has handed over all of it."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        if params.get("streamFormat", "json") != "json":
            raise ProtocolError(INVALID_PARAMS, "Only traces in JSON are given")
        self.as_stream = params.get("transferMode") == "ReturnAsStream"
        self.lost = False
        self._owner = TraceOwner()
        self._parts: list[bytes] = []
        self._bytes = 0

    def collect(self, raw: bytes) -> None:
        """A Tracing.dataCollected of the browser."""
        if self._bytes + len(raw) > MAX_BYTES:
            self.lost = True
            return
        # Bit by bit as it comes: a whole trace at once would keep everybody waiting.
        self._owner.learn(_events(raw))
        self._parts.append(raw)
        self._bytes += len(raw)

    def parts(self, is_own: Callable[[str], bool]) -> list[bytes]:
        """At the end, the events of the page, some at a time: JSON without the brackets around it. ``is_own`` as for `TraceOwner.settle`."""
        self._owner.settle(is_own, suspect=self.lost)
        parts = [b",".join(event for event in _events(raw) if self._owner.keeps(event)) for raw in self._parts]
        self.lost = self.lost or self._owner.left_out
        return [part for part in parts if part]


def _events(raw: bytes) -> list[bytes]:
    try:
        return [bytes(event) for event in _message.decode(raw).params.value]
    except msgspec.DecodeError:
        return []


class Stream:
    """A whole trace that a client reads piece by piece."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._data = b'{"traceEvents":[' + b",".join(parts) + b"]}"
        self._at = 0

    def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to IO.read. Raises `ProtocolError`."""
        offset, size = params.get("offset", self._at), params.get("size", MAX_READ)
        if not isinstance(offset, int) or not isinstance(size, int) or offset < 0 or size < 1:
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: offset and size: positive integers expected")
        self._at = self._boundary(offset, offset + min(size, MAX_READ))
        # As text, like the browser: there are clients that look at nothing but the data.
        return {"base64Encoded": False, "data": self._data[offset : self._at].decode(errors="replace"), "eof": self._at >= len(self._data)}

    def _boundary(self, start: int, end: int) -> int:
        """``end``, or the place near it where no character is cut; beyond ``start``, so that every read comes nearer to the end."""
        end = min(end, len(self._data))
        while start < end < len(self._data) and self._data[end] & 0xC0 == 0x80:
            end -= 1
        if end <= start < len(self._data):
            end = start + 1
            while end < len(self._data) and self._data[end] & 0xC0 == 0x80:
                end += 1
        return end


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
    return [*chosen, *(name for name in NEEDED if name not in chosen)]

"""The calls of a page's session that are checked or changed: addresses, files, pictures, traces. Part of the session filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from . import wire
from .actions import Actions, Operation, Session, ToBrowser, ToClient, View
from .guard import FileGuard, check_drag_items, check_url
from .tracing import Stream, Trace, confined
from .wire import INVALID_PARAMS, SERVER_ERROR, ProtocolError, Request

MAX_STREAMS = 2
"""Traces that a client may leave unread."""


class PageCalls:
    """Handlers by the names in `methods`, and how a call is passed on or answered."""

    def __init__(self, view: View, files: FileGuard) -> None:
        self._view = view
        self._files = files
        self._streams: dict[str, Stream] = {}

    def _forward(self, request: Request, session: Session, params: Mapping[str, Any] | None = None, method: str = "") -> ToBrowser:
        raw = bytes(request.params) if params is None else wire.encode(params)
        return ToBrowser(wire.call(request.id, method or request.method, raw, session.upstream))

    @staticmethod
    def _answer(request: Request, result: Mapping[str, Any] | None = None) -> ToClient:
        return ToClient(wire.reply(request.id, result or {}, request.sessionId))

    def _on_contents_size(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        metrics = {"width": params.get("width") or 0, "height": params.get("height") or 0, "deviceScaleFactor": 0, "mobile": False}
        return [self._forward(request, session, metrics, "Emulation.setDeviceMetricsOverride")]

    def _on_navigate(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        check_url(params.get("url"))
        return [self._forward(request, session, params)]

    def _on_history_entry(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if not isinstance(params.get("entryId"), int):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: entryId: integer value expected")
        return [Operation("history_entry", request.id, request.sessionId, {"entryId": params["entryId"]})]

    def _on_screen_recording(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("captureArea", "target") != "target":
            raise ProtocolError(SERVER_ERROR, "Only the tab itself may be recorded: the window may show what a person looks at")
        params["captureArea"] = "target"
        return [self._forward(request, session, params)]

    def _on_screenshot(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        # The view of a tab in the background is the window, with whatever tab a person looks at in it.
        params["fromSurface"] = True
        return [self._forward(request, session, params)]

    def _on_continue_request(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("url") is not None:
            check_url(params["url"])
        return [self._forward(request, session, params)]

    def _on_file_input(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        params["files"] = self._files.check(params.get("files"))
        return [self._forward(request, session, params)]

    def _on_drag_event(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        data = params.get("data")
        if isinstance(data, dict):
            if data.get("files") is not None:
                data["files"] = self._files.check(data["files"])
            check_drag_items(data.get("items"))
        return [self._forward(request, session, params)]

    def _on_ok(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        return [self._answer(request)]

    # -- traces

    def _on_tracing_start(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        trace = Trace(params)
        if not self._view.take_trace():
            raise ProtocolError(SERVER_ERROR, "Tracing has already been started (possibly in another tab).")
        session.trace = trace
        return [self._forward(request, session, confined(params))]

    def _on_tracing_end(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if not self._view.end_trace():
            raise ProtocolError(SERVER_ERROR, "Tracing is not started")
        return [self._forward(request, session, params)]

    def _on_io_read(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        stream = self._streams.get(str(params.get("handle")))
        return [self._answer(request, stream.read(params)) if stream is not None else self._forward(request, session, params)]

    def _on_io_close(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        stream = self._streams.pop(str(params.get("handle")), None)
        return [self._answer(request) if stream is not None else self._forward(request, session, params)]

    def _trace_event(self, event: bytes, raw: bytes, session: Session, name: str) -> Actions:
        """The browser hands over a trace: all of it is kept until it is known which of its processes are the page's."""
        trace = session.trace
        if trace is None or event not in (b"Tracing.dataCollected", b"Tracing.tracingComplete"):
            return []
        if event == b"Tracing.dataCollected":
            trace.collect(raw)
            return []
        session.trace = None
        trace.lost = trace.lost or b'"dataLossOccurred":true' in raw
        parts = trace.parts(lambda frame: self._view.visible(frame) is not None)
        told: dict[str, Any] = {"dataLossOccurred": trace.lost}
        if not trace.as_stream:
            data = [ToClient(wire.event("Tracing.dataCollected", {"value": msgspec.Raw(b"[%b]" % part)}, name)) for part in parts]
            return [*data, ToClient(wire.event("Tracing.tracingComplete", told, name))]
        handle = f"telebrowser-trace{wire.fresh_id()}"
        self._streams[handle] = Stream(parts)
        while len(self._streams) > MAX_STREAMS:
            del self._streams[next(iter(self._streams))]
        return [ToClient(wire.event("Tracing.tracingComplete", {**told, "stream": handle, "traceFormat": "json", "streamCompression": "none"}, name))]

"""What the gateway keeps on every session tab so that it works at full speed in the background.

A background tab gets no animation frames, one timer a second, and its screenshots hang. Focus
emulation and a tiny screencast that is never acknowledged cure that (measured; see docs/ARCHITECTURE).
The same session watches the frames of the tab, for downloads, and clicks that open a tab without naming
their opener. It sets no metrics: those would hold for the client's sessions too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from . import wire

if TYPE_CHECKING:
    from .tabs import Tabs

SCREENCAST = {"format": "jpeg", "quality": 1, "maxWidth": 16, "maxHeight": 16, "everyNthFrame": 1000}
IFRAMES = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": [{"type": "iframe"}]}
ARM_SECONDS = 3.0
NEW_TAB = frozenset({"newTab", "newWindow"})


class Shadow:
    """The gateway's own session on one page. ``focus`` is off for a tab that is the person's."""

    def __init__(self, link: Tabs, page: str, *, focus: bool) -> None:
        self.page = page
        self.focus = focus
        self._link = link
        self._sessions: dict[str, str] = {}
        self._frames: set[str] = {page}
        self._stopped = False
        self._events: dict[str, Callable[[str, dict[str, Any]], None]] = {
            "Page.frameRequestedNavigation": self._on_navigation,
            "Page.frameAttached": self._on_frame,
            "Page.frameDetached": self._on_frame_gone,
            "Target.attachedToTarget": self._on_attached,
            "Target.detachedFromTarget": self._on_detached,
            "Inspector.targetReloadedAfterCrash": self._on_reloaded,
            "Page.javascriptDialogOpening": lambda session, params: link.selection.dialog(page),
            "Page.javascriptDialogClosed": lambda session, params: link.selection.dialog_gone(page),
        }

    async def start(self) -> None:
        """Attach and arm. A page that closes meanwhile is no error.

        Returns when focus emulation is on, or after `ARM_SECONDS`: a navigation that begins while it is being turned on in
        a renderer that has only just been created crashes that renderer (5 of 6 tries with Chromium 156).
        """
        try:
            result = await self._link.call("Target.attachToTarget", {"targetId": self.page, "flatten": True})
        except (wire.ProtocolError, TimeoutError):
            return
        session = result["sessionId"]
        if self._stopped:
            self._link.post("Target.detachFromTarget", {"sessionId": session})
            return
        armed = self._watch(session, self.page)
        if armed is not None:
            await asyncio.wait({armed}, timeout=ARM_SECONDS)

    def stop(self) -> None:
        """Detach; the tab is the person's again, or gone."""
        self._stopped = True
        for session, target in list(self._sessions.items()):
            self._link.unroute(session)
            if target == self.page:
                self._link.post("Target.detachFromTarget", {"sessionId": session})
        self._sessions.clear()
        self._link.selection.dialog_gone(self.page)
        self._link.frames_gone(self._frames)

    def _watch(self, session: str, target: str) -> asyncio.Task[None] | None:
        self._sessions[session] = target
        self._link.route_events(session, self._message)
        armed: asyncio.Task[None] | None = None
        if target == self.page:
            if self.focus:
                armed = asyncio.get_running_loop().create_task(self._emulate_focus(session))
                self._link.keep(armed)
            self._link.post("Page.startScreencast", SCREENCAST, session)
        self._link.post("Page.enable", {}, session)
        self._link.post("Target.setAutoAttach", IFRAMES, session)
        task = asyncio.get_running_loop().create_task(self._learn_frames(session))
        self._link.keep(task)
        return armed

    async def _emulate_focus(self, session: str) -> None:
        with contextlib.suppress(wire.ProtocolError, TimeoutError):
            await self._link.call("Emulation.setFocusEmulationEnabled", {"enabled": True}, session)

    async def _learn_frames(self, session: str) -> None:
        try:
            tree = await self._link.call("Page.getFrameTree", {}, session)
        except (wire.ProtocolError, TimeoutError):
            return
        waiting = [tree.get("frameTree", {})]
        while waiting:
            node = waiting.pop()
            self._add_frame(node.get("frame", {}).get("id", self.page))
            waiting += node.get("childFrames", [])

    def _add_frame(self, frame: str) -> None:
        if not self._stopped:
            self._frames.add(frame)
            self._link.frames[frame] = self.page

    def _message(self, raw: bytes, session: str) -> None:
        handler = self._events.get(wire.event_name(raw))
        if handler is None:
            return
        try:
            handler(session, wire.decode(raw)["params"])
        except (msgspec.DecodeError, KeyError):
            return

    def _on_navigation(self, session: str, params: dict[str, Any]) -> None:
        if params.get("disposition") in NEW_TAB:
            self._link.click_opened(self.page, params["url"])

    def _on_frame(self, session: str, params: dict[str, Any]) -> None:
        self._add_frame(params["frameId"])

    def _on_frame_gone(self, session: str, params: dict[str, Any]) -> None:
        # A frame that moves to another process is "swapped": it lives on under the same id.
        if params.get("reason") != "swap":
            self._frames.discard(params["frameId"])
            self._link.frames_gone({params["frameId"]})

    def _on_attached(self, session: str, params: dict[str, Any]) -> None:
        if not self._stopped:
            self._watch(params["sessionId"], params["targetInfo"]["targetId"])

    def _on_detached(self, session: str, params: dict[str, Any]) -> None:
        if self._sessions.pop(params["sessionId"], None) is not None:
            self._link.unroute(params["sessionId"])

    def _on_reloaded(self, session: str, params: dict[str, Any]) -> None:
        target = self._sessions.get(session)
        if target is not None:
            self._watch(session, target)

"""One person's connection to the pictures of one handoff's tabs: which tab is shown, its frames, dialogs and file choosers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from .. import wire
from ..browser import BrowserLink
from . import select
from .input import BadInput, translate

log = logging.getLogger(__name__)

QUALITY = 70
LOOK_SECONDS = 0.25
"""How often it is looked whether tabs were opened or closed; a picture of one that is gone would simply stand still."""
STILL_SECONDS = 0.7
MAX_SIDE = 2560
QUICK_SECONDS = 2.0
"""How long a press waits for a page to say what lies under it."""

Send = Callable[[dict[str, Any] | bytes], Awaitable[None]]
Belongs = Callable[[str], bool]


class Cast:
    """Shows the newest of the tabs that ``belongs`` names, beginning with ``target``. ``may_act`` is False for who only watches.

    `run` ends when no tab is left, or the browser has ended.
    """

    def __init__(self, link: BrowserLink, target: str, belongs: Belongs, send: Send, *, may_act: bool) -> None:
        self._link = link
        self._first = target
        self._belongs = belongs
        self._send = send
        self._may_act = may_act
        self.chosen: list[str] = []
        """Files that arrived for the file chooser that is open."""
        self._session = ""
        self._shown = ""
        self._tabs: list[str] = []
        self._told: list[dict[str, Any]] = []
        self._pictured = False
        self._shown_at = 0.0
        self._fitted_at = 0.0
        self._size = (0.0, 0.0)
        self._side = 1280
        self._inbox: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self._chooser: int | None = None
        self._dialog = False
        self._listed = False

    async def run(self) -> None:
        """Show until there is nothing to show."""
        try:
            while await self._follow():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._deliver(*await self._inbox.get())
        finally:
            self._leave()

    async def take(self, message: Mapping[str, Any]) -> None:
        """One message of the person. Raises `BadInput`."""
        kind = message.get("t")
        if kind == "size":
            await self._fit(message)
        elif kind == "here":
            await self._send({"t": "here"})
        elif not self._may_act:
            return
        elif kind == "tab":
            if message.get("id") in self._tabs:
                await self._show(str(message["id"]))
        elif kind == "dialog":
            answer: dict[str, Any] = {"accept": message.get("accept") is True}
            if isinstance(message.get("text"), str):
                answer["promptText"] = message["text"]
            await self._call("Page.handleJavaScriptDialog", answer)
            # The event that says so waits its turn; the next press must not take the dialog for open.
            self._dialog = False
        elif kind == "choose":
            await select.choose(self._call, message)
        elif kind == "files":
            await self._files([])
        elif kind == "reload":
            # What opened before the view did, such as that window, goes with its page.
            if self._session:
                self._link.post("Page.reload", {}, self._session)
        else:
            await self._act(message)

    async def _act(self, message: Mapping[str, Any]) -> None:
        """Input is sent, not awaited: a click that opens a dialog is answered only when that is."""
        commands = translate(message)
        edge = message.get("k") if message.get("t") == "mouse" and message.get("b") == "left" else None
        if edge == "pressed" and not self._dialog and (found := await self._list(message["x"], message["y"])) is not None:
            self._listed = True
            await self._send({"t": "select", **found})
            return
        if edge == "released" and self._listed:
            self._listed = False
            return
        if message.get("k") in ("pressed", "released", "down"):
            self._no_passkey_window()
        for command in commands if self._session else ():
            self._link.post(command.method, command.params, self._session)

    def _no_passkey_window(self) -> None:
        """Chromium's window for passkeys is in no picture and takes all input from the tab: with an environment without authenticators it does not open.

        Any client that detaches from the tab ends that environment, so that it is asked for again before whatever may open the window.
        An authenticator that an agent has put there stays.
        """
        if self._may_act and self._session:
            self._link.post("WebAuthn.enable", {"enableUI": False}, self._session)

    async def give_files(self, paths: list[str]) -> None:
        """Answer the file chooser that is open."""
        await self._files(paths)

    # -- which tab

    async def _follow(self) -> bool:
        """Look which tabs there are; show the newest new one, or another when the shown one is gone. Whether there is any."""
        if self._link.down is not None:
            return False
        tabs = [info["targetId"] for info in self._link.targets.pages() if self._belongs(info["targetId"])]
        if not tabs:
            return False
        new = [tab for tab in tabs if tab not in self._tabs]
        self._tabs = tabs
        if not self._shown:
            await self._show(self._first if self._first in tabs else tabs[0])
        elif new:
            await self._show(new[-1])
        elif self._shown not in tabs:
            await self._show(tabs[-1])
        await self._tell_tabs()
        now = asyncio.get_running_loop().time()
        if not self._pictured and now - self._shown_at > STILL_SECONDS:
            await self._picture()
        elif self._fitted_at and now - self._fitted_at > STILL_SECONDS:
            # What came meanwhile may have been on its way before; a page that stands still paints nothing in the new size.
            self._fitted_at = 0.0
            await self._picture()
        return True

    async def _show(self, target: str) -> None:
        self._leave()
        self._shown = target
        self._pictured = False
        self._shown_at = asyncio.get_running_loop().time()
        try:
            self._session = (await self._link.call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
            self._link.route_events(self._session, self._event)
            for method, params in (
                ("Page.enable", {}),
                ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
                ("Page.setInterceptFileChooserDialog", {"enabled": True}),
            ):
                self._link.post(method, params, self._session)
            self._no_passkey_window()
            await self._start()
        except wire.ProtocolError:
            # It closed meanwhile; the next look shows another.
            self._session = ""

    async def _start(self) -> None:
        await self._call("Page.startScreencast", {"format": "jpeg", "quality": QUALITY, "maxWidth": self._side, "maxHeight": self._side, "everyNthFrame": 1})

    def _leave(self) -> None:
        if self._session:
            self._link.unroute(self._session)
            if self._link.down is None:
                self._link.post("Target.detachFromTarget", {"sessionId": self._session})
        self._session = ""
        self._chooser = None
        self._dialog = self._listed = False

    async def _tell_tabs(self) -> None:
        titles = {info["targetId"]: str(info.get("title") or info.get("url") or "")[:200] for info in self._link.targets.pages()}
        told = [{"id": tab, "title": titles.get(tab, ""), "shown": tab == self._shown} for tab in self._tabs]
        if told != self._told:
            self._told = told
            await self._send({"t": "tabs", "tabs": told})

    async def _picture(self) -> None:
        """One picture of a page that paints nothing by itself, of which the screencast may tell nothing."""
        self._pictured = True
        metrics = await self._call("Page.getLayoutMetrics", {})
        shot = await self._call("Page.captureScreenshot", {"format": "jpeg", "quality": QUALITY})
        if metrics and shot:
            area = metrics["cssLayoutViewport"]
            await self._frame(area["clientWidth"], area["clientHeight"], shot["data"])

    async def _frame(self, width: float, height: float, data: str) -> None:
        self._pictured = True
        if (width, height) != self._size:
            self._size = (width, height)
            await self._send({"t": "size", "width": width, "height": height})
        await self._send(base64.b64decode(data))

    async def _fit(self, message: Mapping[str, Any]) -> None:
        """The person's screen has another size: larger pictures than it can show would only cost."""
        side = message.get("side")
        if isinstance(side, bool) or not isinstance(side, int) or not 100 <= side <= 100_000:
            raise BadInput("side")
        side = min(side, MAX_SIDE)
        if side != self._side:
            self._side = side
            self._fitted_at = asyncio.get_running_loop().time()
            if self._session:
                # Chromium takes no other size while it casts.
                self._link.post("Page.stopScreencast", {}, self._session)
                await self._start()

    # -- what the page tells

    def _event(self, raw: bytes, _session: str) -> None:
        try:
            message = wire.decode(raw)
        except msgspec.DecodeError:
            return
        if "method" in message:
            self._inbox.put_nowait((message["method"], message.get("params", {})))

    async def _deliver(self, event: str, params: dict[str, Any]) -> None:
        if event == "Page.screencastFrame":
            # The next one is made when this one has left: a slow line gets fewer pictures, not late ones.
            await self._frame(params["metadata"]["deviceWidth"], params["metadata"]["deviceHeight"], params["data"])
            if self._session:
                self._link.post("Page.screencastFrameAck", {"sessionId": params["sessionId"]}, self._session)
        elif event == "Page.javascriptDialogOpening":
            self._dialog = True
            await self._send({"t": "dialog", "kind": params["type"], "message": params["message"], "text": params.get("defaultPrompt", "")})
        elif event == "Page.javascriptDialogClosed":
            self._dialog = False
            await self._send({"t": "dialog", "kind": "", "message": "", "text": ""})
        elif event == "Page.fileChooserOpened":
            self._chooser = params.get("backendNodeId")
            self.chosen = []
            await self._send({"t": "chooser", "many": params.get("mode") == "selectMultiple"})

    # -- what the person does

    async def _call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A call on the shown tab; empty when the page is gone or refuses."""
        if not self._session:
            return {}
        try:
            return await self._link.call(method, params, self._session)
        except (wire.ProtocolError, TimeoutError):
            return {}

    async def _files(self, paths: list[str]) -> None:
        node, self._chooser = self._chooser, None
        if node is not None and paths:
            await self._call("DOM.setFileInputFiles", {"files": paths, "backendNodeId": node})

    async def _list(self, x: float, y: float) -> dict[str, Any] | None:
        """The choices that a press at a point would open in a window of their own, which no picture of the page shows."""
        try:
            async with asyncio.timeout(QUICK_SECONDS):
                return await select.look(self._call, x, y)
        except TimeoutError:
            return None

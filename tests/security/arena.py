"""The place of the attacks: a real stack with two projects, two sessions and a person's tab, and what must not happen to them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

import websockets

from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import CdpError, NoAnswer, Truth

PROJECT = "alpha"
NEIGHBOUR = "beta"
ATTACKER = "mallory"
VICTIM = "victim"
REPLY_SECONDS = 5.0
LOOK_SECONDS = 5.0

PAGE = """<!doctype html><title>{mark}</title><body style="background:#f00;margin:0"><h1>secret of {mark}</h1>
<iframe src="{frame}"></iframe><a id=popup target=_blank href="/who?{mark}-popup">popup</a><input id=field value="typed by {mark}">"""
OWN = """<!doctype html><title>own</title><body style="background:#00f;margin:0"><h1>own</h1><input type=file id=file>
<div id=drop style="width:300px;height:200px">drop</div>"""


class Frames:
    """A WebSocket that keeps every frame that it gives."""

    def __init__(self, socket: websockets.ClientConnection, kept: list[str]) -> None:
        self._socket, self._kept = socket, kept

    async def __aiter__(self) -> AsyncIterator[str]:
        async for text in self._socket:
            self._kept.append(text if isinstance(text, str) else text.decode("utf-8", "replace"))
            yield self._kept[-1]

    async def send(self, data: str | bytes) -> None:
        await self._socket.send(data)

    async def close(self) -> None:
        await self._socket.close()


class Attacker:
    """A client of the attacker's session, on its own tab, that remembers every frame it got."""

    def __init__(self, truth: Truth, frames: list[str]) -> None:
        self.truth, self.frames = truth, frames
        self.target = ""
        self.page = ""
        self._last = 1_000_000

    @classmethod
    async def connect(cls, url: str) -> Attacker:
        frames: list[str] = []
        socket = await websockets.connect(url, max_size=None, compression=None, ping_interval=None, open_timeout=40, proxy=None)
        return cls(Truth(Frames(socket, frames)), frames)  # type: ignore[arg-type]

    async def settle(self, address: str, fresh: bool = False) -> None:
        """Attach to an own tab, or a fresh one, and show the own page in it."""
        infos = [info for info in await self.truth.targets() if not fresh and ("own.html" in info["url"] or info["url"] == "about:blank")]
        self.target = infos[0]["targetId"] if infos else (await self.truth.call("Target.createTarget", {"url": address, "background": True}))["targetId"]
        self.page = await self.truth.attach(self.target)
        if await self.eval("location.href") != address:
            await self.go(address)

    async def go(self, address: str) -> None:
        """Show a page in the own tab and wait for it."""
        await self.truth.call("Page.enable", {}, self.page)
        self.truth.events.clear()
        await self.truth.call("Page.navigate", {"url": address}, self.page)
        await self.truth.event(lambda row: row.get("method") == "Page.loadEventFired")

    async def call(self, method: str, params: dict[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """The result of a call that is the attacker's right."""
        return await self.truth.call(method, params, session or None)

    async def raw(self, text: str | bytes, ident: int | None = None, seconds: float = REPLY_SECONDS) -> dict[str, Any]:
        """Send any text; gives the answer with this id, or the first without an id, and nothing when none comes."""
        seen = len(self.frames)
        await self.truth.socket.send(text)
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end and not self.truth.closed.is_set():
            for frame in self.frames[seen:]:
                message = json.loads(frame)
                if (message.get("id") == ident and "method" not in message) or ("error" in message and "id" not in message):
                    return dict(message)
            await asyncio.sleep(0.005)
        return {}

    async def answer(self, method: str, params: dict[str, Any] | None = None, session: str = "", seconds: float = REPLY_SECONDS) -> dict[str, Any]:
        """The whole answer to a call; nothing when none comes."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        return await self.raw(json.dumps(message), self._last, seconds)

    async def refused(self, method: str, params: dict[str, Any] | None = None, session: str = "") -> str:
        """The call must get an error; gives its text."""
        answer = await self.answer(method, params, session)
        assert "error" in answer, f"{method} was not refused: {str(answer)[:300]}"
        return str(answer["error"]["message"])

    async def eval(self, expression: str) -> Any:
        """The value of an expression in the own page."""
        params = {"expression": expression, "returnByValue": True, "awaitPromise": True, "userGesture": True}
        answer = await self.truth.call("Runtime.evaluate", params, self.page)
        if "exceptionDetails" in answer:
            raise CdpError(str(answer["exceptionDetails"])[:300])
        return answer["result"].get("value")

    async def close(self) -> None:
        await self.truth.close()


class Other:
    """Somebody else: a connection with a tab whose page bears a mark."""

    def __init__(self, truth: Truth, mark: str) -> None:
        self.truth, self.mark = truth, mark
        self.target = ""
        self.session = ""
        self.ids: set[str] = set()

    async def look(self) -> Any:
        """What the page says; `NoAnswer` when it is held or gone."""
        code = "[document.title,location.href,document.visibilityState,document.querySelector('#field').value,innerWidth]"
        answer = await self.truth.call("Runtime.evaluate", {"expression": code, "returnByValue": True}, self.session, LOOK_SECONDS)
        return answer["result"].get("value")


class Arena:
    """`build` it, let attempts run, and ask `harm` after each."""

    def __init__(self, stack: Stack, pages: Pages) -> None:
        self.stack, self.pages = stack, pages
        self.others: dict[str, Other] = {}
        self.own = pages.add("own.html", OWN)
        self.needles: set[str] = set()
        self.window = 0
        self._before: dict[str, Any] = {}

    @property
    def person(self) -> Other:
        return self.others["person"]

    @property
    def victim(self) -> Other:
        return self.others["victim"]

    @property
    def neighbour(self) -> Other:
        return self.others["neighbour"]

    async def build(self) -> None:
        """Bring everybody into place, anew."""
        await self.leave()
        for name, project, session in (("person", PROJECT, None), ("victim", PROJECT, VICTIM), ("neighbour", NEIGHBOUR, VICTIM)):
            self.others[name] = await self._settle(name, project, session)
        cookie = {"name": "login", "value": "kept", "url": self.pages.base + "/", "expires": 4102444800}
        for other in (self.person, self.neighbour):
            await other.truth.call("Storage.setCookies", {"cookies": [cookie]})
        self.window = (await self.person.truth.call("Browser.getWindowForTarget", {"targetId": self.person.target}))["windowId"]
        self.needles = {needle for other in self.others.values() for needle in (other.mark, *other.ids)}
        await self.person.truth.call("Page.bringToFront", {}, self.person.session)
        self._before = await self._state()

    async def _settle(self, name: str, project: str, session: str | None) -> Other:
        mark = f"{name}-{secrets.token_hex(6)}"
        frame = self.pages.add(f"{mark}-frame.html", f"<title>{mark}-inner</title>").replace("127.0.0.1", "localhost")
        address = self.pages.add(f"{mark}.html", PAGE.format(mark=mark, frame=frame))
        other = Other(await Truth.connect(self.stack.ws(project, session)), mark)
        truth = other.truth
        other.target = (await truth.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
        other.session = await truth.attach(other.target)
        await truth.call("Page.enable", {}, other.session)
        await truth.call("Page.navigate", {"url": address}, other.session)
        await truth.event(lambda row: row.get("method") == "Page.loadEventFired" and row.get("sessionId") == other.session)
        tree = (await truth.call("Page.getFrameTree", {}, other.session))["frameTree"]
        infos = (await truth.call("Target.getTargets", {"filter": [{}]}))["targetInfos"]
        shown = {info["targetId"] for info in infos if mark in info["url"]}
        other.ids = {other.target, other.session, tree["frame"]["id"], *(child["frame"]["id"] for child in tree.get("childFrames", [])), *shown}
        return other

    async def attacker(self, fresh: bool = False) -> Attacker:
        """A connection of the attacker's session, on a ``fresh`` tab if need be."""
        attacker = await Attacker.connect(self.stack.ws(PROJECT, ATTACKER))
        await attacker.settle(self.own, fresh)
        attacker.frames.clear()
        return attacker

    async def _state(self) -> dict[str, Any]:
        person = self.person.truth
        window = (await person.call("Browser.getWindowForTarget", {"targetId": self.person.target}))["bounds"]
        cookies = (await person.call("Storage.getCookies"))["cookies"]
        state = {name: await other.look() for name, other in self.others.items()}
        state["window"] = window
        state["login"] = [cookie["value"] for cookie in cookies if cookie["name"] == "login"]
        state["pid"] = self.stack.browser_pid(PROJECT)
        return state

    async def harm(self) -> str:
        """What has changed for the others, or nothing."""
        try:
            async with asyncio.timeout(20):
                now = await self._state()
        except (CdpError, NoAnswer, TimeoutError, OSError, websockets.WebSocketException) as error:
            return f"somebody's tab does not answer: {type(error).__name__} {error}"
        return "; ".join(f"{key}: {self._before[key]} became {now[key]}" for key in now if now[key] != self._before[key])

    def leaked(self, frames: list[str]) -> list[str]:
        """Frames that name anything of the others."""
        return [frame[:400] for frame in frames if any(needle in frame for needle in self.needles)]

    async def leave(self) -> None:
        """Close all connections."""
        for other in self.others.values():
            with contextlib.suppress(OSError, websockets.WebSocketException):
                await other.truth.close()
        self.others.clear()

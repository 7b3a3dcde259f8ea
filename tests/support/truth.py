"""An independent CDP client: outcomes are read from the browser, never from the words of what is tested."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import websockets

TIMEOUT = 10.0


class CdpError(Exception):
    """The browser, or what stands before it, refused a command."""


class NoAnswer(CdpError):
    """No answer within the deadline; with a page, its renderer hangs."""


class Truth:
    """One CDP connection. It enables no domain by itself, so it changes nothing about dialogs or focus."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self.closed = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0
        self._arrived = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, url: str, **headers: str) -> Truth:
        """Connect to a CDP WebSocket address."""
        return cls(await websockets.connect(url, max_size=None, compression=None, ping_interval=None, open_timeout=40, proxy=None, additional_headers=headers))

    async def _read(self) -> None:
        try:
            async for text in self.socket:
                message = json.loads(text)
                future = self._waiting.pop(message["id"], None) if message.get("id") is not None else None
                if future and not future.done():
                    future.set_result(message)
                elif future is None:
                    self.events.append(message)
                    self._arrived.set()
        except websockets.ConnectionClosed:
            pass
        finally:
            self.closed.set()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(CdpError("the connection is closed"))

    async def raw(self, text: str) -> None:
        """Send any text as it is."""
        await self.socket.send(text)

    async def call(self, method: str, params: dict[str, Any] | None = None, session: str | None = None, timeout: float = TIMEOUT) -> dict[str, Any]:
        """One command; raises `CdpError` on an error answer and `NoAnswer` at the deadline."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        future = self._waiting[self._last] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps(message))
        try:
            async with asyncio.timeout(timeout):
                answer = await future
        except TimeoutError:
            raise NoAnswer(method) from None
        if "error" in answer:
            raise CdpError(f"{method}: {answer['error'].get('message')}")
        return dict(answer["result"])

    async def event(self, match: Callable[[dict[str, Any]], bool], timeout: float = TIMEOUT) -> dict[str, Any]:
        """The first event, seen or to come, that matches."""
        async with asyncio.timeout(timeout):
            while True:
                for event in self.events:
                    if match(event):
                        return event
                self._arrived.clear()
                await self._arrived.wait()

    async def targets(self, kind: str | None = "page") -> list[dict[str, Any]]:
        """The targets of one type, or all."""
        return [info for info in (await self.call("Target.getTargets"))["targetInfos"] if kind in (None, info["type"])]

    async def attach(self, target: str, timeout: float = TIMEOUT) -> str:
        """A session on a target; close it with `detach`."""
        return str((await self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, timeout=timeout))["sessionId"])

    async def detach(self, session: str) -> None:
        """Give a session back; one that is gone already is fine."""
        with contextlib.suppress(CdpError):
            await self.call("Target.detachFromTarget", {"sessionId": session}, timeout=3)

    async def eval(self, target: str, expression: str, timeout: float = TIMEOUT) -> Any:
        """The value of an expression in a page; raises `NoAnswer` when the renderer hangs."""
        session = await self.attach(target, timeout)
        try:
            params = {"expression": expression, "returnByValue": True, "awaitPromise": True}
            answer = await self.call("Runtime.evaluate", params, session, timeout)
            if "exceptionDetails" in answer:
                raise CdpError(str(answer["exceptionDetails"].get("exception", {}).get("description"))[:300])
            return answer["result"].get("value")
        finally:
            await self.detach(session)

    async def wait(self, target: str, expression: str, wanted: Any = True, timeout: float = TIMEOUT) -> Any:
        """Poll an expression until it has the wanted value; gives the last value seen, wanted or not."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while True:
            value = await self.eval(target, expression)
            if value == wanted or loop.time() > end:
                return value
            await asyncio.sleep(0.05)

    async def until_targets(self, check: Callable[[list[dict[str, Any]]], object], seconds: float = 20) -> list[dict[str, Any]]:
        """Wait until the page targets satisfy ``check``; gives those last seen, whether they do or not."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            found = await self.targets()
            if check(found) or loop.time() > end:
                return found
            await asyncio.sleep(0.1)

    async def close(self) -> None:
        """Close the connection and wait for its reader."""
        await self.socket.close()
        await self._reader


class Picture:
    """A decoded image: its size, number of colours, and pixels by fractional position."""

    def __init__(self, width: int, height: int, colours: int, pixels: list[list[int]]) -> None:
        self.width, self.height, self.colours, self.pixels = width, height, colours, pixels


DECODE = """(async (data, type, points) => {
  const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], {type}));
  const w = image.width, h = image.height;
  const pixel = (x, y) => {
    const g = new OffscreenCanvas(1, 1).getContext('2d');
    g.drawImage(image, Math.min(w - 1, Math.round(x)), Math.min(h - 1, Math.round(y)), 1, 1, 0, 0, 1, 1);
    return [...g.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const g = new OffscreenCanvas(400, 300).getContext('2d');
  g.drawImage(image, 0, 0, Math.min(w, 800), Math.min(h, 600), 0, 0, 400, 300);
  const d = g.getImageData(0, 0, 400, 300).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return {w, h, colours: seen.size, pixels: points.map(([x, y]) => pixel(x * w, y * h))};
})"""


async def look(truth: Truth, target: str, data: bytes, points: list[tuple[float, float]] | None = None) -> Picture:
    """Decode an image in a page of a browser that is not under test."""
    kind = "image/png" if data.startswith(b"\x89PNG") else "image/webp" if data[8:12] == b"WEBP" else "image/jpeg"
    arguments = ",".join(json.dumps(x) for x in (base64.b64encode(data).decode(), kind, points or []))
    seen = await truth.eval(target, f"{DECODE}({arguments})", timeout=40)
    return Picture(seen["w"], seen["h"], seen["colours"], seen["pixels"])


def near(pixel: list[int], wanted: Sequence[int], slack: int = 20) -> bool:
    """Whether a pixel has a colour, give or take what JPEG does to it."""
    return all(abs(a - b) <= slack for a, b in zip(pixel, wanted, strict=True))

"""New pages that wait for the client that asked to see them before their first document.

A client that sets ``waitForDebuggerOnStart`` (Puppeteer and Playwright do) wants to install its scripts and routes before a popup
begins to load. Chromium can only pause the new pages of everybody, and a paused popup holds its opener inside
``window.open()``; when the root that paused it goes away, both hang for good (measured). So the link pauses with one root of its
own, only while such a client is connected, lets go at once of whatever is not such a client's, and of the rest after `WATCH_SECONDS`.

The session that paused a page is handed to its client: what another session sends to a popup without an opener waits behind
that pause, so that its scripts would miss the first document (measured). A client that attaches to tabs attaches to the page below
them; for it the page is let go here, when it says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from . import wire

if TYPE_CHECKING:
    from .client import Client
    from .tabs import Tabs

WATCH_SECONDS = 2.0
"""How long a page waits for its client at most."""
PAUSE = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{"type": "page"}]}
NO_PAUSE = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}
RESUME = "Runtime.runIfWaitingForDebugger"


class Held(NamedTuple):
    """A paused page: the session that paused it, and when it is let go whatever happens."""

    session: str
    watchdog: asyncio.TimerHandle


class Pauses:
    """The paused pages of one browser."""

    def __init__(self, link: Tabs) -> None:
        self._link = link
        self._root = ""
        self._on = False
        self._turning = asyncio.Lock()
        self._held: dict[str, Held] = {}
        self._handed: dict[str, Client] = {}
        """Session → client that it was handed to."""
        self._coming: dict[str, asyncio.Future[None]] = {}

    def holds(self, target: str) -> bool:
        """Whether the page waits."""
        return target in self._held

    async def update(self) -> None:
        """Pause new pages while a client wants it: call it when one begins or ceases to. Raises `wire.ProtocolError` or TimeoutError."""
        for target in list(self._held):
            self.settle(target)
        async with self._turning:
            # The sessions that were handed over end when pausing does.
            wanted = self._link.waits(None) or bool(self._handed)
            if wanted == self._on or self._link.down is not None:
                return
            if not self._root:
                self._root = await self._link.open_root(self._message)
            self._on = wanted
            if not wanted:
                # Turning it off ends the sessions, and what is paused by then stays paused.
                await asyncio.gather(*(self._resume(target, self._forget(target)) for target in list(self._held)))
            await self._link.call("Target.setAutoAttach", PAUSE if wanted else NO_PAUSE, self._root)

    async def sweep(self) -> None:
        """Let every page go: the link that was here before may have died while it held some."""
        with contextlib.suppress(wire.ProtocolError, TimeoutError):
            found = await self._link.call("Target.getTargets", {"filter": [{"type": "page"}]})
            await asyncio.gather(*(self._resume_anew(info["targetId"]) for info in found["targetInfos"]))

    def release_all(self) -> None:
        """The link is being closed: nothing may stay paused. Only sends, in order, and waits for no answer."""
        for target in list(self._held):
            self._link.post(RESUME, {}, self._forget(target))
        if self._on:
            self._link.post("Target.setAutoAttach", NO_PAUSE, self._root)

    def created(self, target: str) -> None:
        """A page is new: while pausing is on, its pause follows."""
        if self._on:
            self._coming[target] = asyncio.get_running_loop().create_future()

    async def arrival(self, target: str) -> None:
        """Wait until it is known whether the page is handed to a client."""
        if (coming := self._coming.get(target)) is not None:
            await asyncio.wait({coming}, timeout=WATCH_SECONDS)

    async def detach(self, session: str) -> None:
        """End a session that was handed over. Raises `wire.ProtocolError` or TimeoutError."""
        await self._link.call("Target.detachFromTarget", {"sessionId": session}, self._root)

    def client_gone(self, client: Client) -> None:
        """Its sessions here end, once their pages are let go."""
        kept = {session for session, owner in self._handed.items() if owner is client}
        for target, held in list(self._held.items()):
            if held.session in kept:
                kept.discard(held.session)
                self._handed.pop(held.session)
                self._free(target)
        for session in kept:
            self._handed.pop(session)
            self._link.post("Target.detachFromTarget", {"sessionId": session}, self._root)

    def _message(self, raw: bytes, session: str) -> None:
        name = wire.event_name(raw)
        try:
            if name == "Target.attachedToTarget":
                self._attached(wire.decode(raw)["params"])
            elif name == "Target.detachedFromTarget":
                self._detached(wire.decode(raw)["params"]["sessionId"])
        except (msgspec.DecodeError, KeyError):
            return

    def _detached(self, session: str) -> None:
        client = self._handed.pop(session, None)
        if client is not None:
            client.handed_gone(session)
            self._link.spawn(self._link.update_pauses())

    def _attached(self, params: dict[str, Any]) -> None:
        child, target = params["sessionId"], params["targetInfo"]["targetId"]
        if not params.get("waitingForDebugger"):
            self._link.post("Target.detachFromTarget", {"sessionId": child}, self._root)
            return
        self._held[target] = Held(child, asyncio.get_running_loop().call_later(WATCH_SECONDS, self._free, target))
        if not self._link.undecided(target):
            self.settle(target)

    def settle(self, target: str) -> None:
        """It is known whose page this is: hand it to a client of its session that wants it paused, or let it go."""
        held = self._held.get(target)
        if held is not None and held.session not in self._handed:
            owner = self._link.targets.owner(target)
            if owner is None or not self._link.waits(owner):
                self._free(target)
            elif (client := self._link.taker(owner)) is not None and client.hand_over(held.session, target):
                self._handed[held.session] = client
        self._arrived(target)

    def _arrived(self, target: str) -> None:
        coming = self._coming.pop(target, None)
        if coming is not None and not coming.done():
            coming.set_result(None)

    def resumed(self, target: str) -> None:
        """A client let the page go."""
        held = self._held.get(target)
        if held is not None and held.session in self._handed:
            self._forget(target)
        elif held is not None:
            # The session that paused it must let go too: ended before that, it leaves a popup without an opener hanging.
            self._free(target)

    def gone(self, target: str) -> None:
        """The page has closed."""
        self._arrived(target)
        if target in self._held:
            self._forget(target)

    def _forget(self, target: str) -> str:
        held = self._held.pop(target)
        held.watchdog.cancel()
        return held.session

    def _free(self, target: str) -> None:
        if self._link.down is None:
            self._link.spawn(self._resume(target, self._forget(target)))

    async def _resume(self, target: str, session: str) -> None:
        try:
            await self._link.call(RESUME, {}, session)
            if session not in self._handed:
                self._link.post("Target.detachFromTarget", {"sessionId": session}, self._root)
        except (wire.ProtocolError, TimeoutError):
            # Pausing was turned off in the meantime, which ended the session but not the pause.
            with contextlib.suppress(wire.ProtocolError, TimeoutError):
                await self._resume_anew(target)

    async def _resume_anew(self, target: str) -> None:
        with contextlib.suppress(wire.ProtocolError, TimeoutError):
            session = (await self._link.call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
            try:
                await self._link.call(RESUME, {}, session)
            finally:
                self._link.post("Target.detachFromTarget", {"sessionId": session})

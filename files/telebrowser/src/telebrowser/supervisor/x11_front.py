"""Keeps in front what is in front of an X display, while a person may be typing there.

openbox is told to give no new window the keyboard, but Chromium activates its windows itself: each that opens, and on each click that an
agent makes in a page. A window that has just opened is undone as on Wayland, by `front`. Beyond that, the project whose window was
raised last keeps the screen: nothing else is a person's own wish here, because openbox has no keys and every window fills the screen;
one that the person has minimised is left so.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from .front import Front
from .wayland import Window
from .x11 import XClient, XError, connect

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0


class Keeper:
    """One connection to a display for as long as that lives; `run` it."""

    def __init__(self, name: str, cookie: bytes) -> None:
        self._name, self._cookie = name, cookie
        self._windows: dict[int, Window] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        self._raised = ""
        self._latest: dict[str, int] = {}
        self.front = Front(self._windows)

    def raised(self, handle: int, app: str) -> None:
        """This window, of this application, is meant to come to the front, and its project to stay there."""
        self._raised = app
        self._latest[app] = handle
        self.front.want(handle)

    async def run(self) -> None:
        """Watch until cancelled; again when the window manager was not there."""
        while True:
            with contextlib.suppress(XError):
                async with connect(self._name, self._cookie) as client:
                    await self._watch(client)
            await asyncio.sleep(RETRY_SECONDS)

    async def until(self, test: Callable[[], bool]) -> None:
        """Wait until ``test`` holds; it is asked after each change. The caller sets the deadline."""
        while not test():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            await future

    async def _watch(self, client: XClient) -> None:
        await client.watch()
        known = True
        while True:
            again = await self._look(client, known)
            known = False
            for future in self._waiting:
                if not future.done():
                    future.set_result(None)
            self._waiting.clear()
            if again is not None:
                log.info("a window of %s came to the front; the one that was there is raised again", self._windows[again[0]].app)
                await client.ask_for(again[1])
            await client.wait_for_any_change()

    async def _look(self, client: XClient, known: bool) -> tuple[int, int] | None:
        """Tell `front` what is new; the window that came, and the one to activate in its place."""
        there, active = await client.windows(), await client.active()
        for handle in self._windows.keys() - set(there):
            self.front.changed(self._windows.pop(handle))
        undo = None
        # The active one last: by then the others are known.
        for handle in sorted(there, key=lambda each: each == active):
            window = self._windows.setdefault(handle, Window(handle))
            was = (window.title, window.app, window.activated)
            window.title, window.activated = await client.title(handle) or "", handle == active
            if not window.app:
                window.app, window.parent = await self._describe(client, handle)
            if was != (window.title, window.app, window.activated):
                again = self.front.changed(window, known)
                undo = (handle, again) if again is not None else undo
        return undo or await self._stolen(client, active)

    async def _stolen(self, client: XClient, active: int) -> tuple[int, int] | None:
        """Whether another project's window has taken the screen of the one that was raised."""
        app = self.front.project(active)
        if app is None:
            return None
        self._latest[app] = active
        mine = self._latest.get(self._raised, 0)
        if app == self._raised or mine not in self._windows:
            return None
        hidden = await client.atom("_NET_WM_STATE_HIDDEN")
        return None if hidden in await client.numbers(mine, "_NET_WM_STATE") else (active, mine)

    @staticmethod
    async def _describe(client: XClient, handle: int) -> tuple[str, int]:
        """The application's name, and the window that this one belongs to."""
        with contextlib.suppress(XError):
            names = (await client.property(handle, "WM_CLASS")).rstrip(b"\0").split(b"\0")
            parents = await client.numbers(handle, "WM_TRANSIENT_FOR")
            return names[-1].decode(errors="replace"), parents[0] if parents else 0
        return "", 0

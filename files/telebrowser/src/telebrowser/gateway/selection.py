"""Keeps the window's selected tab where the person left it.

A popup of a background tab selects itself and raises the window, and so does a tab with a dialog. Chromium reports no tab
switch, so the selection is looked up while agents have tabs, and given back when a popup of a tab that was not selected took it,
or its dialog, once that is closed: a dialog whose tab is left before is answered by Chromium itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from . import wire

if TYPE_CHECKING:
    from .tabs import Tabs

POLL_SECONDS = 0.5
CHECKS = 20
CHECK_SECONDS = 0.05


class Selection:
    """The selected tabs of one browser, one a window, in the order in which they were selected."""

    def __init__(self, link: Tabs) -> None:
        self._link = link
        self._selected: list[str] = []
        self._giving_back = 0
        self._dialogs: dict[str, list[str]] = {}
        self._task: asyncio.Task[None] | None = None

    def selected(self) -> list[str]:
        """The selected tabs, the latest last."""
        return list(self._selected)

    @property
    def busy(self) -> bool:
        """Whether a popup is being dealt with."""
        return self._giving_back > 0

    def watch(self) -> None:
        """Look regularly while there are session tabs. Repeated calls do nothing."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())
            self._link.keep(self._task)

    async def _poll(self) -> None:
        while self._link.targets.owners():
            await self.look()
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Ask the browser which tabs are selected."""
        active = await self._active()
        if active is not None and not self._giving_back:
            self._note(active)

    def _note(self, active: list[str]) -> None:
        self._selected = [tab for tab in self._selected if tab in active] + [tab for tab in active if tab not in self._selected]

    async def _active(self) -> list[str] | None:
        try:
            answer = await self._link.call("Target.getTargets", {"filter": [{"type": "tab"}]})
        except (wire.ProtocolError, TimeoutError):
            return None
        for info in answer["targetInfos"]:
            if self._link.targets.info(info["targetId"]) is not None:
                self._link.targets.put(info)
        return self._link.targets.active_tabs()

    def popup(self, tab: str, opener: str) -> None:
        """``tab`` opened in front at the wish of the page ``opener``."""
        before = self.selected()
        self._giving_back += 1
        self._link.keep(asyncio.get_running_loop().create_task(self._give_back(tab, opener, before)))

    def dialog(self, page: str) -> None:
        """A dialog opened in ``page``: what is selected now is what to give back."""
        if page not in self._dialogs:
            self._dialogs[page] = self.selected()
            self._giving_back += 1

    def dialog_gone(self, page: str) -> None:
        """The dialog of ``page`` is closed, or the page is."""
        before = self._dialogs.pop(page, None)
        if before is not None:
            self._link.keep(asyncio.get_running_loop().create_task(self._after_dialog(page, before)))

    async def _after_dialog(self, page: str, before: list[str]) -> None:
        active = await self._active()
        if active is not None and set(active) == set(before):
            # To find the page's tab takes a session on it, which holds up what the page loads now that its dialog is closed.
            self._giving_back -= 1
            return
        await self._give_back(await self._link.pair(page) or "", page, before)

    async def _give_back(self, tab: str, opener: str, before: list[str]) -> None:
        try:
            opener_tab = await self._link.pair(opener)
            if not before or opener_tab in before:
                return
            for _ in range(CHECKS):
                active = await self._active()
                if active is None or tab not in active:
                    return
                lost = [old for old in before if old not in active and self._link.targets.info(old) is not None]
                staying = [old for old in before if self._link.targets.info(old) is not None]
                if not staying:
                    return
                if not lost and len(active) > len(before):
                    # A window of its own: put the person's window before it again, once.
                    self._link.post("Target.activateTarget", {"targetId": staying[-1]})
                    return
                self._link.post("Target.activateTarget", {"targetId": (lost or staying)[-1]})
                await asyncio.sleep(CHECK_SECONDS)
        finally:
            self._giving_back -= 1
            await self.look()

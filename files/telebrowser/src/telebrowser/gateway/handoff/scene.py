"""What an open handoff does to its browser, and undoes: the tab kept, given to the person, and watched."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...errors import TelebrowserError
from .. import wire
from .conditions import Watcher
from .machine import Handoff

if TYPE_CHECKING:
    from ..browser import BrowserLink
    from ..lifecycle import ProjectBrowser

log = logging.getLogger(__name__)


class Scene:
    """From the start of a handoff, or of the gateway, to the handoff's end.

    ``release`` lets go of the session, which was kept before. ``met`` is called once when the handoff's condition holds.
    The engine of the session is told to leave the tab's dialogs and file choosers to the person.
    """

    def __init__(self, handoff: Handoff, browser: ProjectBrowser, link: BrowserLink, release: Callable[[], None], met: Callable[[], Awaitable[object]]) -> None:
        self.link = link
        self._handoff = handoff
        self._browser = browser
        self._release = release
        self._met = met
        self._watcher: Watcher | None = None
        self._watching: asyncio.Task[None] | None = None
        self._give(handoff)

    def _give(self, handoff: Handoff) -> None:
        self._handoff = handoff
        self._browser.engines.handoffs_changed(handoff.session)
        if handoff.condition is not None and handoff.condition.decisive:
            self._watcher = Watcher(self.link, handoff.target, handoff.condition)
            self._watching = asyncio.get_running_loop().create_task(self._watch(self._watcher))

    async def _watch(self, watcher: Watcher) -> None:
        try:
            await watcher.wait()
        finally:
            watcher.close()
        await self._met()

    def _take_back(self) -> None:
        if self._watching is not None and self._watching is not asyncio.current_task():
            self._watching.cancel()
        self._browser.engines.handoffs_changed(self._handoff.session)

    async def come_forward(self) -> None:
        """Select the tab, raise the window, and keep both before what other agents bring to the front."""
        self.stay_in_front()
        try:
            await self.link.call("Target.activateTarget", {"targetId": self._handoff.target})
            await self._browser.focus()
        except (wire.ProtocolError, TimeoutError) as error:
            log.warning("[%s] the tab of %s was not selected: %s", self._handoff.project, self._handoff.id, error)
        except TelebrowserError as error:
            log.warning("[%s] %s", self._handoff.project, error.message)

    def stay_in_front(self) -> None:
        """Nothing that an agent selects takes the place of the tab any more."""
        self.link.front = self._handoff.target

    def step_back(self) -> None:
        """Another handoff's turn has come on this desktop."""
        if self.link.front == self._handoff.target:
            self.link.front = None

    def move(self, handoff: Handoff) -> None:
        """The handoff goes on in another tab, since its own has closed."""
        in_front = self.link.front == self._handoff.target
        self._take_back()
        self._give(handoff)
        if in_front:
            self.stay_in_front()

    def close(self) -> None:
        """The tab is the agent's again."""
        self.step_back()
        self._take_back()
        self._release()

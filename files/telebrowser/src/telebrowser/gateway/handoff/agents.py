"""One session's handoffs, as its engine uses them: `page.provider.HandoffPort`."""

from __future__ import annotations

from typing import Any

from ...errors import TelebrowserError
from .documents import document
from .machine import Condition, Handoff
from .service import Handoffs


class SessionHandoffs:
    """The view of `Handoffs` that one session has: its own, and nobody else's."""

    def __init__(self, handoffs: Handoffs, project: str, session: str) -> None:
        self._handoffs = handoffs
        self._project = project
        self._session = session

    def guarded(self, target: str) -> str | None:
        """The open handoff for whose sake an agent must leave the page alone."""
        handoff = self._handoffs.guarded(self._project, target)
        return None if handoff is None else handoff.id

    def held(self, target: str) -> bool:
        """Whether the page is a person's for now: its dialogs and file choosers are."""
        return self._handoffs.held(self._project, target) is not None

    async def ask(self, target: str | None, *, reason: str, done_when: dict[str, str] | None, agent: str, seconds: float) -> dict[str, Any]:
        """Ask for a person at a page, or without one at the page that was used last; what `document` tells of the handoff. Raises `TelebrowserError`."""
        condition = None if done_when is None else Condition(**done_when)
        asked = self._handoffs.ask(self._project, self._session, reason=reason, target=target, condition=condition, agent=agent, seconds=seconds)
        return self._told(await asked)

    async def wait(self, ident: str, seconds: float) -> dict[str, Any]:
        """What has become of a handoff after at most ``seconds``."""
        self.find(ident)
        return self._told(await self._handoffs.wait(ident, seconds))

    def find(self, ident: str | None) -> dict[str, Any]:
        """One of the session's handoffs, the latest without an id. Raises `TelebrowserError` NOT_FOUND."""
        own = self._handoffs.of(self._project, self._session)
        found = [handoff for handoff in own if ident in (None, handoff.id)]
        if not found:
            what = "This session has asked for no person yet" if ident is None else f"This session has no handoff {ident[:40]!r}"
            raise TelebrowserError("NOT_FOUND", what, "Ask with browser_handoff.")
        return self._told(found[-1])

    def link(self, ident: str) -> str | None:
        """A new address for a person, or None when there is no place to send one to."""
        return self._handoffs.link(self._handoffs.find(self._project, ident))

    async def cancel(self, ident: str) -> None:
        """The agent does not need it any more."""
        await self._handoffs.cancel(ident)

    async def decline(self, ident: str) -> None:
        """The person at the agent's own client has said no."""
        await self._handoffs.failed(ident, "declined in the agent's client", via="client")

    def _told(self, handoff: Handoff) -> dict[str, Any]:
        return document(handoff, self._handoffs.position(handoff))

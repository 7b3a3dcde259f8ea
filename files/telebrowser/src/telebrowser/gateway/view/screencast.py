"""A view without a desktop: the handoff's tab itself, as pictures that Chromium makes of it, with the person's input sent back.

It needs no package and shows nothing but that tab and those opened from it. Credentials are addresses below the pages for
people, one a grant.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..handoff.machine import Handoff
from ..handoff.view import Grant, Role

CREDENTIAL_BYTES = 24

Close = Callable[[], Awaitable[None]]


@dataclass
class Credential:
    """One grant: what it lets one see, and the connections that were made with it."""

    handoff: Handoff
    role: Role
    open: set[Close] = field(default_factory=set)


class ScreencastView:
    """Who may see which handoff's tab. A `ViewControl`."""

    name = "screencast"

    def __init__(self) -> None:
        self._credentials: dict[str, Credential] = {}

    def desktop(self, project: str) -> str:
        """A desktop a project: its handoffs do not wait for those of others."""
        return f"project {project}"

    def viewers(self, project: str) -> int:
        """The connections that are open now."""
        return sum(len(each.open) for each in self._credentials.values() if each.handoff.project == project)

    async def grant(self, handoff: Handoff, role: Role) -> Grant:
        """An address relative to the handoff's page, so that it is right by every name under which people come."""
        if role == "controller":
            await self.revoke(handoff, role)
        token = secrets.token_urlsafe(CREDENTIAL_BYTES)
        self._credentials[token] = Credential(handoff, role)
        return Grant(f"../view/{token}/", role)

    async def revoke(self, handoff: Handoff, role: Role | None = None) -> None:
        """Forget the credentials and close what was opened with them."""
        ended = [token for token, each in self._credentials.items() if each.handoff.id == handoff.id and role in (None, each.role)]
        for token in ended:
            credential = self._credentials.pop(token)
            for close in list(credential.open):
                await close()

    async def aclose(self) -> None:
        """Close everything."""
        for credential in self._credentials.values():
            for close in list(credential.open):
                await close()
        self._credentials.clear()

    def find(self, token: str) -> Credential | None:
        """What a credential is for; None for one that is revoked or was never given."""
        return self._credentials.get(token)

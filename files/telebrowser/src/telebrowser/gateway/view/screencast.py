"""A view without a desktop: the handoff's tab itself, as pictures that Chromium makes of it, with the person's input sent back.

It needs no package and shows nothing but that tab and those opened from it.
"""

from __future__ import annotations

from ..handoff.machine import Handoff
from ..handoff.view import Grant, Role
from .credentials import SCREENCAST, Credential, Credentials


class ScreencastView:
    """Every handoff's tab by itself. A `ViewControl`."""

    def __init__(self) -> None:
        self.credentials = Credentials()

    @property
    def name(self) -> str:
        """Always the same."""
        return SCREENCAST

    def desktop(self, project: str) -> str:
        """A desktop a project: its handoffs do not wait for those of others."""
        return f"project {project}"

    def viewers(self, project: str) -> int:
        """The connections that are open now."""
        return self.credentials.viewers(project)

    async def grant(self, handoff: Handoff, role: Role, *, secure: bool) -> Grant:
        """A credential for the tab."""
        return await self.credentials.grant(Credential(handoff, role))

    async def revoke(self, handoff: Handoff, role: Role | None = None) -> None:
        """Forget the credentials and close what was opened with them."""
        await self.credentials.revoke(handoff, role)

    async def aclose(self) -> None:
        """Close everything."""
        await self.credentials.aclose()

"""What a handoff needs of the view for people, whatever shows it; and the view of a gateway that knows an address only."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from ...errors import TelebrowserError
from .machine import Handoff

Role = Literal["controller", "viewer"]
SHARED = "shared"


class Grant(NamedTuple):
    """A way into the view: the address, which may hold a credential, and what it lets one do.

    ``instead`` tells the person why something less is shown than they would expect; empty when nothing is.
    """

    url: str
    role: Role
    instead: str = ""


class ViewControl(Protocol):
    """A view backend as handoffs see it. Calls are repeatable; each has a deadline of `VIEW_SECONDS` set by its caller."""

    @property
    def name(self) -> str:
        """As the status and `doctor` show it: ``selkies-x11``, ``vnc``, …; ``none`` without one."""

    def desktop(self, project: str) -> str:
        """The desktop on which the project's windows are: one name for all with a shared display, else one a project."""

    def viewers(self, project: str) -> int:
        """How many people look at the project's desktop now, as far as is known without waiting."""

    async def grant(self, handoff: Handoff, role: Role, *, secure: bool) -> Grant:
        """A new credential for one handoff. A controller's replaces the former controller's of this handoff.

        ``secure`` is whether the person's page is in a secure context (TLS or localhost), which some views need.

        Raises `TelebrowserError` BROWSER_UNAVAILABLE when the view cannot be had.
        """

    async def revoke(self, handoff: Handoff, role: Role | None = None) -> None:
        """Withdraw the handoff's credentials of a role (None: all), with the connections made by them. Never raises."""

    async def aclose(self) -> None:
        """The gateway ends."""


class NoView:
    """No view of our own: at most the address of one that somebody else serves and guards."""

    name = "none"

    def __init__(self, url: str | None) -> None:
        self._url = url

    def desktop(self, project: str) -> str:
        """One desktop for all."""
        return SHARED

    def viewers(self, project: str) -> int:
        """Nobody is known of."""
        return 0

    async def grant(self, handoff: Handoff, role: Role, *, secure: bool) -> Grant:
        """The plain address, for either role. Raises `TelebrowserError` BROWSER_UNAVAILABLE without one."""
        if self._url is None:
            raise TelebrowserError("BROWSER_UNAVAILABLE", "No view for people is set up", "Set TELEBROWSER_VIEW_URL.")
        return Grant(self._url, role)

    async def revoke(self, handoff: Handoff, role: Role | None = None) -> None:
        """There is nothing to withdraw."""

    async def aclose(self) -> None:
        """There is nothing to end."""

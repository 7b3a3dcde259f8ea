"""The view of whole desktops, by the view server that the supervisor runs and announces in ``run/view.json``.

While a desktop has no view server, because none is installed or it is just starting again, its handoffs are shown as the screencast
shows them: a person who follows a link always sees the page.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import NamedTuple

from ...datadir import DataDir, read_json
from ...novnc import has_novnc
from ..handoff.machine import Handoff
from ..handoff.view import SHARED, Grant, Role
from .credentials import SCREENCAST, Credential
from .screencast import ScreencastView

CONNECT_SECONDS = 1.0
VNC = "vnc"
AWAY = "The view of the whole desktop does not answer just now, so this is the page's tab alone. It starts again by itself: press Open it again in a moment."
INSECURE = "Without TLS your browser cannot show the whole desktop, so this is the page's tab alone."
NO_NOVNC = "The whole desktop cannot be shown because noVNC is not installed where the gateway runs, so this is the page's tab alone."


class Announced(NamedTuple):
    """What the supervisor serves now: the backend, and each desktop's Unix socket."""

    backend: str
    sockets: dict[str, Path]


def announced(data: DataDir) -> Announced | None:
    """Read ``run/view.json``; None when no desktop can be seen.

    Only the sockets' names count: gateway and supervisor may see the data directory by different paths.
    """
    value = read_json(data.run / "view.json") or {}
    backend, desktops = value.get("backend"), value.get("desktops")
    if not isinstance(backend, str) or not isinstance(desktops, dict):
        return None
    sockets = {name: data.run / Path(each["socket"]).name for name, each in desktops.items() if isinstance(each, dict) and isinstance(each.get("socket"), str)}
    return Announced(backend, sockets) if sockets else None


async def listens(socket: Path) -> bool:
    """Whether somebody takes connections at a Unix socket, within `CONNECT_SECONDS`."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_unix_connection(str(socket))
            writer.close()
            return True
    return False


class DesktopView(ScreencastView):
    """Desktops where they can be seen, tabs where not. ``apart`` tells that each project has a display of its own. A `ViewControl`."""

    def __init__(self, data: DataDir, *, apart: bool) -> None:
        super().__init__()
        self._data = data
        self._apart = apart
        self._seen = False

    @property
    def name(self) -> str:
        """The backend that shows desktops now."""
        found = announced(self._data)
        return found.backend if found is not None else SCREENCAST

    def desktop(self, project: str) -> str:
        """One for all, once desktops are shown that all projects share."""
        self._seen = self._seen or announced(self._data) is not None
        return SHARED if self._seen and not self._apart else super().desktop(project)

    async def grant(self, handoff: Handoff, role: Role, *, secure: bool) -> Grant:
        """A credential for the desktop; for the tab, and why, while the desktop's view server is away or the person's browser cannot show it."""
        found = announced(self._data)
        socket = found.sockets.get(self.desktop(handoff.project)) if found is not None else None
        if found is None or socket is None or not await listens(socket):
            # Where no desktop was ever shown, the tab is all that there is to expect.
            hindrance = AWAY if self._seen else ""
        elif not (hindrance := _hindrance(found.backend, secure=secure)):
            return await self.credentials.grant(Credential(handoff, role, found.backend, socket))
        return (await super().grant(handoff, role, secure=secure))._replace(instead=hindrance)


def _hindrance(backend: str, *, secure: bool) -> str:
    """Why a person's browser cannot show it, else nothing. Outside of a secure context browsers have no decoder for Selkies, whose page then stays empty."""
    if backend == VNC:
        return "" if has_novnc() else NO_NOVNC
    return "" if secure else INSECURE

"""Agent sessions: who is connected, the grace time after the last connection, and the engine's provider."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ..cdp.transport import Transport
from ..errors import TelebrowserError
from ..page.provider import HandoffPort
from .client import Client


class AgentSession:
    """One named session of a browser. ``expire`` runs when it has had no connection for ``grace`` seconds."""

    def __init__(self, name: str, grace: float, expire: Callable[[AgentSession], None]) -> None:
        self.name = name
        self.clients: set[Client] = set()
        self.starting = asyncio.Lock()
        self._grace = grace
        self._expire = expire
        self._holds = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody is connected."""
        return self._holds == 0

    def hold(self) -> None:
        """A connection begins: the session lives while it does."""
        self._holds += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def let_go(self) -> None:
        """A connection ended."""
        self._holds -= 1
        self.count_down()

    def count_down(self) -> None:
        """Start the grace time unless there is a connection."""
        if self._holds == 0 and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._grace, self._over)

    def _over(self) -> None:
        self._timer = None
        if self._holds == 0:
            self._expire(self)

    def stop(self) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class SessionBrowser:
    """The engine's `page.provider.BrowserProvider` for one session, over whatever starts and holds the browser."""

    def __init__(
        self,
        project: str,
        session: str,
        *,
        connect: Callable[[str], Awaitable[Transport]],
        activity: Callable[[], None],
        status: Callable[[str], dict[str, Any]],
        output_dir: Path,
        downloads_dir: Path,
        uploads_dir: Path,
        handoffs: HandoffPort | None = None,
    ) -> None:
        self.project = project
        self.session = session
        self.output_dir = output_dir
        self.downloads_dir = downloads_dir
        self.uploads_dir = uploads_dir
        self.handoffs = handoffs
        self._connect = connect
        self._activity = activity
        self._status = status

    @property
    def outbox_dir(self) -> Path:
        """Files on their way to the agent; beside the folders that the browser sees."""
        return self.uploads_dir.parent / "outbox"

    def local_file(self, path: str) -> Path:
        """None: what a client names on this machine is not the client's."""
        raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} is not a file that was sent", "Send it to uploads/NAME, and name upload:NAME.")

    async def connect(self) -> Transport:
        """A fresh client connection of the session; starts the browser if needed. Raises `TelebrowserError`."""
        return await self._connect(self.session)

    def activity(self) -> None:
        """A call begins or ends."""
        self._activity()

    def status(self) -> dict[str, Any]:
        """What is known of the session and its browser."""
        return self._status(self.session)

    async def aclose(self) -> None:
        """The browser stays: it is the project's."""

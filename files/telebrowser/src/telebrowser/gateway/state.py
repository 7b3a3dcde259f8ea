"""What every handler of one gateway shares."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from ..config import Settings
from ..datadir import DataDir
from ..errors import TelebrowserError
from ..tokens import SecretStore
from .audit import Audit
from .browsers import Browsers
from .engines import load
from .metrics import Metrics
from .origin import Origins


class Protocol:
    """``/json/protocol``: the browser's own description of CDP. On a pipe there is no way to ask for it; the supervisor leaves it here."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[int, bytes] | None = None

    async def read(self) -> bytes:
        """The JSON text, kept until the file changes. Raises `TelebrowserError` NOT_FOUND."""
        try:
            stamp = self._path.stat().st_mtime_ns
            if self._known is None or self._known[0] != stamp:
                self._known = (stamp, await asyncio.to_thread(self._path.read_bytes))
        except OSError:
            raise TelebrowserError("NOT_FOUND", "The description of the protocol is not there", "Use the one that comes with your CDP library.") from None
        return self._known[1]


@dataclass
class Gateway:
    """One running gateway."""

    data: DataDir
    settings: Settings
    secrets: SecretStore
    browsers: Browsers
    origins: Origins
    audit: Audit
    metrics: Metrics
    protocol: Protocol
    sockets: set[web.WebSocketResponse] = field(default_factory=set)
    warming: asyncio.Task[object] | None = None

    def warm_up(self) -> None:
        """Import the engine in a thread: more than a second that no `initialize` has to wait for."""
        self.warming = asyncio.get_running_loop().create_task(asyncio.to_thread(load))

    async def engine_ready(self) -> None:
        """Wait until the engine is imported."""
        if self.warming is not None:
            await asyncio.shield(self.warming)


GATEWAY: web.AppKey[Gateway] = web.AppKey("gateway", Gateway)

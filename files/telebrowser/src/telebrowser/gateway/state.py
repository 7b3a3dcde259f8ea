"""What every handler of one gateway shares."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

from ..config import Settings
from ..datadir import DataDir
from ..tokens import SecretStore
from .audit import Audit
from .browsers import Browsers
from .engines import load
from .handoff.service import Handoffs
from .metrics import Metrics
from .origin import Origins
from .protocol import Protocol

if TYPE_CHECKING:
    from .http_sessions import HttpSessions
    from .lifecycle import ProjectBrowser


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
    over_http: dict[str, HttpSessions] = field(default_factory=dict)
    """Project → its MCP sessions over HTTP."""

    @property
    def handoffs(self) -> Handoffs:
        """The handoffs of all projects."""
        return self.browsers.handoffs

    def warm_up(self) -> None:
        """Import the engine in a thread: more than a second that no `initialize` has to wait for."""
        self.warming = asyncio.get_running_loop().create_task(asyncio.to_thread(load))

    async def engine_ready(self) -> None:
        """Wait until the engine is imported."""
        if self.warming is not None:
            await asyncio.shield(self.warming)

    async def http_sessions(self, browser: ProjectBrowser) -> HttpSessions:
        """The MCP sessions over HTTP of a project. The first call imports the SDK's transport."""
        module = await asyncio.to_thread(importlib.import_module, "telebrowser.gateway.http_sessions")
        made: HttpSessions = self.over_http.setdefault(browser.project, module.HttpSessions(browser.engines, self.settings))
        return made


GATEWAY: web.AppKey[Gateway] = web.AppKey("gateway", Gateway)

"""Where private address ranges are blocked: every document request is checked before it is sent."""

from __future__ import annotations

import asyncio
from typing import Any

from ..cdp.connection import Session
from . import urls


class NetworkGuard:
    """Holds each document request, redirects included, until its address was checked."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, session: Session) -> None:
        """Guard the documents of one session's frames."""
        session.on("Fetch.requestPaused", lambda params: self._paused(session, params))
        session.forget("Fetch.enable", patterns=[{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}])

    def _paused(self, session: Session, params: dict[str, Any]) -> None:
        task = asyncio.create_task(self._decide(session, params))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide(self, session: Session, params: dict[str, Any]) -> None:
        url = params["request"]["url"]
        if not await urls.may_load(url):
            session.forget("Fetch.failRequest", requestId=params["requestId"], errorReason="BlockedByClient")
            return
        session.forget("Fetch.continueRequest", requestId=params["requestId"])

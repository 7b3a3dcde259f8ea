"""Server-sent events: a part of a page, sent anew whenever it has changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from aiohttp import web

from ..handoff.service import Handoffs
from .render import HEADERS

LOOK_SECONDS = 5.0
"""Browsers tell no changes of their own, so that they are looked at. What is sent then keeps proxies from closing, and tells the page that the
line is not cut."""
WRITE_SECONDS = 10.0


async def stream(request: web.Request, handoffs: Handoffs, fragment: Callable[[], str | None]) -> web.StreamResponse:
    """Send what ``fragment`` gives, at once and after each change, until it gives None or the person has gone."""
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
    await response.prepare(request)
    sent = ""
    with contextlib.suppress(ConnectionError, TimeoutError):
        while True:
            turn = handoffs.changed()
            text = fragment()
            async with asyncio.timeout(WRITE_SECONDS):
                await response.write(_event("over", "") if text is None else _event("part", text) if text != sent else _event("here", ""))
            if text is None:
                break
            sent = text
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await turn.wait()
    return response


def _event(name: str, text: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n".encode()

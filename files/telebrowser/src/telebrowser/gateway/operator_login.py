"""One-time links to the page of operators: of one project for who holds its token, of all for who holds the secret."""

from __future__ import annotations

import time

from aiohttp import web

from .. import tokens
from ..errors import TelebrowserError
from .handoff.links import LOGIN_SECONDS, Purpose
from .state import GATEWAY, Gateway

EVERYTHING = "*"
"""The subject of a link to all projects; no project can have this name."""


async def login(request: web.Request) -> web.StreamResponse:
    """``POST /login`` with ``Authorization: Bearer <operator token>``: a link to the page of all projects."""
    gateway = request.app[GATEWAY]
    gateway.origins.check(request, websocket=False)
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Bearer" or not tokens.verify_operator(given.strip(), gateway.secrets.current()):
        raise TelebrowserError("FORBIDDEN", "The token is not valid", "It needs the secret of the gateway, not a project's token.")
    return web.json_response({"kind": "dashboard", "handoff": None, "url": login_link(gateway, EVERYTHING)})


def login_link(gateway: Gateway, scope: str) -> str:
    """A link that opens once. Raises `TelebrowserError` BROWSER_UNAVAILABLE when no pages are served."""
    if gateway.handoffs.pages_url is None:
        raise TelebrowserError("BROWSER_UNAVAILABLE", "No pages for people are served", "Set TELEBROWSER_PEOPLE_PORT for the gateway.")
    token = gateway.handoffs.links.issue(Purpose.LOGIN, scope, time.time() + LOGIN_SECONDS)
    return f"{gateway.handoffs.pages_url.rstrip('/')}/login/{token}"

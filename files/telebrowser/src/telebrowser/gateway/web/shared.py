"""What the handlers of the pages for people share."""

from __future__ import annotations

from aiohttp import web

from ..state import Gateway
from .people import People

PEOPLE: web.AppKey[People] = web.AppKey("people", People)


def here(gateway: Gateway, request: web.Request) -> str:
    """The path below which the person reached the pages: empty, or the prefix that a trusted proxy tells."""
    return gateway.origins.base(request)[2]

"""Templates and static files of the pages for people, and the headers that every answer has."""

from __future__ import annotations

import datetime
import time
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import web

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = {
    "people.css": "text/css",
    "people.js": "text/javascript",
    "view.css": "text/css",
    "view.js": "text/javascript",
    "vnc.css": "text/css",
    "vnc.js": "text/javascript",
}
HEADERS = {
    "Cache-Control": "no-store",
    # Without any referrer a browser would send forms with an Origin of null, which nothing could be told by.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; frame-src 'self'{frames}"
)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    # Forty milliseconds that the gateway's start need not wait for.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(loader=PackageLoader("telebrowser.gateway.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["span"] = span
    made.filters["clock"] = clock
    return made


def render(template: str, **values: Any) -> str:
    """A template as text. Everything that comes from elsewhere is escaped."""
    return _environment().get_template(template).render(**values)


def page(template: str, *, status: int = 200, frames: str | None = None, **values: Any) -> web.Response:
    """A whole page. ``frames`` is an address whose origin the page may show in a frame."""
    policy = POLICY.format(frames=f" {origin}" if (origin := _origin(frames)) else "")
    return web.Response(text=render(template, **values), status=status, content_type="text/html", headers={"Content-Security-Policy": policy})


@lru_cache(maxsize=len(STATIC))
def static(name: str) -> bytes:
    """A static file. Raises KeyError."""
    assert STATIC[name]
    return (resources.files("telebrowser.gateway.web") / "static" / name).read_bytes()


def span(seconds: float) -> str:
    """A length of time as people say it."""
    seconds = max(0, int(seconds))
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def clock(seconds: float) -> str:
    """A time of day as the machine's clock shows it, with the date unless it is today."""
    at = datetime.datetime.fromtimestamp(seconds)
    return at.strftime("%H:%M" if at.date() == datetime.datetime.fromtimestamp(time.time()).date() else "%Y-%m-%d %H:%M")


def _origin(url: str | None) -> str:
    parts = urlsplit(url or "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.scheme in ("http", "https") and parts.netloc else ""

"""Every path below ``/t/<token>/``: who may use it, and what answers.

The token is checked before anything else, so that a wrong one learns nothing: not which paths, methods, projects or
sessions exist.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

from aiohttp import web

from .. import tokens
from ..config import BY_FIELD
from ..errors import ConfigError, TelebrowserError
from ..handover import HEADER
from ..mcp.access import Access
from ..mcp.tools import PATHS
from . import discovery
from .browser import BrowserLink
from .discovery import Place
from .handoff import http as handoffs
from .lifecycle import ProjectBrowser
from .relay import serve_cdp, serve_mcp
from .state import GATEWAY, Gateway

SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")
HOLD_DEFAULT_MINUTES = 60
HOLD_MAX_MINUTES = BY_FIELD["idle_minutes"].high or 10080
GET = frozenset({"GET", "HEAD"})
POST = frozenset({"POST"})
PUT = frozenset({"PUT"})
DELETE = frozenset({"DELETE"})
# Chromium takes GET for these two; a token is needed here, which a page does not have.
ANY = GET | POST | PUT


class Call(NamedTuple):
    """One request, its token verified."""

    request: web.Request
    gateway: Gateway
    browser: ProjectBrowser
    session: str | None
    place: Place
    words: tuple[str, ...]

    @property
    def rest(self) -> str:
        """The last word of the path."""
        return self.words[-1]


Handler = Callable[[Call], Awaitable[web.StreamResponse]]


class Route(NamedTuple):
    """``methods`` that a path takes; ``websocket`` paths take an upgrade; ``scoped`` ones exist below ``s/<session>`` too, or only there.

    ``strict``: a foreign Origin is refused for every method.
    """

    methods: frozenset[str]
    handler: Handler
    project: bool = True
    scoped: bool = False
    websocket: bool = False
    strict: bool = False


async def dispatch(request: web.Request) -> web.StreamResponse:
    """The one handler of ``/t/…``. Raises `TelebrowserError`."""
    gateway = request.app[GATEWAY]
    token, _, path = request.rel_url.raw_path.removeprefix("/t/").partition("/")
    project = tokens.verify(_decode(token), _secrets(gateway))
    if project is None:
        raise TelebrowserError("FORBIDDEN", "The token is not accepted")
    words = [_decode(word) for word in path.split("/")]
    if len(words) > 1 and words[-1] == "":
        words.pop()
    session: str | None = None
    if words[0] == "s" and len(words) > 2:
        session, words = words[1], words[2:]
        if not SESSION.fullmatch(session):
            raise TelebrowserError("NOT_FOUND", "A session's name has 1 to 64 letters, digits, - and _")
    route = _find(tuple(words), session)
    websocket = request.headers.get("Upgrade", "").lower() == "websocket"
    gateway.origins.check(request, websocket=websocket or route.websocket or route.strict)
    if route.websocket and not websocket:
        raise TelebrowserError("INVALID_ARGS", "This path takes a WebSocket", "Connect with ws:// or wss://.")
    if request.method not in route.methods:
        allowed = ", ".join(sorted(route.methods))
        raise TelebrowserError("METHOD_NOT_ALLOWED", f"This path takes {allowed}", f"Use {allowed}.")
    browser = gateway.browsers.get(project)
    return await route.handler(Call(request, gateway, browser, session, _place(gateway, request, token, session), tuple(words)))


def _secrets(gateway: Gateway) -> list[bytes]:
    try:
        return gateway.secrets.current()
    except ConfigError:
        return []


def _decode(word: str) -> str:
    return unquote(word, errors="replace")


def _place(gateway: Gateway, request: web.Request, token: str, session: str | None) -> Place:
    scheme, host, prefix = gateway.origins.base(request)
    tail = f"{host}{prefix}/t/{token}" + (f"/s/{session}" if session is not None else "")
    return Place(f"{scheme}://{tail}", f"{'wss' if scheme == 'https' else 'ws'}://{tail}")


def _find(words: tuple[str, ...], session: str | None) -> Route:
    route = ROUTES.get(words) or ROUTES.get((*words[:-1], "*"))
    if route is None or not (route.scoped if session is not None else route.project):
        raise TelebrowserError("NOT_FOUND", "There is nothing at this path")
    return route


# -- the project's browser


async def _status(call: Call) -> web.StreamResponse:
    return web.json_response(call.browser.status())


async def _start(call: Call) -> web.StreamResponse:
    await call.browser.start()
    return await _status(call)


async def _stop(call: Call) -> web.StreamResponse:
    call.browser.engines.disconnect()
    await call.browser.stop()
    return await _status(call)


async def _focus(call: Call) -> web.StreamResponse:
    await call.browser.focus()
    return await _status(call)


async def _hold(call: Call) -> web.StreamResponse:
    text = call.request.query.get("minutes", str(HOLD_DEFAULT_MINUTES))
    if not (text.isascii() and text.isdigit() and int(text) <= HOLD_MAX_MINUTES):
        raise TelebrowserError("INVALID_ARGS", f"minutes must be a whole number from 0 to {HOLD_MAX_MINUTES}")
    call.browser.hold(int(text))
    return await _status(call)


async def _wipe(call: Call) -> web.StreamResponse:
    call.browser.engines.disconnect()
    await call.browser.wipe()
    return await _status(call)


# -- discovery


async def _link(call: Call) -> BrowserLink:
    return await call.browser.ensure_up()


async def _version(call: Call) -> web.StreamResponse:
    return web.json_response(discovery.version(await _link(call), call.place))


async def _list(call: Call) -> web.StreamResponse:
    return web.json_response(discovery.listing(await _link(call), call.session, call.place))


async def _new(call: Call) -> web.StreamResponse:
    url = unquote(call.request.rel_url.raw_query_string)
    url = url.removeprefix("url=")
    return web.json_response(await discovery.new(await _link(call), call.session, url, call.place))


async def _activate(call: Call) -> web.StreamResponse:
    return await discovery.activate(await _link(call), call.session, call.rest)


async def _close(call: Call) -> web.StreamResponse:
    return await discovery.close(await _link(call), call.session, call.rest)


async def _protocol(call: Call) -> web.StreamResponse:
    return web.Response(body=await call.gateway.protocol.text(), content_type="application/json")


# -- files


async def _downloads(call: Call) -> web.StreamResponse:
    return web.json_response(await asyncio.to_thread(call.browser.files.downloads))


async def _download(call: Call) -> web.StreamResponse:
    return await call.browser.files.send_download(call.request, call.rest)


async def _outgoing(call: Call) -> web.StreamResponse:
    if call.request.method != "DELETE":
        return await call.browser.files.send_outgoing(call.request, call.rest)
    await asyncio.to_thread(call.browser.files.drop_outgoing, call.rest)
    return web.Response(status=204)


async def _upload(call: Call) -> web.StreamResponse:
    if call.request.method == "HEAD":
        return await call.browser.files.received(call.request, call.rest)
    stored = await call.browser.files.receive(call.request, call.rest)
    call.gateway.audit.write(call.browser.project, "upload", size=stored["size"])
    return web.json_response(stored, status=201)


async def _name_files(call: Call) -> web.StreamResponse:
    """Paths of the agent's machine that its other tools will name: each means a file that was sent."""
    assert call.session is not None
    link = await _link(call)
    await call.browser.files.name(call.request, lambda path, file: link.files.name(call.session or "", path, file))
    return web.Response(status=204)


# -- WebSockets


async def _cdp(call: Call) -> web.StreamResponse:
    return await _serve_cdp(call, None)


async def _cdp_page(call: Call) -> web.StreamResponse:
    return await _serve_cdp(call, call.rest)


async def _serve_cdp(call: Call, page: str | None) -> web.StreamResponse:
    link = await _link(call)
    return await serve_cdp(call.request, lambda deliver, on_end: link.open_client(call.session, deliver, on_end, page), call.gateway.sockets)


async def _mcp(call: Call) -> web.StreamResponse:
    if call.request.headers.get("Upgrade", "").lower() != "websocket":
        return await _mcp_http(call)
    if call.session is None:
        raise TelebrowserError("NOT_FOUND", "A WebSocket for MCP belongs to a session", "Connect to s/<session>/mcp, or use HTTP here.")
    session, own = call.session, call.request.query.get("tools") == "own"
    access = Access(call.place.http, call.place.ws + "/devtools/browser")
    call.browser.touch()
    offer = await asyncio.to_thread(call.browser.files.offer, PATHS)
    return await serve_mcp(
        call.request,
        {HEADER: offer},
        call.gateway.sockets,
        call.gateway.engine_ready,
        lambda receive, send: call.browser.engines.serve(session, receive, send, own=own, access=access),
    )


async def _mcp_http(call: Call) -> web.StreamResponse:
    """MCP over streamable HTTP: the path's session, or one that the client opens."""
    call.browser.touch()
    await call.gateway.engine_ready()
    sessions = await call.gateway.http_sessions(call.browser)

    def access(name: str) -> Access:
        tail = "" if call.session is not None else f"/s/{name}"
        return Access(call.place.http + tail, f"{call.place.ws}{tail}/devtools/browser")

    return await sessions.handle(call.request, call.session, access)


ROUTES: dict[tuple[str, ...], Route] = {
    ("status",): Route(GET, _status),
    ("start",): Route(POST, _start),
    ("stop",): Route(POST, _stop),
    ("focus",): Route(POST, _focus),
    ("hold",): Route(POST, _hold),
    ("wipe",): Route(POST, _wipe),
    ("handoff",): Route(POST, handoffs.ask, project=False, scoped=True),
    ("handoffs",): Route(GET, handoffs.listing),
    ("handoffs", "*"): Route(GET | POST, handoffs.one),
    ("open",): Route(POST, handoffs.open_view),
    ("json",): Route(GET, _list, scoped=True),
    ("json", "list"): Route(GET, _list, scoped=True),
    ("json", "version"): Route(GET, _version, scoped=True),
    ("json", "protocol"): Route(GET, _protocol, scoped=True),
    ("json", "new"): Route(PUT, _new, scoped=True),
    ("json", "activate", "*"): Route(ANY, _activate, scoped=True),
    ("json", "close", "*"): Route(ANY, _close, scoped=True),
    ("downloads",): Route(GET, _downloads),
    ("downloads", "*"): Route(GET, _download),
    ("uploads", "*"): Route(PUT | {"HEAD"}, _upload),
    ("files",): Route(POST, _name_files, project=False, scoped=True),
    ("outbox", "*"): Route(GET | {"DELETE"}, _outgoing),
    ("devtools", "browser"): Route(GET, _cdp, scoped=True, websocket=True),
    ("devtools", "browser", "*"): Route(GET, _cdp, scoped=True, websocket=True),
    ("devtools", "page", "*"): Route(GET, _cdp_page, scoped=True, websocket=True),
    ("mcp",): Route(GET | POST | DELETE, _mcp, scoped=True, strict=True),
}


def error_response(error: TelebrowserError) -> web.Response:
    """An error as an HTTP answer."""
    body: dict[str, Any] = error.as_dict()
    return web.json_response(body, status=error.status)

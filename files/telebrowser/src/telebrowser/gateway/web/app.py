"""The listener of the pages for people: routes, headers, errors as pages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from ...errors import TelebrowserError
from ..state import GATEWAY, Gateway
from . import guests, operators, viewing
from .people import People
from .render import HEADERS, STATIC, page, static
from .shared import PEOPLE, here

log = logging.getLogger(__name__)

MAX_FORM = 64 << 10
Next = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(gateway: Gateway) -> web.Application:
    """The application. It shares the gateway's objects and ends with it."""
    app = web.Application(middlewares=[_guard], client_max_size=MAX_FORM)
    app[GATEWAY] = gateway
    app[viewing.CASTS] = {}
    app[PEOPLE] = People(gateway.handoffs.links, gateway.origins, gateway.settings.remote_users)
    ident = "{id:h[0-9a-f]{16}}"
    app.router.add_get("/static/{name}", _static)
    app.router.add_get("/h/{token}", guests.look)
    app.router.add_post("/h/{token}", guests.enter)
    app.router.add_get(f"/handoff/{ident}", guests.show)
    app.router.add_get(f"/handoff/{ident}/events", guests.follow)
    app.router.add_post(f"/handoff/{ident}/take", guests.take)
    app.router.add_post(f"/handoff/{ident}/watch", guests.watch)
    app.router.add_post(f"/handoff/{ident}/{{end:done|failed}}", guests.finish)
    app.router.add_get("/login/{token}", operators.look)
    app.router.add_post("/login/{token}", operators.enter)
    app.router.add_post("/logout", operators.leave)
    app.router.add_get("/", operators.show)
    app.router.add_get("/events", operators.follow)
    app.router.add_post("/projects/{project}/picture", operators.picture)
    app.router.add_post(f"/projects/{{project}}/{{action:{'|'.join(operators.ACTIONS)}}}", operators.act)
    app.router.add_post(f"/handoffs/{ident}/{{way:open|cancel}}", operators.answer)
    app.router.add_get("/view/{token}/", viewing.show)
    app.router.add_get("/view/{token}/socket", viewing.connect)
    app.router.add_get("/view/{token}/{path:.+}", viewing.pass_on)
    app.router.add_put("/view/{token}/files/{name}", viewing.upload)
    return app


@web.middleware
async def _guard(request: web.Request, handler: Next) -> web.StreamResponse:
    """Host and Origin first; every answer with its headers; every fault as a page, or as JSON where a script asked."""
    began = time.monotonic()
    gateway = request.app[GATEWAY]
    try:
        gateway.origins.check(request, websocket=False)
        response = await handler(request)
    except TelebrowserError as error:
        response = _fault(request, error)
    except web.HTTPSeeOther as redirect:
        response = redirect
    except web.HTTPException as error:
        code = "TOO_LARGE" if error.status == 413 else "METHOD_NOT_ALLOWED" if error.status == 405 else "NOT_FOUND"
        response = _fault(request, TelebrowserError(code, "There is nothing here" if code == "NOT_FOUND" else error.reason))
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("a page for people failed: %s", request.method)
        response = _fault(request, TelebrowserError("INTERNAL", "The gateway met a fault", "See gateway.log."))
    if not response.prepared:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    # Paths hold links that open something; what they are for is enough.
    log.info("%s %s %s %d %.3fs", request.remote, request.method, "/" + request.path.split("/")[1], response.status, time.monotonic() - began)
    return response


def _fault(request: web.Request, error: TelebrowserError) -> web.Response:
    if request.headers.get("Accept", "").startswith("application/json"):
        return web.json_response(error.as_dict(), status=error.status)
    return page("message.html", status=error.status, root=here(request.app[GATEWAY], request), title="This does not work", text=error.message, hint=error.hint)


async def _static(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    if name not in STATIC:
        raise TelebrowserError("NOT_FOUND", "There is nothing here")
    return web.Response(body=static(name), content_type=STATIC[name], charset="utf-8", headers={"Cache-Control": "no-cache"})

"""The aiohttp application: composition, errors as JSON, access lines without tokens, orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import WSCloseCode, web

from .. import __version__
from ..config import Settings
from ..datadir import DataDir
from ..errors import TelebrowserError
from ..tokens import SecretStore
from . import metrics
from .audit import Audit
from .browsers import Browsers
from .metrics import Metrics
from .operator_login import login
from .origin import Origins, is_loopback
from .protocol import Protocol
from .routes import dispatch, error_response
from .state import GATEWAY, Gateway

log = logging.getLogger(__name__)

CLOSE_SECONDS = 2.0
# What opens something is the HMAC: 64 hex digits, whatever stands before it.
_BEARER = re.compile(r"[0-9A-Fa-f]{64,}")
_BELOW_TOKEN = re.compile(r"/t/[^/?#\s\"']*")

Next = Callable[[web.Request], Awaitable[web.StreamResponse]]


def redact(text: str) -> str:
    """``text`` without the part of any token that opens anything."""
    return _BEARER.sub("*", text)


class RedactingFormatter(logging.Formatter):
    """Takes tokens out of every line, also out of those that libraries write."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def shown_path(request: web.Request) -> str:
    """The path for the access log: no token, no query, and of a wrong token not even the name."""
    return _BELOW_TOKEN.sub("/t/*", request.rel_url.raw_path)[:200]


def make_app(settings: Settings, data: DataDir, secrets: SecretStore) -> web.Application:
    """The application; it connects to the supervisor when it starts. Raises `ConfigError`."""
    audit = Audit(data.audit)
    browsers = Browsers(data, settings, audit)
    gateway = Gateway(
        data=data,
        settings=settings,
        secrets=secrets,
        browsers=browsers,
        origins=Origins(settings.trusted_proxies, settings.hosts, settings.people_url),
        audit=audit,
        metrics=Metrics(browsers),
        protocol=Protocol(),
    )
    app = web.Application(middlewares=[_answer_errors])
    app[GATEWAY] = gateway
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/metrics", _metrics)
    app.router.add_post("/login", login)
    app.router.add_route("*", "/t/{rest:.*}", dispatch)
    app.cleanup_ctx.append(_run)
    app.on_shutdown.append(_close_sockets)
    return app


async def _run(app: web.Application) -> AsyncIterator[None]:
    gateway = app[GATEWAY]
    gateway.browsers.start()
    gateway.warm_up()
    yield
    if gateway.warming is not None:
        with contextlib.suppress(Exception):
            await gateway.warming
    gateway.audit.close()


async def _close_sockets(app: web.Application) -> None:
    """Let go of the browsers, which ends their clients, then say goodbye to everyone else."""
    gateway = app[GATEWAY]
    for sessions in gateway.over_http.values():
        await sessions.aclose()
    await gateway.browsers.stop()
    closing = [socket.close(code=WSCloseCode.GOING_AWAY, message=b"the gateway is shutting down") for socket in gateway.sockets]
    if closing:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*closing, return_exceptions=True)


@web.middleware
async def _answer_errors(request: web.Request, handler: Next) -> web.StreamResponse:
    began = time.monotonic()
    try:
        response = await handler(request)
    except TelebrowserError as error:
        response = error_response(error)
    except web.HTTPRequestEntityTooLarge:
        response = error_response(TelebrowserError("TOO_LARGE", "The request is too large"))
    except web.HTTPMethodNotAllowed:
        response = error_response(TelebrowserError("METHOD_NOT_ALLOWED", "This path takes GET"))
    except web.HTTPException as error:
        response = error_response(TelebrowserError("NOT_FOUND", "There is nothing at this path")) if error.status == 404 else error_response(_plain(error))
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("a request failed: %s %s", request.method, shown_path(request))
        response = error_response(TelebrowserError("INTERNAL", "The gateway met a fault", "See gateway.log."))
    request.app[GATEWAY].metrics.requests[response.status] += 1
    log.info("%s %s %s %d %.3fs", request.remote, request.method, shown_path(request), response.status, time.monotonic() - began)
    return response


def _plain(error: web.HTTPException) -> TelebrowserError:
    return TelebrowserError("INVALID_ARGS", error.reason or "The request cannot be understood")


async def _healthz(request: web.Request) -> web.StreamResponse:
    gateway = request.app[GATEWAY]
    return web.json_response({"status": "ok", "version": __version__, "supervisor": gateway.browsers.supervisor.connected.is_set()})


async def _metrics(request: web.Request) -> web.StreamResponse:
    if not is_loopback(request):
        raise TelebrowserError("FORBIDDEN", "Metrics are for this machine only")
    gateway = request.app[GATEWAY]
    gateway.origins.check(request, websocket=False)
    return web.Response(body=gateway.metrics.text(), headers={"Content-Type": metrics.CONTENT_TYPE})

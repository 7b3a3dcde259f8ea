"""What stands behind a reverse proxy, and the authentication service that it asks: small real servers that tell what reached them."""

from __future__ import annotations

import asyncio
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable

from aiohttp import WSMsgType, web

USER = {"user": "anna", "groups": "family", "email": "anna@example.net", "name": "Anna"}
COOKIE = {"session": "good"}
LOGIN = "https://login.example.net/?rd=here"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def told(request: web.Request) -> dict[str, object]:
    """What of a request reached us."""
    assert request.transport is not None
    port = request.transport.get_extra_info("sockname")[1]
    return {"port": port, "path": request.raw_path, "headers": {name.lower(): ", ".join(request.headers.getall(name)) for name in request.headers}}


async def echo(request: web.Request) -> web.StreamResponse:
    """Tells a request; over a WebSocket it tells it first and then sends back what it gets."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        return web.json_response(told(request))
    socket = web.WebSocketResponse(max_msg_size=0, protocols=("chat",))
    await socket.prepare(request)
    await socket.send_json(told(request))
    async for message in socket:
        if message.type == WSMsgType.BINARY:
            await socket.send_bytes(message.data)
        elif message.type == WSMsgType.TEXT:
            await socket.send_str(message.data)
    return socket


def guarded(password: str) -> Handler:
    """`echo` behind HTTP basic authentication, as the view has it."""
    wanted = "Basic " + b64encode(f"telebrowser:{password}".encode()).decode()

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != wanted:
            return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
        return await echo(request)

    return handler


async def authelia(request: web.Request) -> web.StreamResponse:
    """Answers as Authelia does: 401 with the login's address to nginx; to the others a redirect where a page is wanted, even for a socket."""
    if request.cookies.get("session") == "good":
        return web.Response(headers={f"Remote-{name.title()}": value for name, value in USER.items()})
    return web.Response(status=401 if request.path.endswith("auth-request") else 302, headers={"Location": LOGIN})


async def authentik(request: web.Request) -> web.StreamResponse:
    """Answers as authentik's outpost does."""
    if not request.path.startswith("/outpost.goauthentik.io/auth/"):
        return web.json_response(told(request))
    if request.cookies.get("session") == "good":
        return web.Response(headers={f"X-authentik-{'username' if name == 'user' else name}": value for name, value in USER.items()})
    if request.path.endswith("/nginx"):
        return web.Response(status=401, headers={"Set-Cookie": "authentik_proxy=new; Path=/"})
    return web.Response(status=302, headers={"Location": LOGIN})


class Backends:
    """The servers, each on a free port of loopback, in a thread of their own: ``ports`` by name."""

    def __init__(self, **handlers: Handler) -> None:
        self.ports: dict[str, int] = {}
        self._handlers = handlers
        self._loop = asyncio.new_event_loop()
        self._runners: dict[str, web.AppRunner] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        for name, handler in handlers.items():
            self._wait(self._start(name, handler))

    def stop(self, name: str) -> None:
        """One server goes away; its port answers nothing any more."""
        self._wait(self._runners.pop(name).cleanup())

    def start(self, name: str) -> None:
        """And comes back on the same port."""
        self._wait(self._start(name, self._handlers[name], self.ports[name]))

    def close(self) -> None:
        """All go away."""
        for name in list(self._runners):
            self.stop(name)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _wait(self, job: Awaitable[None]) -> None:
        asyncio.run_coroutine_threadsafe(_run(job), self._loop).result(20)

    async def _start(self, name: str, handler: Handler, port: int = 0) -> None:
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{rest:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        self.ports[name] = runner.addresses[0][1]
        self._runners[name] = runner


async def _run(job: Awaitable[None]) -> None:
    await job

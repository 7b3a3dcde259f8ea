"""The views below the pages for people, by the credential in the path; of the screencast: its page, its connection, files for a file chooser."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from ...errors import TelebrowserError
from ..files import checked_name
from ..handoff.links import forbidden
from ..state import GATEWAY, Gateway
from ..uploads import given
from ..view import selkies, vnc
from ..view.cast import Cast
from ..view.credentials import Credential
from ..view.desktop import VNC
from ..view.input import BadInput
from ..view.screencast import ScreencastView
from .render import page
from .shared import here

MAX_MESSAGE = 4 << 20
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0
SEND_SECONDS = 20.0
MAX_FILES = 20
CASTS: web.AppKey[dict[str, Cast]] = web.AppKey("casts", dict)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
)


async def show(request: web.Request) -> web.StreamResponse:
    """``GET /view/<token>/``: the page that shows the pictures, for the frame in the handoff's page."""
    credential = _credential(request)
    if _is_selkies(credential):
        return await selkies.show(request, credential, "")
    by_vnc = credential.view == VNC
    response = page("vnc.html" if by_vnc else "view.html", root=here(request.app[GATEWAY], request), acts=credential.role == "controller")
    response.headers["Content-Security-Policy"] = vnc.POLICY if by_vnc else POLICY
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    return response


async def connect(request: web.Request) -> web.StreamResponse:
    """``GET /view/<token>/socket``: of the screencast pictures as binary messages, all else as JSON, both ways; of a display VNC."""
    gateway = request.app[GATEWAY]
    gateway.origins.check(request, websocket=True)
    credential = _credential(request)
    if credential.view == VNC:
        return await vnc.connect(request, credential)
    handoff = credential.handoff
    link = gateway.browsers.get(handoff.project).link
    if link is None:
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser of {handoff.project} does not run")
    socket = web.WebSocketResponse(heartbeat=PING_SECONDS, max_msg_size=MAX_MESSAGE, compress=False, timeout=CLOSE_SECONDS)
    await socket.prepare(request)

    async def send(message: dict[str, Any] | bytes) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await (socket.send_bytes(message) if isinstance(message, bytes) else socket.send_json(message))

    def belongs(target: str) -> bool:
        held = gateway.handoffs.held(handoff.project, target)
        return held is not None and held.id == handoff.id

    cast = Cast(link, handoff.target, belongs, send, may_act=credential.role == "controller")
    token = request.match_info["token"]
    request.app[CASTS][token] = cast
    try:
        await credential.during(cast.run(), _read(socket, cast))
    finally:
        if request.app[CASTS].get(token) is cast:
            del request.app[CASTS][token]
        with contextlib.suppress(ConnectionError, TimeoutError):
            await socket.close(code=WSCloseCode.GOING_AWAY, message=b"withdrawn")
    return socket


async def pass_on(request: web.Request) -> web.StreamResponse:
    """``GET /view/<token>/<path>``: what the page of a desktop's view server loads, and its connection."""
    credential = _credential(request)
    path = request.match_info["path"]
    if credential.view == VNC:
        return await vnc.file(path)
    if not _is_selkies(credential):
        raise TelebrowserError("NOT_FOUND", "There is nothing here")
    if path == selkies.SOCKET and "Upgrade" in request.headers:
        request.app[GATEWAY].origins.check(request, websocket=True)
        return await selkies.connect(request, credential)
    return await selkies.show(request, credential, path)


async def upload(request: web.Request) -> web.StreamResponse:
    """``PUT /view/<token>/files/<name>``: a file for the file chooser that the page opened; ``?last=1`` with the last one."""
    gateway = request.app[GATEWAY]
    gateway.origins.check(request, websocket=False)
    credential = _credential(request)
    cast = request.app[CASTS].get(request.match_info["token"])
    if cast is None or credential.role != "controller":
        raise forbidden()
    uploads = gateway.data.uploads(credential.handoff.project)
    path = await _store(request, uploads, given(credential.handoff.id), checked_name(request.match_info["name"]), gateway)
    cast.chosen.append(path)
    if "last" in request.query or len(cast.chosen) >= MAX_FILES:
        paths, cast.chosen = cast.chosen, []
        await cast.give_files(paths)
    return web.json_response({"name": os.path.basename(path)})


async def _store(request: web.Request, uploads: Path, prefix: str, name: str, gateway: Gateway) -> str:
    """The body as a file in a folder of its own, so that its name stays. Raises `TelebrowserError` TOO_LARGE."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=prefix, dir=uploads))
    limit = gateway.settings.max_file_mb << 20
    size = 0
    descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        async for chunk in request.content.iter_chunked(1 << 18):
            size += len(chunk)
            if size > limit:
                raise TelebrowserError("TOO_LARGE", f"The file is larger than {gateway.settings.max_file_mb} MB")
            await asyncio.to_thread(_write, descriptor, chunk)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)
    return str(folder / name)


def _write(descriptor: int, chunk: bytes) -> None:
    left = memoryview(chunk)
    while left:
        left = left[os.write(descriptor, left) :]


def _is_selkies(credential: Credential) -> bool:
    return credential.view.startswith("selkies")


def _credential(request: web.Request) -> Credential:
    """What the path's credential is for. Raises `TelebrowserError` FORBIDDEN, alike for every reason."""
    view = request.app[GATEWAY].handoffs.view
    credential = view.credentials.find(request.match_info["token"]) if isinstance(view, ScreencastView) else None
    if credential is None:
        raise forbidden()
    return credential


async def _read(socket: web.WebSocketResponse, cast: Cast) -> None:
    async for message in socket:
        if message.type != WSMsgType.TEXT:
            continue
        with contextlib.suppress(BadInput, ValueError, RecursionError):
            told = json.loads(message.data)
            if isinstance(told, dict):
                await cast.take(told)

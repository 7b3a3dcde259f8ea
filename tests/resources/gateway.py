"""A small real gateway for the launcher's tests: tokens, the verbs' paths, and an SDK server per WebSocket.

Run: ``python gateway.py PORT SECRET [--tls CERT KEY]``; prints ``ready PORT`` when it listens. What the verbs get is held in memory.
Its browser is just good enough for the live check: it reads a page and swaps a text when the button is pressed. The environment
variable BROKEN names a tool that misbehaves.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import ssl
import sys
import urllib.request
from typing import Any

import anyio
import mcp.types as types
import pydantic
from aiohttp import WSMsgType, web
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage

from telebrowser import tokens
from telebrowser.doctor.page import AFTER, BEFORE, BUTTON

MESSAGES: pydantic.TypeAdapter[JSONRPCMessage] = pydantic.TypeAdapter(JSONRPCMessage)
LIMIT = 100 << 20


def tool(name: str, **properties: str) -> types.Tool:
    """A tool with required parameters of the given JSON types."""
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return types.Tool(name=name, input_schema=schema)


class Browser:
    """One page and one button."""

    def __init__(self) -> None:
        self.page = ""

    async def call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Do what the tool of this name would do to the page of the live check."""
        broken = os.environ.get("BROKEN") == name
        text = ""
        if name == "browser_navigate":
            if broken:
                await asyncio.sleep(3600)
            with await asyncio.to_thread(urllib.request.urlopen, arguments["url"], None, 10) as answer:
                self.page = answer.read().decode()
        elif name == "browser_snapshot":
            text = f'- heading "doctor" [level=1]\n- button "{BUTTON}" [ref=e7]' if not broken else "- nothing"
        elif name == "browser_click":
            if broken:
                error = types.TextContent(type="text", text="[ELEMENT_NOT_CLICKABLE] covered")
                return types.CallToolResult(content=[error], is_error=True)
            assert arguments == {"ref": "e7"}
            self.page = self.page.replace(BEFORE, AFTER)
        elif name == "browser_get_text":
            text = BEFORE if broken else self.page.partition("<p")[2].partition("</p>")[0]
        elif name == "browser_screenshot":
            image = b"GIF89a" if broken else b"\x89PNG\r\n\x1a\n"
            return types.CallToolResult(content=[types.ImageContent(type="image", data=base64.b64encode(image).decode(), mime_type="image/png")])
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


BROWSER_TOOLS = ("browser_navigate", "browser_snapshot", "browser_click", "browser_get_text", "browser_screenshot")


def engine(session: str) -> Server[Any]:
    """An MCP server with tools that show what the pump does."""
    browser = Browser()

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        own = [tool("echo", text="string"), tool("slow", seconds="number"), tool("big", length="integer")]
        return types.ListToolsResult(tools=[*own, *(tool(name) for name in BROWSER_TOOLS if os.environ.get("BROKEN") != f"no {name}")])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        if params.name.startswith("browser_"):
            return await browser.call(params.name, arguments)
        if params.name == "slow":
            await asyncio.sleep(arguments["seconds"])
        text = {"echo": lambda: arguments["text"], "slow": lambda: "done", "big": lambda: "x" * arguments["length"]}[params.name]()
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"{session}|{ctx.protocol_version}|{text}")])

    return Server("resource", version="0", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_mcp(request: web.Request) -> web.WebSocketResponse:
    """One MCP connection."""
    socket = web.WebSocketResponse(max_msg_size=LIMIT, compress=False)
    await socket.prepare(request)
    to_server, from_client = anyio.create_memory_object_stream[Any](0)
    to_client, from_server = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        async with to_server:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    continue
                try:
                    item = MESSAGES.validate_json(message.data)
                except pydantic.ValidationError as error:
                    await to_server.send(error)
                else:
                    await to_server.send(SessionMessage(item))

    async def write() -> None:
        async with from_server:
            async for item in from_server:
                await socket.send_str(item.message.model_dump_json(by_alias=True, exclude_unset=True))

    server = engine(request.match_info["session"])
    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        await server.run(from_client, to_client, server.create_initialization_options())
        group.cancel_scope.cancel()
    return socket


class Projects:
    """The browsers of the projects, as the verbs see them."""

    def __init__(self) -> None:
        self.states: dict[str, dict[str, Any]] = {}

    def of(self, project: str) -> dict[str, Any]:
        """The status document."""
        return self.states.setdefault(
            project,
            {
                "project": project,
                "state": "stopped",
                "reason": None,
                "pid": None,
                "started_at": None,
                "browser": None,
                "idle_seconds": 0,
                "idle_minutes": 30,
                "hold_until": None,
                "sessions": [],
                "downloads": {"directory": f"/data/projects/{project}/downloads", "files": 1},
                "warnings": [],
                "version": "0",
                "view_url": None,
                "gateway": {"version": "0", "uptime_seconds": 1},
            },
        )


def application(secret: bytes) -> web.Application:
    """The routes."""
    projects = Projects()

    def forbid() -> web.Response:
        return web.json_response({"error": {"code": "FORBIDDEN", "message": "no", "hint": "no"}}, status=403)

    async def status(request: web.Request) -> web.Response:
        project = tokens.verify(request.match_info["token"], [secret])
        return web.json_response(projects.of(project)) if project else forbid()

    async def act(request: web.Request) -> web.Response:
        project = tokens.verify(request.match_info["token"], [secret])
        if not project:
            return forbid()
        state = projects.of(project)
        verb = request.match_info["verb"]
        if verb == "start":
            if project == "broken":
                body = {"error": {"code": "BROWSER_UNAVAILABLE", "message": "no Chromium here", "hint": "See `telebrowser doctor`."}}
                return web.json_response(body, status=503)
            state |= {"state": "up", "pid": 4321, "started_at": "2026-01-02T03:04:05Z", "browser": "Chrome/156"}
        elif verb == "stop":
            state |= {"state": "stopped", "pid": None, "started_at": None}
        elif verb == "hold":
            state["hold_until"] = request.query["minutes"]
        return web.json_response(state)

    async def downloads(request: web.Request) -> web.Response:
        project = tokens.verify(request.match_info["token"], [secret])
        if not project:
            return forbid()
        files = [{"name": "a\x1b[2J.pdf", "size": 12, "modified": "2026-01-02T03:04:05Z"}]
        return web.json_response({"directory": f"/data/projects/{project}/downloads", "files": files})

    async def mcp_endpoint(request: web.Request) -> web.StreamResponse:
        if not tokens.verify(request.match_info["token"], [secret]):
            return forbid()
        return await serve_mcp(request)

    app = web.Application()
    app.router.add_get("/t/{token}/status", status)
    app.router.add_get("/t/{token}/downloads", downloads)
    app.router.add_post("/t/{token}/{verb:start|stop|focus|hold}", act)
    app.router.add_get("/t/{token}/s/{session}/mcp", mcp_endpoint)
    return app


async def main(port: int, secret: bytes, context: ssl.SSLContext | None) -> None:
    """Serve until killed."""
    runner = web.AppRunner(application(secret))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context)
    await site.start()
    address = runner.addresses[0]
    print("ready", address[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    tls = None
    if "--tls" in sys.argv:
        at = sys.argv.index("--tls")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*sys.argv[at + 1 : at + 3])
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]), sys.argv[2].encode(), tls))

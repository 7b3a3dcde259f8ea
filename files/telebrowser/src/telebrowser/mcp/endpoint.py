"""The MCP server of one session, over any stream of JSON-RPC texts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pydantic
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCMessage,
    JSONRPCNotification,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Tool,
    ToolAnnotations,
)

from .. import __version__
from ..config import Settings
from ..page.engine import Engine
from ..page.provider import BrowserProvider
from . import prompts, resources
from .access import Access
from .calls import Calls
from .handoff import HANDOFF, STATUS, Cancelled, HandoffTools
from .text import clean
from .tools import OWN, TOOLS, ToolDefinition

log = logging.getLogger("telebrowser.mcp")

Receive = Callable[[], Awaitable[str | None]]
Send = Callable[[str], Awaitable[None]]

INSTRUCTIONS = (
    "A real Chromium with this project's logins; you see only your own tabs. "
    "Take browser_snapshot, act on its refs, and read each answer: it tells what the action really did. "
    "Prefer browser_snapshot with scope over whole pages, and browser_wait_for over repeated snapshots. "
    f"Where a person is needed (sign-in, captcha, second factor), call browser_handoff. {resources.USAGE} says more."
)
OWN_INSTRUCTIONS = (
    "telebrowser: this is a real Chromium with the project's logins; you see only your own session's tabs. Where a person is needed (sign-in, captcha, "
    "second factor), call browser_handoff; browser_downloads lists what was downloaded; what browser_info gives is secret. "
    f"Respect the limits of sites, and look before you repeat what may have taken effect. {resources.USAGE} says more."
)

_MESSAGE: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(JSONRPCMessage)


class Endpoint:
    """The tools of one session. Several connections may be served after one another, or at once: the tabs stay."""

    def __init__(self, provider: BrowserProvider, settings: Settings, *, evaluate: bool, allow_private: bool) -> None:
        self.engine = Engine(provider, settings, allow_private=allow_private)
        self._calls = Calls(self.engine, evaluate_on=evaluate)
        self._handoffs = HandoffTools(self.engine)
        self._tools = [wire_tool(tool) for tool in TOOLS if evaluate or tool.name != "browser_evaluate"]

    def server(self, *, own: bool = False, access: Access | None = None, cancelled: Cancelled | None = None) -> Server[Any]:
        """A server of the SDK for one connection, or for several.

        ``own``: without the tools that drive pages, for clients that have another server's. ``access``: how the client reaches the session.
        ``cancelled``: what the client calls off, for calls that have to know why they ended.
        """
        called_off = cancelled or Cancelled()
        tools = [tool for tool in self._tools if not own or tool.name in OWN]

        async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
            return ListToolsResult(tools=tools)

        async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
            if params.name in (HANDOFF, STATUS):
                return await self._handoffs.call(ctx, params, called_off, own=own)
            return await self._calls.run(params.name, params.arguments, access)

        return Server(
            "telebrowser",
            version=__version__,
            title="telebrowser",
            instructions=OWN_INSTRUCTIONS if own else INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=_list_resources,
            on_list_resource_templates=_list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=_list_prompts,
            on_get_prompt=_get_prompt,
            on_completion=self._complete,
        )

    async def _read_resource(self, _ctx: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        return resources.read(params.uri, self.engine.provider)

    async def _complete(self, _ctx: Any, params: CompleteRequestParams) -> CompleteResult:
        return prompts.complete(params, [tab.name for tab in self.engine.tabs.values()])

    async def run(self, receive: Receive, send: Send, *, own: bool = False, access: Access | None = None) -> None:
        """Serve one connection until ``receive`` gives None; ``own`` and ``access`` as for `server`."""
        into_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        cancelled = Cancelled()
        server = self.server(own=own, access=access, cancelled=cancelled)
        async with anyio.create_task_group() as group:

            async def read() -> None:
                async with into_server:
                    while (text := await receive()) is not None:
                        message = parse(text)
                        if isinstance(message, str):
                            await send(message)
                        else:
                            _note_cancelled(message, cancelled)
                            with contextlib.suppress(anyio.BrokenResourceError):
                                await into_server.send(message)

            async def write() -> None:
                async with from_server:
                    async for message in from_server:
                        await send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

            group.start_soon(read)
            group.start_soon(write)
            await server.run(from_client, to_client, server.create_initialization_options())
            group.cancel_scope.cancel()

    @property
    def busy(self) -> bool:
        """Whether a tool call is under way."""
        return self._calls.running > 0

    def disconnect(self) -> None:
        """Let go of the browser, which is about to be stopped; the next call connects again."""
        self.engine.drop()

    async def aclose(self) -> None:
        """End the session's engine."""
        with contextlib.suppress(asyncio.CancelledError):
            await self.engine.aclose()


def _note_cancelled(message: SessionMessage, cancelled: Cancelled) -> None:
    """Remember that, and why, the client calls a request off, before the SDK ends it without saying so."""
    notification = message.message
    if isinstance(notification, JSONRPCNotification) and notification.method == "notifications/cancelled" and notification.params:
        cancelled.note(notification.params.get("requestId"), str(notification.params.get("reason") or ""))


def parse(text: str) -> SessionMessage | str:
    """The message, or the JSON-RPC error to send back for what is none."""
    try:
        return SessionMessage(_MESSAGE.validate_json(text))
    except pydantic.ValidationError:
        pass
    number: Any = None
    try:
        body = json.loads(text)
        number = body.get("id") if isinstance(body, dict) else None
        # JSON may hold lone surrogates, which the validator's own parser refuses.
        return SessionMessage(_MESSAGE.validate_json(clean(json.dumps(body, ensure_ascii=False))))
    except pydantic.ValidationError:
        code, message = -32600, "This is not a JSON-RPC 2.0 message"
    except (ValueError, RecursionError):
        code, message = -32700, "This line is not JSON"
    if not isinstance(number, int | str) or isinstance(number, bool):
        number = None
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})


async def _list_resources(_ctx: Any, _params: Any) -> ListResourcesResult:
    return ListResourcesResult(resources=resources.RESOURCES)


async def _list_templates(_ctx: Any, _params: Any) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)


async def _list_prompts(_ctx: Any, _params: Any) -> ListPromptsResult:
    return ListPromptsResult(prompts=prompts.PROMPTS)


async def _get_prompt(_ctx: Any, params: GetPromptRequestParams) -> GetPromptResult:
    return prompts.get(params.name, params.arguments)


def wire_tool(tool: ToolDefinition) -> Tool:
    """A definition as the protocol carries it."""
    annotations = ToolAnnotations(
        read_only_hint=tool.read_only, destructive_hint=tool.destructive, idempotent_hint=tool.idempotent, open_world_hint=tool.open_world
    )
    return Tool(name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema(), output_schema=tool.output, annotations=annotations)

"""The server that the conformance suite wants to see, behind the gateway's own HTTP sessions: what passes here, our transport carries.

Run: ``python everything.py``; prints ``ready PORT``. It serves ``/mcp`` with the tools, resources and prompts that the scenarios name.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import warnings
from collections.abc import AsyncIterator
from typing import Any, cast

import mcp.types as types
from aiohttp import web
from mcp.server import Server

from telebrowser.config import load
from telebrowser.errors import TelebrowserError
from telebrowser.gateway.engines import Engines
from telebrowser.gateway.http_sessions import HttpSessions
from telebrowser.gateway.origin import Origins
from telebrowser.gateway.routes import error_response
from telebrowser.mcp.access import Access

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri: str, mime: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}}


FIXED: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]}},
}
PERSON = {"username": {"type": "string"}, "email": {"type": "string"}}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
ASKING = {"test_elicitation": PERSON, "test_elicitation_sep1034_defaults": DEFAULTS, "test_elicitation_sep1330_enums": ENUMS}
OTHERS = ("test_tool_with_logging", "test_tool_with_progress", "test_error_handling", "test_sampling")
PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


def tool(name: str, schema: dict[str, Any] | None = None) -> types.Tool:
    return types.Tool(name=name, description=name, input_schema=schema or {"type": "object"})


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[*(tool(name) for name in (*FIXED, *OTHERS, *ASKING)), tool("json_schema_2020_12_tool", SCHEMA_2020)])


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name in FIXED:
        return types.CallToolResult.model_validate({"content": FIXED[params.name]})
    if params.name == "test_error_handling":
        return said("This tool intentionally returns an error for testing", error=True)
    if params.name == "test_tool_with_logging":
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)
    if params.name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await ctx.session.report_progress(progress, 100)
    if params.name == "test_sampling":
        asked = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=arguments["prompt"]))
        answer = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
        return said(f"LLM response: {answer.content.text}")
    if params.name in ASKING:
        schema = {"type": "object", "properties": ASKING[params.name], "required": list(PERSON) if ASKING[params.name] is PERSON else []}
        reply = await ctx.session.elicit_form(arguments.get("message", "?"), schema, related_request_id=ctx.request_id)
        return said(f"Elicitation completed: action={reply.action}, content={json.dumps(reply.content)}")
    return said("done")


def said(text: str, *, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)


async def list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri=f"test://{name}", name=name, description=name) for name in ("static-text", "static-binary")])


async def list_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")])


async def read_resource(_ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    content: dict[str, Any] = {"uri": params.uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}
    if params.uri == "test://static-binary":
        content = {"uri": params.uri, "mimeType": "image/png", "blob": PNG}
    if params.uri.startswith("test://template/"):
        number = params.uri.split("/")[3]
        content |= {"mimeType": "application/json", "text": json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})}
    return types.ReadResourceResult.model_validate({"contents": [content]})


async def list_prompts(_ctx: Any, _params: Any) -> types.ListPromptsResult:
    taken = {name: [types.PromptArgument(name=one, required=True) for one in names] for name, names in PROMPTS.items()}
    rows = [types.Prompt(name=name, description=name, arguments=arguments) for name, arguments in taken.items()]
    return types.ListPromptsResult(prompts=rows)


async def get_prompt(_ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    contents: list[dict[str, Any]] = [{"type": "text", "text": "This is a simple prompt for testing."}]
    if params.name == "test_prompt_with_arguments":
        contents = [{"type": "text", "text": f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"}]
    if params.name == "test_prompt_with_embedded_resource":
        resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
        contents = [resource, {"type": "text", "text": "Please process the embedded resource above."}]
    if params.name == "test_prompt_with_image":
        contents = [IMAGE, {"type": "text", "text": "Please analyze the image above."}]
    return types.GetPromptResult.model_validate({"messages": [{"role": "user", "content": content} for content in contents]})


async def complete(_ctx: Any, _params: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2, has_more=False))


async def nothing(_ctx: Any, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


class Endpoint:
    """What `Engines.use` gives."""

    @staticmethod
    def server(**_options: Any) -> Server[Any]:
        """The server of one session."""
        return Server(
            "everything",
            version="0",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=nothing,
            on_unsubscribe_resource=nothing,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=nothing,
        )


class EverythingEngines:
    """In the place of `Engines`."""

    @contextlib.asynccontextmanager
    async def use(self, _session: str) -> AsyncIterator[Endpoint]:
        """The endpoint."""
        yield Endpoint()


async def main() -> None:
    """Serve until killed."""
    sessions = HttpSessions(cast(Engines, EverythingEngines()), load("gateway", environ={}))
    origins = Origins(())

    async def serve(request: web.Request) -> web.StreamResponse:
        try:
            origins.check(request, websocket=True)
            return await sessions.handle(request, None, lambda _name: Access("", ""))
        except TelebrowserError as error:
            return error_response(error)

    app = web.Application()
    app.router.add_route("*", "/mcp", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print("ready", runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # sampling and logging are deprecated in the newest protocol
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())

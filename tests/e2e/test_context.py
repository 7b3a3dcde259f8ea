"""What stands beside the tools, on a real stack: context that starts nothing, sessions over HTTP, and calls that are called off."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.resources import fake_upstream
from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, SECRET, Stack, request, token

ENDLESS = {"name": "browser_evaluate", "arguments": {"expression": "new Promise(() => {})", "timeout_ms": 100_000}}
ACCEPT = "application/json, text/event-stream"
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}'


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_context_starts_no_browser(stack: Stack, home: Path, mode: Any) -> None:
    project = f"context{mode[:4]}"
    server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--project", project, "--session", "mine"], env=stack.env(), cwd=home)
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        for uri in ("telebrowser://usage", "telebrowser://status", "telebrowser://downloads", "telebrowser://downloads?limit=7"):
            (content,) = (await client.read_resource(uri)).contents
            assert token(project).partition(".")[2] not in content.text  # type: ignore[union-attr]
        await client.get_prompt("browser-handoff-review", {"task": "sign in"})
        downloads = await client.call_tool("browser_downloads", {})
        info = await client.call_tool("browser_info", {})
        assert downloads.structured_content and downloads.structured_content["total"] == 0
        assert info.structured_content and info.structured_content["state"] == "stopped"
        assert stack.status(project)["state"] == "stopped" and not (stack.data / "run" / "want" / project).exists()
        await client.call_tool("browser_tabs", {})
        (status,) = (await client.read_resource("telebrowser://status")).contents
        told = json.loads(status.text)  # type: ignore[union-attr]
        assert (told["project"], told["session"], told["state"], told["tabs"], told["other_sessions"]) == (project, "mine", "up", 1, 0)


async def test_sessions_over_http_have_tabs_of_their_own(stack: Stack, pages: Pages) -> None:
    url = stack.path("mcp", "webbed")
    one, two = pages.add("one.html", "<title>one</title>"), pages.add("two.html", "<title>two</title>")
    async with Client(url, mode="legacy") as first, Client(url, mode="legacy") as second, Client(stack.path("s/third/mcp", "webbed")) as third:
        await first.call_tool("browser_navigate", {"url": one})
        await second.call_tool("browser_navigate", {"url": two})
        for client, title in ((first, "one"), (second, "two"), (third, "")):
            listed = json.loads((await client.call_tool("browser_tabs", {})).content[0].text)  # type: ignore[union-attr]
            assert [tab["title"] for tab in listed["tabs"]] == [title] or (title == "" and [tab["url"] for tab in listed["tabs"]] == ["about:blank"])
        assert len(stack.status("webbed")["sessions"]) == 3


async def free(client: Any) -> None:
    """The tab takes the next call at once."""
    async with asyncio.timeout(8):
        answer = await client("browser_evaluate", expression="1 + 1")
    assert json.loads(answer)["result"] == 2


@pytest.mark.parametrize("modern", [False, True])
async def test_a_cancelled_call_stops(stack: Stack, home: Path, modern: bool) -> None:
    """Over the launcher. The call holds its tab: were it not stopped, the next one would wait for a hundred seconds."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}} if modern else {}
    client = await McpClient.spawn("mcp", "--project", "cancels", env=stack.env(), cwd=home)
    try:
        if not modern:
            await client.handshake()

        async def call(tool: str, **arguments: Any) -> str:
            answer = await client.request("tools/call", {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})})
            return str(answer["result"]["content"][0]["text"])

        await free(call)
        await client.send({"jsonrpc": "2.0", "id": "endless", "method": "tools/call", "params": {**ENDLESS, **({"_meta": meta} if meta else {})}})
        await client.request("tools/list", {"_meta": meta} if meta else {})  # the endless one has been sent before this
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "endless"}})
        await free(call)
    finally:
        await client.close()


async def test_a_call_over_http_stops_with_its_notification_and_a_later_one_with_its_connection(stack: Stack) -> None:
    url = stack.path("s/stopping/mcp", "cancels")
    async with Client(url, mode="legacy") as client:

        async def call(tool: str, **arguments: Any) -> str:
            return str((await client.call_tool(tool, arguments)).content[0].text)  # type: ignore[union-attr]

        await free(call)
        endless = asyncio.create_task(client.call_tool("browser_evaluate", ENDLESS["arguments"]))  # type: ignore[arg-type]
        await client.list_tools()
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)
        await free(call)
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**ENDLESS, "_meta": meta}}).encode()
        head = [
            f"POST /t/{token('cancels')}/s/stopping/mcp HTTP/1.1",
            f"Host: 127.0.0.1:{stack.port}",
            f"Accept: {ACCEPT}",
            "Content-Type: application/json",
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: browser_evaluate",
            f"Content-Length: {len(body)}",
        ]
        with socket.create_connection(("127.0.0.1", stack.port), 60) as wire:
            wire.sendall("\r\n".join([*head, "", ""]).encode() + body)
            wire.settimeout(3)
            with pytest.raises(TimeoutError):
                raise AssertionError(wire.recv(65536))
        await free(call)


def test_a_browser_page_cannot_read_the_context(stack: Stack) -> None:
    reply = request(stack.path("mcp", "webbed"), "GET", None, Accept="text/event-stream", Origin="http://evil.example")
    assert reply.status == 403


async def test_no_secret_in_context_over_http_or_beside_another_server(new_stack: Callable[..., Stack], home: Path) -> None:
    """At the most talkative level, in everything that is written or said; only browser_info may tell."""
    stack, project = new_stack(LOG_LEVEL="debug").start(), "hushed"
    bearer = token(project).partition(".")[2]
    said: list[str] = []
    ids: list[str] = []

    async def look(client: Client) -> None:
        for uri in ("telebrowser://usage", "telebrowser://status", "telebrowser://downloads"):
            said.append(str(await client.read_resource(uri)))
        said.extend([str(await client.list_tools()), str(await client.get_prompt("browser-handoff-review", {"task": "x"})), str(client.instructions)])
        said.append(str(await client.call_tool("browser_tabs", {})))
        said.append(str(await client.call_tool("browser_click", {"selector": "#missing", "timeout_ms": 200})))
        for wrong in ("telebrowser://nothing", "telebrowser://downloads?limit=0"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(wrong)
            said.append(str(caught.value.error))
        info = await client.call_tool("browser_info", {})
        assert bearer in str(info.structured_content), "the one that tells"

    for mode in ("legacy", "2026-07-28"):
        async with Client(stack.path("mcp", project), mode=mode) as client:  # type: ignore[arg-type]
            await look(client)
    command = ["mcp", "--project", project, "--tools", "both", "--upstream", "--", sys.executable, fake_upstream.__file__, "{ws}", "{http}"]
    server = StdioServerParameters(command=LAUNCHER, args=command, env=stack.env(LOG_LEVEL="debug"), cwd=home)
    with contextlib.closing(await asyncio.to_thread(open, home / "stderr", "w")) as errors:
        async with Client(stdio_client(server, errlog=errors), mode="legacy") as client:
            await look(client)
            rows = proc.mentioning(str(stack.root), str(home))
            assert any("fake_upstream" in row.cmdline for row in rows)
            for row in rows:
                assert bearer not in row.cmdline + proc.read_text(f"/proc/{row.pid}/environ"), row
            with pytest.raises(MCPError):
                await client.call_tool("crash", {})
    said.append((home / "stderr").read_text())
    opened = request(stack.path("mcp", project), "POST", HELLO, 60, Accept=ACCEPT, Content_Type="application/json")
    ids.append(opened.headers["mcp-session-id"])
    said.append(request(stack.path("mcp", project), "POST", b"{", 60, Accept=ACCEPT, Content_Type="application/json", Mcp_Session_Id="x" * 32).body.decode())
    stack.stop()
    files = [path for path in [*stack.root.glob("*.out"), *(stack.data / "run").rglob("*"), *(stack.data / "audit").rglob("*")] if path.is_file()]
    assert any("session over HTTP is over" in path.read_text(errors="replace") for path in files)
    for text in [*said, *(path.read_text(errors="replace") for path in files)]:
        for secret in (SECRET, bearer, *ids):
            assert secret not in text, text[max(0, text.find(secret) - 300) :][:400]

"""Files without a gateway on the way: standalone mode with a browser of its own; and without a launcher: MCP over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import standalone_env
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack

INPUT = """<title>input</title><input id=f type=file onchange="files[0].text().then(t => o.value = t)"><output id=o></output>
<a href=/given.bin>Fetch</a>"""


@pytest.fixture
def page(pages: Pages) -> str:
    """A page that shows the text it was given, and gives a file."""
    pages.add("given.bin", b"given" * 1000, "application/octet-stream")
    return pages.add("alone.html", INPUT)


@pytest.fixture
async def alone(home: Path) -> AsyncIterator[McpClient]:
    """A standalone server in a working directory that is one of two roots of its client."""
    (home / "work").mkdir()
    (home / "other").mkdir()
    client = await McpClient.spawn("mcp", "--standalone", env=standalone_env(home, OUTPUT_DIR=str(home / "shots")), cwd=home / "work")
    client.offers["roots/list"] = {"roots": [{"uri": f"file://{home}/other"}]}
    await client.handshake(roots={})
    yield client
    await client.close()


async def test_files_stay_where_they_are(alone: McpClient, page: str, home: Path) -> None:
    (home / "work" / "a.txt").write_text("from work")
    (home / "other" / "b.txt").write_text("from the other root")
    (home / "c.txt").write_text("from neither")
    await alone.ok("browser_navigate", url=page)
    for path, text in (("a.txt", "from work"), (str(home / "other" / "b.txt"), "from the other root")):
        await alone.ok("browser_upload", selector="#f", paths=[path])
        await alone.ok("browser_wait_for", text=text)
    for path in (str(home / "c.txt"), "../c.txt", f"local:{home}/c.txt", "agent:c.txt", "upload:../../c.txt"):
        refused = await alone.call("browser_upload", selector="#f", paths=[path])
        assert refused.code in ("UNSAFE_PATH", "NOT_FOUND"), refused
    assert os.stat(home / "work" / "a.txt").st_nlink == 1 and not list((home / "shots").rglob("a.txt"))


async def test_a_call_in_disguise_is_seen_through(alone: McpClient, page: str, home: Path) -> None:
    """Escapes in the line must not carry a reference past the check."""
    (home / "c.txt").write_text("from neither")
    await alone.ok("browser_navigate", url=page)
    line = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "NAME", "arguments": {"selector": "#f", "paths": ["LOCAL"]}}})
    line = line.replace("NAME", "browser_\\u0075pload").replace("LOCAL", f"\\u006cocal:{home}/c.txt")
    alone._waiting["x"] = future = asyncio.get_running_loop().create_future()
    await alone.send_raw(line.encode() + b"\n")
    answer = await future
    assert answer["result"]["isError"] and answer["result"]["content"][0]["text"].startswith("[NOT_FOUND]"), answer


async def test_what_comes_out(alone: McpClient, page: str, home: Path) -> None:
    await alone.ok("browser_navigate", url=page)
    await alone.ok("browser_screenshot", path="page.png")
    await alone.ok("browser_save", path=str(home / "other" / "page.pdf"))
    assert (home / "work" / "page.png").read_bytes().startswith(b"\x89PNG") and (home / "other" / "page.pdf").read_bytes().startswith(b"%PDF")
    clicked = await alone.ok("browser_click", selector="a")
    name = Path(clicked.data["downloads"][0]["path"]).name
    answer = await alone.ok("browser_downloads", name=name, path="got.bin")
    assert (home / "work" / "got.bin").read_bytes() == b"given" * 1000 and answer.data["path"] == "got.bin"
    refused = await alone.call("browser_screenshot", path="page.png")
    assert refused.code == "UNSAFE_PATH"
    assert sorted(os.listdir(home / "work")) == ["got.bin", "page.png"] and not list((home / "shots").rglob(".outbox/*"))


async def test_a_client_without_a_launcher(stack: Stack, page: str) -> None:
    """Over HTTP a file is sent by a request of the client's own; a path is refused with what to do."""
    project = "alone"
    stack.http("PUT", "uploads/sent.txt", project, b"sent over HTTP")

    def rpc(method: str, **params: Any) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **session}
        reply = stack.http("POST", "mcp", project, body, **accept)
        session.update({"Mcp-Session-Id": reply.headers["mcp-session-id"]} if "mcp-session-id" in reply.headers else {})
        text = reply.body.decode()
        found = next((line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()), text)
        message: dict[str, Any] = json.loads(found)
        return message

    session: dict[str, str] = {}
    rpc("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
    stack.http(
        "POST",
        "mcp",
        project,
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        **{**session, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
    )

    def call(tool: str, **arguments: Any) -> str:
        return str(rpc("tools/call", name=tool, arguments=arguments)["result"]["content"][0]["text"])

    call("browser_navigate", url=page)
    assert json.loads(call("browser_upload", selector="#f", paths=["upload:sent.txt"]))["uploaded"] == [{"name": "sent.txt", "size": 14}]
    assert "sent over HTTP" in call("browser_wait_for", text="sent over HTTP")
    for path in ("sent.txt", "/etc/passwd", "local:/etc/passwd", "upload:../profile/Local State", "download:../uploads/sent.txt"):
        assert call("browser_upload", selector="#f", paths=[path]).startswith(("[UNSAFE_PATH]", "[NOT_FOUND]"))
    for tool in ("browser_screenshot", "browser_save"):
        told = call(tool, path="/tmp/x.png")
        assert told.startswith("[UNSAFE_PATH]") and "telebrowser mcp" in told

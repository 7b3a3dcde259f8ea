"""The official client, in both protocol eras, completes the whole loop of an agent."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.conftest import standalone_env
from tests.support import proc
from tests.support.mcp_client import REF
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, Stack

PAGE = """<!doctype html><meta charset=utf-8><title>loop</title><input aria-label=Name id=who>
<button onclick="setTimeout(()=>{out.textContent='Hello '+who.value;console.log('said hello')},300)">Greet</button><p id=out></p>
<div style='height:4000px'></div><p>bottom</p>"""


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """One tool call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.content)
    return result


def text(result: Any) -> str:
    """All text of a result."""
    return "\n".join(part.text for part in result.content if part.type == "text")


def ref_of(snapshot: str, name: str) -> str:
    """The ref of the line that quotes a name."""
    line = next(line for line in snapshot.split("\n") if f'"{name}"' in line)
    found = REF.search(line)
    assert found, line
    return found.group(1)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("where", ["gateway", "standalone"])
async def test_whole_loop(mode: str, where: str, request: pytest.FixtureRequest, pages: Pages, home: Path, picture: Callable[..., Any]) -> None:
    url = pages.add("loop.html", PAGE)
    if where == "gateway":
        stack: Stack = request.getfixturevalue("stack")
        server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--project", "eras"], env=stack.env(), cwd=home)
    else:
        server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--standalone"], env=standalone_env(home), cwd=home)
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        assert client.protocol_version == (mode if mode != "legacy" else client.protocol_version)
        assert mode != "legacy" or (client.server_info and client.server_info.name == "telebrowser")
        listed = await client.list_tools()
        names = {tool.name for tool in listed.tools}
        assert {"browser_navigate", "browser_snapshot", "browser_click", "browser_type", "browser_wait_for", "browser_get_text"} <= names
        assert {"browser_screenshot", "browser_get_console", "browser_scroll", "browser_tabs"} <= names
        assert ("browser_evaluate" in names) == (where == "gateway")
        assert len(names) <= 28
        assert len(json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools])) <= 16 * 1024
        assert json.loads(text(await call(client, "browser_navigate", url=url)))["title"] == "loop"
        snapshot = text(await call(client, "browser_snapshot"))
        await call(client, "browser_click", ref=ref_of(snapshot, "Name"))
        await call(client, "browser_type", ref=ref_of(snapshot, "Name"), text="Åsa 🌍")
        await call(client, "browser_click", ref=ref_of(snapshot, "Greet"))
        await call(client, "browser_wait_for", text="Hello Åsa 🌍")
        assert "Hello Åsa 🌍" in json.loads(text(await call(client, "browser_get_text", selector="#out")))["text"]
        shot = await call(client, "browser_screenshot")
        image = next(part for part in shot.content if part.type == "image")
        assert (await picture(base64.b64decode(image.data))).colours > 1
        assert "said hello" in text(await call(client, "browser_get_console"))
        assert json.loads(text(await call(client, "browser_scroll", direction="bottom")))["scrollY"] > 3000
        refused = await client.call_tool("browser_click", {"selector": "#missing", "timeout_ms": 300})
        assert refused.is_error and text(refused).startswith("[ELEMENT_NOT_FOUND] ")
    proc.gone(str(home), seconds=20)

"""Resources, prompts, completion and the two structured tools, through the SDK's own client in both eras."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from telebrowser.cdp.transport import Transport
from telebrowser.config import load
from telebrowser.mcp.access import Access
from telebrowser.mcp.endpoint import Endpoint
from telebrowser.mcp.tools import OWN, TOOLS

ACCESS = Access("http://gate/t/shop.secret/s/mine", "ws://gate/t/shop.secret/s/mine/devtools/browser")
ERAS = ["legacy", "auto"]


class Provider:
    """A session whose browser must not be started."""

    project, session = "shop", "mine"

    def __init__(self, folder: Path) -> None:
        self.output_dir = self.downloads_dir = self.uploads_dir = folder

    async def connect(self) -> Transport:
        raise AssertionError("reading context started a browser")

    def activity(self) -> None:
        pass

    def status(self) -> dict[str, Any]:
        return {"project": "shop", "session": "mine", "state": "stopped"}

    async def aclose(self) -> None:
        pass


@pytest.fixture
async def endpoint(tmp_path: Path) -> AsyncIterator[Endpoint]:
    """An endpoint with three downloads: 0.txt is the oldest."""
    for number in range(3):
        path = tmp_path / f"{number}.txt"
        path.write_text("x" * number)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    (tmp_path / ".hidden").touch()
    made = Endpoint(Provider(tmp_path), load("gateway", environ={}), evaluate=True, allow_private=True)
    yield made
    await made.aclose()


def client(endpoint: Endpoint, mode: Any, **options: Any) -> Client:
    return Client(endpoint.server(access=ACCESS, **options), mode=mode)


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    return content.text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ERAS)
async def test_resources(endpoint: Endpoint, mode: str) -> None:
    async with client(endpoint, mode) as agent:
        listed = (await agent.list_resources()).resources
        assert [resource.uri for resource in listed] == ["telebrowser://usage", "telebrowser://status", "telebrowser://downloads"]
        assert [row.uri_template for row in (await agent.list_resource_templates()).resource_templates] == ["telebrowser://downloads{?limit}"]
        assert "browser_handoff" in await read(agent, "telebrowser://usage")
        assert json.loads(await read(agent, "telebrowser://status")) == {"project": "shop", "session": "mine", "state": "stopped"}
        downloads = json.loads(await read(agent, "telebrowser://downloads"))
        assert [row["name"] for row in downloads["files"]] == ["2.txt", "1.txt", "0.txt"]
        assert (downloads["total"], downloads["truncated"]) == (3, False)
        assert downloads["files"][0] == {"name": "2.txt", "size": 2, "modified": "2001-09-09T01:46:42+00:00"}
        fewer = json.loads(await read(agent, "telebrowser://downloads?limit=2"))
        assert [row["name"] for row in fewer["files"]] == ["2.txt", "1.txt"] and fewer["truncated"]


@pytest.mark.parametrize("uri", ["telebrowser://nothing", "telebrowser://downloads/2.txt", "file:///etc/passwd", "telebrowser://status?x=../../secret/y"])
async def test_other_addresses_are_no_resources(endpoint: Endpoint, uri: str) -> None:
    async with client(endpoint, "legacy") as agent:
        with pytest.raises(MCPError, match="telebrowser://usage") as caught:
            await read(agent, uri)
        assert (caught.value.error.code, caught.value.error.data) == (-32602, {"uri": uri})


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "", "1e3", "²", "99999999999999999999"])
async def test_a_limit_out_of_range_is_named(endpoint: Endpoint, limit: str) -> None:
    async with client(endpoint, "legacy") as agent:
        with pytest.raises(MCPError, match="limit must be a whole number from 1 to 200"):
            await read(agent, f"telebrowser://downloads?limit={limit}")


@pytest.mark.parametrize("mode", ERAS)
async def test_the_prompt_plans(endpoint: Endpoint, mode: str) -> None:
    async with client(endpoint, mode) as agent:
        (prompt,) = (await agent.list_prompts()).prompts
        assert prompt.name == "browser-handoff-review" and [one.name for one in prompt.arguments or []] == ["task", "step", "tab"]
        (message,) = (await agent.get_prompt(prompt.name, {"task": "buy {0} tea", "step": "sign-in"})).messages
        assert message.content.type == "text"
        assert "buy {0} tea" in message.content.text and "sign-in" in message.content.text and "Call no tools" in message.content.text
        for arguments, said in (
            ({}, "needs task"),
            ({"task": " "}, "needs task"),
            ({"task": "x", "site": "y"}, "no argument site"),
            ({"task": "x" * 2001}, "2001"),
        ):
            with pytest.raises(MCPError, match=said):
                await agent.get_prompt(prompt.name, arguments)
        with pytest.raises(MCPError, match="no prompt"):
            await agent.get_prompt("other", {})


@pytest.mark.parametrize("mode", ERAS)
async def test_completion(endpoint: Endpoint, mode: str) -> None:
    prompt = PromptReference(type="ref/prompt", name="browser-handoff-review")
    template = ResourceTemplateReference(type="ref/resource", uri="telebrowser://downloads{?limit}")
    async with client(endpoint, mode) as agent:
        assert agent.server_capabilities.completions is not None
        for ref, name, begun, values in (
            (prompt, "step", "S", ["second factor", "sign-in"]),
            (prompt, "step", "zz", []),
            (prompt, "task", "b", []),
            (prompt, "tab", "", []),
            (template, "limit", "1", ["10", "100"]),
        ):
            assert (await agent.complete(ref, {"name": name, "value": begun})).completion.values == values
        with pytest.raises(MCPError, match="no prompt"):
            await agent.complete(PromptReference(type="ref/prompt", name="x"), {"name": "step", "value": ""})


@pytest.mark.parametrize("mode", ERAS)
async def test_structured_tools_start_no_browser(endpoint: Endpoint, mode: str) -> None:
    schemas = {tool.name: tool.output for tool in TOOLS}
    async with client(endpoint, mode) as agent:
        downloads = await agent.call_tool("browser_downloads", {"limit": 1})
        jsonschema.validate(downloads.structured_content, schemas["browser_downloads"])
        assert downloads.structured_content and downloads.structured_content["files"][0]["name"] == "2.txt" and downloads.structured_content["truncated"]
        assert json.loads(downloads.content[0].text) == downloads.structured_content  # type: ignore[union-attr]
        info = await agent.call_tool("browser_info", {})
        jsonschema.validate(info.structured_content, schemas["browser_info"])
        assert info.structured_content and info.structured_content["cdp"] == {"ws": ACCESS.ws, "http": ACCESS.http}
        refused = await agent.call_tool("browser_downloads", {"limit": 500})
        assert refused.is_error and "limit" in refused.content[0].text  # type: ignore[union-attr]


async def test_without_a_gateway_there_are_no_endpoints(endpoint: Endpoint) -> None:
    async with Client(endpoint.server(), mode="legacy") as agent:
        info = (await agent.call_tool("browser_info", {})).structured_content
        assert info and info["cdp"] == {} and "no endpoints" in info["note"]


@pytest.mark.parametrize("own", [False, True])
async def test_beside_another_server_only_our_own_tools_are_listed(endpoint: Endpoint, own: bool) -> None:
    async with client(endpoint, "legacy", own=own) as agent:
        names = {tool.name for tool in (await agent.list_tools()).tools}
        assert names == ({tool.name for tool in TOOLS} & OWN if own else {tool.name for tool in TOOLS})
        assert {"browser_downloads", "browser_info"} <= names
        assert agent.instructions and ("browser_snapshot" in agent.instructions) != own


async def test_only_browser_info_tells_the_endpoints(endpoint: Endpoint) -> None:
    async with client(endpoint, "legacy") as agent:
        said = [str(await agent.list_tools()), str(await agent.list_resources()), str(agent.instructions)]
        said += [await read(agent, uri) for uri in ("telebrowser://usage", "telebrowser://status", "telebrowser://downloads")]
        said.append(str(await agent.call_tool("browser_downloads", {})))
    assert not any("shop.secret" in text for text in said)

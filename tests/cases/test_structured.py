"""Tools with an output schema: the answer's data is structured, is what the text says, and fits the schema that was listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import standalone_env
from tests.support.agent import Agent
from tests.support.mcp_client import Answer, McpClient
from tests.support.pages import Pages

TABS = {"tab", "url", "title", "current"}
PAGE = """<title>said</title><script>console.log('plain', 1); console.error('lone \\ud800'); console.warn({a: 1}); throw new Error('thrown')</script>
<button id=later onclick="setTimeout(() => alert('later'), 200); setTimeout(() => document.title = 'after', 300)">later</button>"""


def checked(client: McpClient, tool: str, answer: Answer) -> Any:
    """The structured content of an answer, which fits the schema and equals the text."""
    content = answer.message["result"]["structuredContent"]
    jsonschema.validate(content, client.tools[tool]["outputSchema"])
    assert content == answer.data
    return content


async def test_tabs(agent: Agent) -> None:
    await agent.open("clock")
    client = agent.client
    (only,) = checked(client, "browser_tabs", await client.ok("browser_tabs"))["tabs"]
    assert set(only) == TABS and only["current"] is True and agent.mark in only["url"]
    opened = checked(client, "browser_tabs", await client.ok("browser_tabs", action="new", url=agent.url("who")))
    assert opened["opened"] == opened["tabs"][1]["tab"] and opened["page"]["url"] == agent.url("who")
    selected = checked(client, "browser_tabs", await client.ok("browser_tabs", action="select", tab=only["tab"]))
    assert [row["current"] for row in selected["tabs"]] == [True, False]
    closed = checked(client, "browser_tabs", await client.ok("browser_tabs", action="close", tab=opened["opened"]))
    assert closed["closed"] == opened["opened"] and [row["tab"] for row in closed["tabs"]] == [only["tab"]]
    refused = await client.call("browser_tabs", action="select", tab="t99")
    assert refused.code == "TAB_CLOSED" and "structuredContent" not in refused.message["result"]


async def test_console(agent: Agent) -> None:
    client = agent.client
    await client.ok("browser_navigate", url=agent.pages.add("said.html", PAGE) + f"?{agent.mark}")
    found = checked(client, "browser_get_console", await client.ok("browser_get_console"))
    rows = [row for row in found["messages"] if row["level"] != "log" or "plain" in row["text"]]
    assert [row["level"] for row in rows][:4] == ["log", "error", "warning", "error"], found
    assert rows[1]["text"] == "lone \ufffd" and "said.html" in rows[0]["source"] and found["count"] == len(found["messages"])
    assert checked(client, "browser_get_console", await client.ok("browser_get_console", clear_after=True))["cleared"] is True
    assert checked(client, "browser_get_console", await client.ok("browser_get_console"))["messages"] == []


@pytest.mark.parametrize("tool", ["browser_tabs", "browser_get_console", "browser_downloads", "browser_info"])
async def test_what_happened_since_stands_in_both(agent: Agent, tool: str) -> None:
    """A client that shows only the structured content must not miss it either."""
    client = agent.client
    await client.ok("browser_navigate", url=agent.pages.add("later.html", PAGE) + f"?{agent.mark}")
    await client.ok("browser_click", selector="#later")
    assert await agent.title("after") == "after"
    told = checked(client, tool, await client.ok(tool))
    assert [note["dialog"]["message"] for note in told["since_last_call"]] == ["later"]
    assert "since_last_call" not in checked(client, tool, await client.ok(tool))


async def test_both_forms_of_the_console_together_keep_to_the_limit(pages: Pages, clients: Callable[..., Any], home: Path) -> None:
    url = pages.add(
        "much.html", "<title>much</title><link rel=icon href='data:,'><script>for (let i = 0; i < 50; i++) console.log(i + 'x'.repeat(100))</script>"
    )
    client: McpClient = await clients("mcp", "--standalone", env=standalone_env(home, MAX_TEXT_LENGTH="4000"), cwd=home)
    await client.ok("browser_navigate", url=url)
    found = checked(client, "browser_get_console", await client.ok("browser_get_console"))
    assert found["truncated"] is True and found["count"] + found["droppedCount"] == 50 and 10 <= found["count"] <= 20
    assert found["messages"][-1]["text"].startswith("49x"), "the newest are kept"

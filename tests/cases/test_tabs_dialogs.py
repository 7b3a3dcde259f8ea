"""Cases about popups, dialogs, downloads and a page that hangs: what an action caused is named, and nothing blocks for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT, standalone_env
from tests.support.agent import Agent
from tests.support.chromium import Chromium
from tests.support.mcp_client import Answer, McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import NoAnswer

SOON = 6.0


async def own_tabs(client: McpClient) -> Answer:
    """The list of the session's tabs."""
    return await client.ok("browser_tabs", SOON, action="list")


@pytest.mark.parametrize("way", ["blank", "open", "noopener", "form"])
async def test_popups(agent: Agent, way: str) -> None:
    await agent.open("popups")
    target = await agent.target()
    before = {info["targetId"] for info in await agent.truth.targets()}
    answer = await agent.client.ok("browser_click", ref=await agent.ref(way))
    assert "/who" in answer.text, answer
    rows = await agent.truth.until_targets(lambda rows: [row for row in rows if row["targetId"] not in before and "/who" in row["url"]], 5)
    new = [row["url"] for row in rows if row["targetId"] not in before]
    assert len(new) == 1 and "/who" in new[0], new
    tabs = await own_tabs(agent.client)
    assert ["/who" in row["url"] for row in tabs.data["tabs"]] == [False, True], tabs
    snapshot = await agent.client.ok("browser_snapshot", SOON)
    assert snapshot.ref("noopener"), "the current tab did not stay"
    assert await agent.truth.eval(target, "document.visibilityState") == "visible"
    await agent.eval("document.querySelector('#c').onclick=()=>document.title='clicked'")
    await agent.client.ok("browser_click", SOON, selector="#c")
    assert await agent.title("clicked") == "clicked"


async def test_popup_then_dialog(agent: Agent) -> None:
    await agent.open("popup-then-dialog")
    await agent.target()
    answers = [await agent.client.call("browser_click", SOON, ref=await agent.ref("go"))]
    await asyncio.sleep(0.6)  # the page's own timer: the alert comes 300 ms after the click
    answers.append(await agent.client.call("browser_tabs", SOON, action="list"))
    answers.append(await agent.client.call("browser_snapshot", SOON))
    assert any("hello" in answer.text for answer in answers), answers
    await agent.client.ok("browser_dialog", SOON, action="accept")
    after = await agent.client.ok("browser_snapshot", SOON)
    assert after.ref("go"), after
    assert await agent.eval("document.title") == "p"


async def test_dialog_after_click(agent: Agent) -> None:
    """A dialog is dismissed by itself, named, and another answer can be given beforehand; each time once."""
    await agent.open("dialog-after-click")
    await agent.target()
    ref = await agent.ref("ask")
    for armed, title in (("", "false"), ("accept", "true"), ("dismiss", "false"), ("accept", "true"), ("", "false")):
        await agent.eval("document.title='start'")
        if armed:
            await agent.client.ok("browser_dialog", SOON, action=armed)
        clicked = await agent.client.call("browser_click", SOON, ref=ref)
        following = await agent.client.call("browser_snapshot", SOON)
        assert "sure?" in clicked.text + following.text, (clicked, following)
        assert await agent.title(title) == title, (armed, clicked, following)


async def test_prompt_takes_a_text(agent: Agent) -> None:
    page = agent.pages.add("prompt.html", "<title>start</title><button onclick=\"document.title=prompt('name?','old')\">ask</button>")
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    await agent.target()
    ref = await agent.ref("ask")
    await agent.client.ok("browser_dialog", SOON, action="accept", text="new")
    clicked = await agent.client.call("browser_click", SOON, ref=ref)
    assert "name?" in clicked.text, clicked
    assert await agent.title("new") == "new"
    refused = await agent.client.call("browser_dialog", SOON, action="perhaps")
    assert refused.code == "INVALID_ARGS", refused


async def test_alert_on_load(agent: Agent) -> None:
    answer = await agent.client.call("browser_navigate", SOON, url=agent.url("alert-on-load"))
    assert "on load" in answer.text, answer
    await agent.client.ok("browser_dialog", SOON, action="accept")
    assert str(await agent.wait("document.body && document.body.innerText", "after")).strip() == "after"
    assert "after" in (await agent.client.ok("browser_get_text")).text


async def test_beforeunload(agent: Agent) -> None:
    await agent.open("beforeunload")
    await agent.target()
    ref = await agent.ref("Draft")
    await agent.client.ok("browser_click", ref=ref)
    await agent.client.ok("browser_type", ref=ref, text="x")
    assert await agent.eval("dirty") == 1
    answer = await agent.client.ok("browser_navigate", SOON + 10, url=agent.url("who"))
    assert answer.says(r"before ?unload|asked to stay|leave (this )?(page|site)"), answer
    assert await agent.title("who") == "who"


async def test_download(agent: Agent) -> None:
    await agent.open("download")
    await agent.target()
    answer = await agent.client.ok("browser_click", ref=await agent.ref("get"))
    assert "file.bin" in answer.text and "4096" in answer.text, answer
    assert "download.html" in str(await agent.eval("location.href"))
    named = [Path(part) for part in _strings(answer.data) if part.startswith("/") and "file" in part]
    assert named, answer
    assert named[0].stat().st_size == 4096, answer


def _strings(value: Any) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, dict):
        return [text for part in value.values() for text in _strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in _strings(part)]
    return [value] if isinstance(value, str) else []


async def test_pdf(agent: Agent) -> None:
    await agent.open("download")
    await agent.target()
    answer = await agent.client.call("browser_click", ref=await agent.ref("pdf"))
    assert answer.says(r"doc\.pdf|application/pdf"), answer
    assert not (await agent.client.call("browser_tabs", SOON, action="list")).error


@pytest.fixture
async def other_session(agent: Agent, request: pytest.FixtureRequest, home: Path, clients: Callable[..., Any]) -> McpClient:
    """A second session of the same project, or on the same browser."""
    if agent.mode == "gateway":
        stack: Stack = request.getfixturevalue("stack")
        one: McpClient = await clients("mcp", "--project", PROJECT, env=stack.env(), cwd=home)
        return one
    browser: Chromium = request.getfixturevalue("chromium")
    other: McpClient = await clients("mcp", "--standalone", "--cdp-url", browser.http, env=standalone_env(home), cwd=home)
    return other


async def test_busy_loop(agent: Agent, other_session: McpClient) -> None:
    await agent.open("busy-loop")
    target = await agent.target()
    hung = await agent.client.call("browser_click", ref=await agent.ref("Hang"), timeout_ms=3000)
    assert hung.code in (None, "TIMEOUT"), hung
    await asyncio.sleep(0.2)  # the page's own timer: it hangs 50 ms after the click
    started = time.monotonic()
    stuck = await agent.client.call("browser_snapshot", 20, timeout_ms=2000)
    assert stuck.code == "TIMEOUT", stuck
    assert time.monotonic() - started > 1, "the deadline was not waited for"
    await other_session.ok("browser_navigate", SOON + 5, url=agent.url("clock"))
    assert (await other_session.ok("browser_snapshot", SOON)).ref("Go")
    await agent.client.ok("browser_tabs", SOON + 5, action="new", url=agent.url("clock", base=agent.pages.other))
    assert (await agent.client.ok("browser_snapshot", SOON)).ref("Go")
    listed = (await own_tabs(agent.client)).text
    assert "busy-loop" in listed and "clock" in listed, listed
    assert target in {info["targetId"] for info in await agent.truth.targets()}


async def test_busy_loop_is_left_by_navigating(agent: Agent) -> None:
    await agent.open("busy-loop")
    target = await agent.target()
    await agent.client.call("browser_click", ref=await agent.ref("Hang"), timeout_ms=3000)
    # The page's own timer is late on a busy machine; a loop that begins under the navigation cannot be ended (docs/TOOLS.md).
    with pytest.raises(NoAnswer):
        while True:
            await agent.truth.eval(target, "1", 2)
    await agent.client.ok("browser_navigate", 40, url=agent.url("who"))
    assert await agent.truth.wait(target, "document.title", "who") == "who"
    await agent.client.ok("browser_snapshot", SOON)


async def test_an_address_that_never_came_costs_the_next_page_nothing(agent: Agent, pages: Pages) -> None:
    """A tab on its way answers no call, as one that hangs; what frees a hanging script must not end one of the page that comes."""
    script = "<title>plain</title><script>document.title='ran'</script>"
    await agent.client.ok("browser_navigate", url=pages.add("first.html", script))
    slow = await agent.client.call("browser_navigate", url=pages.add("never.html", "<title>never</title>", delay=20), timeout_ms=1500)
    assert slow.code == "TIMEOUT", slow
    assert (await agent.client.ok("browser_navigate", url=pages.add("scripted.html", script))).data["title"] == "ran"


async def test_tabs(agent: Agent) -> None:
    """new, select and close act on own tabs; a closed tab says so."""
    await agent.open("clock")
    first = await agent.target()
    opened = await agent.client.ok("browser_tabs", action="new", url=agent.url("insert-before"))
    assert "insert-before" in opened.text, opened
    assert (await agent.snapshot()).ref("Insert")
    rows = (await own_tabs(agent.client)).data["tabs"]
    assert len(rows) == 2, rows
    ids = {("insert" if "insert-before" in row["url"] else "clock"): row["tab"] for row in rows}
    await agent.client.ok("browser_tabs", action="select", tab=ids["clock"])
    assert (await agent.snapshot()).ref("Go")
    await agent.client.ok("browser_tabs", action="close", tab=ids["insert"])
    left = await agent.truth.targets()
    assert first in {info["targetId"] for info in left}
    assert not [info for info in left if "insert-before" in info["url"] and agent.mark in info["url"]]
    refused = await agent.client.call("browser_tabs", action="select", tab=ids["insert"])
    assert refused.code == "TAB_CLOSED", refused

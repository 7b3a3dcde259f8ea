"""Links with the ``download`` attribute: the browser says nothing before the server answers, and still the answer names what came of the click."""

from __future__ import annotations

import time

import pytest

from tests.support.agent import Agent

SLOW = 0.7
SOON = 2.0
PAGE = """<title>links</title><style>a, button {{ display: block }}</style>
<a id=slow download href=/slow.txt><span id=inside>slow</span></a> <a id=data download=data.txt href='data:text/plain,data'>data</a>
<a id=blob download=blob.txt>blob</a> <a id=late href=/slow.txt onclick="this.download = 'late.txt'">late</a>
<a id=kept download href=/slow.txt onclick="document.title = 'kept'; return false">kept</a> <a id=never download href=/never.txt>never</a>
<a id=other download href='{other}/slow.txt'>other</a>
<div style='position: relative'><a id=covered download href=/slow.txt>covered</a><div style='position: absolute; inset: 0'></div></div>
<script>blob.href = URL.createObjectURL(new Blob(['blob']))</script>"""


@pytest.fixture
async def links(agent: Agent) -> Agent:
    """The agent on the page."""
    for name, delay in (("slow", SLOW), ("never", 60.0)):
        agent.pages.add(f"{name}.txt", name, "application/octet-stream", delay)
    url = agent.pages.add("links.html", PAGE.format(other=agent.pages.other))
    await agent.client.ok("browser_navigate", url=f"{url}?{agent.mark}")
    return agent


@pytest.mark.parametrize("link", ["slow", "inside", "data", "blob", "late", "other", "covered"])
async def test_the_answer_names_the_download(links: Agent, link: str) -> None:
    answer = await links.client.ok("browser_click", selector=f"#{link}", **({"force": True} if link == "covered" else {}))
    (download,) = answer.data["downloads"]
    assert download["state"] == "completed" and download["size"] == 4, answer
    assert "downloading" not in answer.data and "since_last_call" not in (await links.client.ok("browser_get_text")).data
    assert await links.title("links") == "links", "the page stayed"


async def test_a_page_that_keeps_the_click_to_itself_is_not_waited_for(links: Agent) -> None:
    began = time.monotonic()
    answer = await links.client.ok("browser_click", selector="#kept")
    assert time.monotonic() - began < SOON and not {"downloads", "downloading"} & set(answer.data)
    assert await links.title("kept") == "kept"


async def test_a_download_that_does_not_begin_is_told_as_such(links: Agent) -> None:
    answer = await links.client.ok("browser_click", selector="#never")
    assert answer.data["downloading"]["url"] == f"{links.pages.base}/never.txt" and "downloads" not in answer.data, answer

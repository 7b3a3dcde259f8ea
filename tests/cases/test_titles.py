"""Titles as they are now: Chromium tells no client when one changes."""

from __future__ import annotations

import time

import pytest

from tests.support.agent import Agent

SOON = 3.0
PAGE = """<title>first</title><button id=rename onclick="document.title = 'renamed'">rename</button> <a id=next href=/next.html>next</a>
<button id=push onclick="history.pushState({}, '', '?pushed'); document.title = 'pushed'">push</button>
<button id=hang
 onclick="document.title = 'hanging'; setTimeout(() => { const end = performance.now() + 8000; while (performance.now() < end) ; }, 50)">hang</button>"""
NEXT = "<title>next one</title><script>document.title = 'next by script'</script><img src='/slow?ms=4000'>"


@pytest.fixture
async def titled(agent: Agent) -> Agent:
    """The agent on the page."""
    agent.pages.add("next.html", NEXT)
    await agent.client.ok("browser_navigate", url=agent.pages.add("titled.html", PAGE) + f"?{agent.mark}")
    return agent


async def title(agent: Agent) -> str:
    """What the list of tabs says."""
    (row,) = (await agent.client.ok("browser_tabs")).data["tabs"]
    return str(row["title"])


async def test_the_list_shows_the_title_of_now(titled: Agent) -> None:
    assert await title(titled) == "first"
    for button, wanted in (("rename", "renamed"), ("push", "pushed")):
        await titled.client.ok("browser_click", selector=f"#{button}")
        assert await title(titled) == wanted


async def test_a_click_tells_the_title_of_where_it_led(titled: Agent) -> None:
    """Also while the page still loads a picture."""
    clicked = await titled.client.ok("browser_click", selector="#next")
    assert clicked.data["navigated"]["title"] == "next by script", clicked
    assert await title(titled) == "next by script"


async def test_a_page_that_hangs_does_not_delay_the_list(titled: Agent) -> None:
    await titled.client.ok("browser_click", selector="#hang")
    began = time.monotonic()
    assert await title(titled) == "hanging"
    assert time.monotonic() - began < SOON

"""Cases about screenshots: the picture is decoded and its pixels judged."""

from __future__ import annotations

import asyncio
import colorsys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent import Agent
from tests.support.pages import Pages
from tests.support.truth import near


async def test_lazy_sections(agent: Agent, picture: Callable[..., Any]) -> None:
    await agent.open("lazy-sections")
    await agent.eval("scrollTo(0,300)")
    tops = "[document.documentElement.scrollHeight,...[...document.querySelectorAll('section')].map(s=>s.getBoundingClientRect().top+scrollY+300)]"
    height, *rows = await agent.eval(tops)
    shot = await agent.client.ok("browser_screenshot", full_page=True)
    assert await agent.eval("scrollY") == 300
    seen = await picture(shot.images[0], [(0.5, row / height) for row in rows])
    wanted = [tuple(round(part * 255) for part in colorsys.hls_to_rgb(number * 36 / 360, 0.5, 0.8)) for number in range(10)]
    assert all(near(pixel, colour, 14) for pixel, colour in zip(seen.pixels, wanted, strict=True)), (seen.pixels, wanted)


ROWS = (
    "<!doctype html><style>body{margin:0}section{height:600px}</style><section style='background:red'></section><section style='background:blue'></section>" * 5
)


async def test_a_tab_shown_for_the_first_time_meanwhile(agent: Agent, picture: Callable[..., Any], pages: Pages) -> None:
    """It gets its window's size just then; the picture on its way is the first view over and over."""
    url = f"{pages.add('rows.html', ROWS)}?{agent.mark}"
    front = (await agent.truth.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
    await agent.client.ok("browser_tabs", action="new", url=url)
    await agent.truth.call("Target.activateTarget", {"targetId": front})
    session = await agent.truth.attach(await agent.target())
    await agent.truth.call("Page.enable", {}, session)
    taking = asyncio.create_task(agent.client.ok("browser_screenshot", full_page=True))
    await agent.truth.event(lambda event: event["method"] == "Page.frameResized" and event.get("sessionId") == session)
    await agent.truth.call("Target.activateTarget", {"targetId": await agent.target()})
    seen = await picture((await taking).images[0], [(0.5, (row + 0.5) / 10) for row in range(10)])
    await agent.truth.call("Target.closeTarget", {"targetId": front})
    assert all(near(pixel, (0, 0, 255) if row % 2 else (255, 0, 0)) for row, pixel in enumerate(seen.pixels)), seen.pixels


async def test_very_tall(agent: Agent, picture: Callable[..., Any]) -> None:
    await agent.open("very-tall")
    view = "[innerWidth,innerHeight,devicePixelRatio,scrollY]"
    before, width = await agent.eval(view), await agent.eval("document.documentElement.scrollWidth")
    shot = await agent.client.ok("browser_screenshot", full_page=True)
    assert await agent.eval(view) == before
    seen = await picture(shot.images[0], [(0.5, 50 / 40000), (0.5, 1 - 50 / 40000)])
    assert seen.width * seen.height <= 16_000_000
    assert seen.height / seen.width == pytest.approx(40000 / width, rel=0.02)
    assert near(seen.pixels[0], (0, 128, 0)) and near(seen.pixels[1], (255, 0, 0)), seen.pixels


async def test_viewport_of_a_scrolled_page(agent: Agent, picture: Callable[..., Any]) -> None:
    await agent.open("very-tall")
    await agent.client.ok("browser_scroll", direction="bottom")
    shot = await agent.client.ok("browser_screenshot", format="png")
    width, height = await agent.eval("[innerWidth,innerHeight]")
    assert shot.images[0].startswith(b"\x89PNG")
    seen = await picture(shot.images[0], [(0.5, 1 - 40 / height), (0.5, 0.1)])
    assert near(seen.pixels[0], (255, 0, 0)) and near(seen.pixels[1], (255, 255, 255)), seen.pixels
    assert seen.width == pytest.approx(width, abs=20)


async def test_saved_where_the_answer_says(agent: Agent) -> None:
    await agent.open("clock")
    shot = await agent.client.ok("browser_screenshot", filename="named.png", format="png")
    path = Path(shot.data["path"])
    assert path.name == "named.png"
    assert await asyncio.to_thread(path.read_bytes) == shot.images[0]
    assert shot.data["size"] == len(shot.images[0])


async def test_unsafe_file_names(agent: Agent) -> None:
    await agent.open("clock")
    for name in ["/tmp/x.png", "../x.png", "a/../../x.png", "a\0b.png", ""]:
        answer = await agent.client.call("browser_screenshot", filename=name)
        assert answer.code in ("UNSAFE_PATH", "INVALID_ARGS"), (name, answer)


async def test_quality_changes_the_size(agent: Agent) -> None:
    await agent.open("thousand-rows")
    low = await agent.client.ok("browser_screenshot", quality=5)
    high = await agent.client.ok("browser_screenshot", quality=95)
    assert len(low.images[0]) < len(high.images[0])
    assert low.images[0][:2] == high.images[0][:2] == b"\xff\xd8"

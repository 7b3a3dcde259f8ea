"""chrome-devtools-mcp's performance tools: a trace is of use, and holds nothing of the tabs beside it."""

from __future__ import annotations

import asyncio
import re

from tests.support.pages import Pages
from tests.support.stack import Stack

from .scene import events, stir
from .servers import ChromeDevtools, running

SLOW = """<title>measured</title><style>p {{ color: red }}</style><h1>measured</h1><script>performance.mark('own-mark');
const end = performance.now() + 80; while (performance.now() < end) ; setInterval(function ownWork() {{ for (let i = 0; i < 1e5; i++) ; }}, 20)</script>
<img src=/who?picture width=300 height=200><iframe src='{other}/start.html?inside'></iframe>"""
USEFUL = {"TracingStartedInBrowser", "ResourceSendRequest", "ParseHTML", "Layout", "RunTask", "ProfileChunk", "firstContentfulPaint", "own-mark"}


async def test_performance_tools(stack: Stack, pages: Pages) -> None:
    pages.add("measured.html", SLOW.format(other=pages.other))
    async with running(ChromeDevtools, stack, pages) as (cd, scene):
        await cd("new_page", url=f"{pages.base}/measured.html")
        page = await cd.page("measured.html")

        # A reload that is recorded and stopped by itself.
        recording = asyncio.create_task(cd("performance_start_trace", reload=True, autoStop=True, filePath=str(scene.home / "auto.json.gz"), pageId=page))
        await stir(scene, pages)
        recorded = (await recording).text
        assert "has been stopped" in recorded and "measured.html" in recorded and "LCP" in recorded, recorded
        names = {event["name"] for event in events(scene, "auto.json.gz")}
        assert names >= USEFUL, USEFUL - names

        # What the summary names can be asked for.
        insight_set = re.search(r"insight set id: (\S+)", recorded)
        assert insight_set, recorded
        found = re.findall(r"insight name: (\w+)", recorded)
        assert found, recorded
        for name in found[:3]:
            told = (await cd("performance_analyze_insight", insightSetId=insight_set[1], insightName=name, pageId=page)).text
            assert name[:4].lower() in told.lower().replace(" ", ""), told

        # Begun and stopped by hand, with the page's work between, and a second time.
        for number in range(2):
            assert "being recorded" in (await cd("performance_start_trace", reload=False, autoStop=False, pageId=page)).text
            assert "already running" in (await cd("performance_start_trace", reload=False, autoStop=False, pageId=page)).text
            await cd("evaluate_script", function=f"() => {{ performance.mark('by-hand-{number}') }}", pageId=page)
            await stir(scene, pages)
            stopped = (await cd("performance_stop_trace", filePath=str(scene.home / f"hand{number}.json"), pageId=page)).text
            assert "has been stopped" in stopped
            assert f"by-hand-{number}" in {event["name"] for event in events(scene, f"hand{number}.json")}
        assert "no active" in (await cd("performance_stop_trace", pageId=page)).text


async def test_a_trace_in_a_process_that_others_share(stack: Stack, pages: Pages) -> None:
    """Chromium puts frames of a site into a process that has pages of it already: the client's page is where the others' frames go."""
    url = f"{pages.other}/measured.html"
    pages.add("measured.html", SLOW.format(other=pages.base))
    async with running(ChromeDevtools, stack, pages) as (cd, scene):
        await cd("new_page", url=url)
        page = await cd.page("measured.html")
        await cd("performance_start_trace", reload=False, autoStop=False, pageId=page)
        await stir(scene, pages)
        await cd("evaluate_script", function="() => { document.body.append('more') }", pageId=page)
        assert "has been stopped" in (await cd("performance_stop_trace", filePath=str(scene.home / "shared.json"), pageId=page)).text
        names = {event["name"] for event in events(scene, "shared.json")}
        assert {"TracingStartedInBrowser", "Layout", "TimerFire", "RunTask"} <= names and "ProfileChunk" not in names
        recorded = (await cd("performance_start_trace", reload=True, autoStop=True, pageId=page)).text
        assert "LCP" in recorded and "measured.html" in recorded

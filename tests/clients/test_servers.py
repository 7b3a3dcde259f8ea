"""chrome-devtools-mcp, @playwright/mcp and agent-browser, unmodified, through the session endpoint."""

from __future__ import annotations

import asyncio
import base64
import json

from tests.support.pages import Pages
from tests.support.proc import until
from tests.support.stack import Stack

from .scene import events, stir
from .servers import AgentBrowser, ChromeDevtools, PlaywrightMcp, running


async def test_chrome_devtools_mcp(stack: Stack, pages: Pages) -> None:
    async with running(ChromeDevtools, stack, pages) as (cd, scene):
        assert list(await cd.pages()) == ["about:blank"]
        await cd("new_page", url=f"{pages.base}/start.html?own")
        page = await cd.page("start.html?own")
        snapshot = await cd("take_snapshot", pageId=page)
        await cd("click", uid=cd.ref(snapshot, "press"), pageId=page)
        assert "pressed" in (await cd("take_snapshot", pageId=page)).text
        await cd("fill", uid=cd.ref(snapshot, "text"), value="hello", pageId=page)
        assert '"hello"' in (await cd("evaluate_script", function="() => text.value", pageId=page)).text

        # Popup, and its popup.
        await cd("click", uid=cd.ref(snapshot, "popup"), pageId=page)
        popup = await cd.page("popup-1.html")
        inner = await cd("take_snapshot", pageId=popup)
        await cd("click", uid=cd.ref(inner, "popup"), pageId=popup)
        deeper = await cd.page("popup-2.html")
        assert (await cd("take_screenshot", pageId=deeper)).images
        await cd("close_page", pageId=popup)
        assert '"popup 2"' in (await cd("evaluate_script", function="() => document.title", pageId=deeper)).text
        await cd("close_page", pageId=deeper)

        # Background screenshots, at once after a navigation too.
        for number in range(3):
            await cd("navigate_page", type="url", url=f"{pages.base}/start.html?own{number}", pageId=page)
            assert (await cd("take_screenshot", pageId=page)).images
        assert (await cd("take_screenshot", fullPage=True, pageId=page)).images

        # A file, a dialog, a size.
        path = await asyncio.to_thread(scene.upload, "up.txt", b"uploaded text")
        await cd("upload_file", uid=cd.ref(await cd("take_snapshot", pageId=page), "file"), filePaths=[path], pageId=page)
        assert "uploaded text" in (await cd("evaluate_script", function="() => file.files[0].text()", pageId=page)).text
        await cd("evaluate_script", function="() => { setTimeout(() => { window.said = confirm('sure?') }, 0) }", pageId=page)
        await cd("handle_dialog", action="accept", pageId=page)
        assert "true" in (await cd("evaluate_script", function="() => window.said", pageId=page)).text
        await cd("resize_page", width=700, height=500, pageId=page)
        assert "[700,500]" in (await cd("evaluate_script", function="() => [innerWidth, innerHeight]", pageId=page)).text.replace("\n", "").replace(" ", "")
        await cd("emulate", viewport="400x300x1", networkConditions="Slow 3G", pageId=page)
        await cd("emulate", pageId=page)

        # A download lies in the project's folder under its name.
        await cd("evaluate_script", function="() => { download.click() }", pageId=page)
        await asyncio.to_thread(until, (scene.downloads / "own.txt").exists, "the download is there")

        # Frames of another site, a service worker.
        await cd("navigate_page", type="url", url=f"{pages.base}/frames.html", pageId=page)
        await cd("click", uid=cd.ref(await cd("take_snapshot", pageId=page), "press"), pageId=page)
        assert "pressed" in (await cd("take_snapshot", pageId=page)).text
        await cd("navigate_page", type="url", url=f"{pages.base}/worker.html", pageId=page)
        ready = "() => navigator.serviceWorker.ready.then(() => 'ready')"
        assert '"ready"' in (await cd("evaluate_script", function=ready, pageId=page)).text
        assert "worker.html" in (await cd("list_network_requests", pageId=page)).text

        # A trace of the own page.
        await cd("performance_start_trace", reload=True, autoStop=True, pageId=page)
        assert "Browser.crash" not in (await cd("list_console_messages", pageId=page)).text
        assert set(await cd.pages()) == {"about:blank", f"{pages.base}/worker.html"}


async def test_playwright_mcp(stack: Stack, pages: Pages) -> None:
    # Its tool for changing tabs asks for the tab in front.
    async with running(PlaywrightMcp, stack, pages, selected=False) as (pw, scene):
        assert "- 0: (current)" in (await pw("browser_tabs", action="list")).text
        await pw("browser_tabs", action="new", url=f"{pages.base}/start.html?own")
        snapshot = await pw("browser_snapshot")
        await pw("browser_click", target=pw.ref(snapshot, "press"))
        assert "pressed" in (await pw("browser_snapshot")).text
        await pw("browser_type", target=pw.ref(snapshot, "text"), text="hello")
        assert '"hello"' in (await pw("browser_evaluate", function="() => text.value")).text

        await pw("browser_click", target=pw.ref(snapshot, "popup"))
        await pw("browser_tabs", action="select", index=await pw.tab("popup-1.html"))
        inner = await pw("browser_snapshot")
        await pw("browser_click", target=pw.ref(inner, "popup"))
        await pw("browser_tabs", action="select", index=await pw.tab("popup-2.html"))
        assert (await pw("browser_take_screenshot", scale="css", type="png")).images
        await pw("browser_tabs", action="close", index=await pw.tab("popup-1.html"))
        await pw("browser_tabs", action="select", index=await pw.tab("popup-2.html"))
        assert '"popup 2"' in (await pw("browser_evaluate", function="() => document.title")).text
        await pw("browser_tabs", action="close", index=await pw.tab("popup-2.html"))
        await pw("browser_tabs", action="select", index=await pw.tab("start.html?own"))

        for full in (False, True, False):
            assert (await pw("browser_take_screenshot", fullPage=full, scale="css", type="png")).images
        path = await asyncio.to_thread(scene.upload, "up.txt", b"uploaded text")
        await pw("browser_click", target=pw.ref(await pw("browser_snapshot"), "file"))
        await pw("browser_file_upload", paths=[path])
        assert "uploaded text" in (await pw("browser_evaluate", function="() => file.files[0].text()")).text
        await pw("browser_evaluate", function="() => { setTimeout(() => { window.said = confirm('sure?') }, 0) }")
        await pw("browser_handle_dialog", accept=True)
        assert "true" in (await pw("browser_evaluate", function="() => window.said")).text
        await pw("browser_resize", width=700, height=500)
        assert "700" in (await pw("browser_evaluate", function="() => innerWidth")).text
        await pw("browser_evaluate", function="() => { download.click() }")
        await asyncio.to_thread(until, (scene.downloads / "own.txt").exists, "the download is there")

        await pw("browser_navigate", url=f"{pages.base}/frames.html")
        await pw("browser_click", target=pw.ref(await pw("browser_snapshot"), "press"))
        assert "pressed" in (await pw("browser_snapshot")).text
        await pw("browser_navigate", url=f"{pages.base}/worker.html")
        assert "ready" in (await pw("browser_evaluate", function="() => navigator.serviceWorker.ready.then(() => 'ready')")).text
        await pw("browser_close")


async def test_agent_browser(stack: Stack, pages: Pages) -> None:
    # It brings the tab that it changes to to the front.
    async with running(AgentBrowser, stack, pages, selected=False) as (ab, scene):

        async def tabs() -> dict[str, str]:
            return {row["url"]: row["tabId"] for row in json.loads((await ab("agent_browser_tab_list")).text)["data"]["tabs"]}

        async def tab(part: str) -> str:
            for _ in range(100):
                found = [name for url, name in (await tabs()).items() if part in url]
                if found:
                    return found[-1]
            raise AssertionError(f"no tab with {part}")

        assert list(await tabs()) == ["about:blank"]
        await ab("agent_browser_tab_new", url=f"{pages.base}/start.html?own")
        await ab("agent_browser_click", selector="#press")
        assert "pressed" in (await ab("agent_browser_get_text", selector="#press")).text
        await ab("agent_browser_fill", selector="#text", text="hello")
        assert "hello" in (await ab("agent_browser_eval", script="text.value")).text

        await ab("agent_browser_click", selector="#popup")
        await ab("agent_browser_tab_switch", tab=await tab("popup-1.html"))
        await ab("agent_browser_click", selector="#popup")
        await ab("agent_browser_tab_switch", tab=await tab("popup-2.html"))
        await ab("agent_browser_click", selector="#press")
        await ab("agent_browser_screenshot", path=str(scene.home / "popup.png"))
        await ab("agent_browser_tab_close", tab=await tab("popup-1.html"))
        await ab("agent_browser_tab_close", tab=await tab("popup-2.html"))
        await ab("agent_browser_tab_switch", tab=await tab("start.html?own"))

        for number in range(3):
            shot = scene.home / f"shot{number}.png"
            await ab("agent_browser_screenshot", path=str(shot), fullPage=number == 1)
            assert shot.read_bytes().startswith(base64.b64decode("iVBORw0KGgo="))
        path = await asyncio.to_thread(scene.upload, "up.txt", b"uploaded text")
        await ab("agent_browser_upload", selector="#file", files=[path])
        assert "uploaded text" in (await ab("agent_browser_eval", script="file.files[0].text()")).text
        await ab("agent_browser_set_viewport", width=700, height=500)
        assert "700" in (await ab("agent_browser_eval", script="innerWidth")).text
        await ab("agent_browser_eval", script="download.click()")
        await asyncio.to_thread(until, (scene.downloads / "own.txt").exists, "the download is there")

        # It accepts an alert by itself; what asks a question waits for its tools.
        async def dialog() -> str:
            told = json.loads((await ab("agent_browser_dialog_status")).text)["data"]
            return f"{told['type']} {told['message']}" if told["hasDialog"] else ""

        for answer, said in (("accept", "true typed"), ("dismiss", "false null")):
            await ab("agent_browser_click", selector="#dialogs")
            assert await dialog() == "confirm two"
            await ab(f"agent_browser_dialog_{answer}")
            assert await dialog() == "prompt three"
            await ab(f"agent_browser_dialog_{answer}", **({"text": "typed"} if answer == "accept" else {}))
            assert await dialog() == ""
            assert said in (await ab("agent_browser_get_text", selector="#dialogs")).text

        # A trace and a script profile of the own page, while the others leave their names where a trace would show them.
        for kind in ("trace", "profiler"):
            path = scene.home / f"{kind}.json"
            await ab(f"agent_browser_{kind}_start")
            await stir(scene, pages)
            await ab("agent_browser_eval", script=f"performance.mark('own-{kind}')")
            await ab(f"agent_browser_{kind}_stop", path=str(path))
            assert {"TracingStartedInBrowser", f"own-{kind}"} <= {event["name"] for event in events(scene, path.name)}

        await ab("agent_browser_open", url=f"{pages.base}/frames.html")
        assert "start" in (await ab("agent_browser_snapshot")).text or "press" in (await ab("agent_browser_snapshot")).text
        await ab("agent_browser_open", url=f"{pages.base}/worker.html")
        assert "ready" in (await ab("agent_browser_eval", script="navigator.serviceWorker.ready.then(() => 'ready')")).text
        await ab("agent_browser_close")

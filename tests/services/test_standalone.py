"""Standalone mode with a browser of its own: when it runs, how it ends, and that nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import standalone_env
from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages


def browsers(home: Path) -> list[proc.Process]:
    """Main processes of browsers whose temporary directory is the test's own."""
    rows = proc.mentioning(str(home))
    return [row for row in rows if "--user-data-dir=" in row.cmdline and "--type=" not in row.cmdline and "crashpad" not in row.cmdline]


def temporary(home: Path) -> list[str]:
    """What lies in the test's temporary directory."""
    return sorted(path.name for path in (home / "tmp").iterdir())


async def start(home: Path, **env: str) -> McpClient:
    """A standalone server."""
    return await McpClient.start("mcp", "--standalone", env=standalone_env(home, **env), cwd=home)


async def test_it_starts_on_the_first_call_and_ends_clean(pages: Pages, home: Path) -> None:
    client = await start(home)
    assert {"browser_navigate", "browser_click", "browser_tabs"} <= set(client.tools)
    assert browsers(home) == [] and temporary(home) == []
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    assert len(browsers(home)) == 1
    assert "--remote-debugging-port" not in browsers(home)[0].cmdline
    await client.close(seconds=10)
    proc.gone(str(home), seconds=10)
    assert temporary(home) == []


async def test_a_long_temporary_directory(pages: Pages, home: Path) -> None:
    """Chromium's own socket would not fit below it."""
    deep = home / ("deep-" * 20)
    deep.mkdir()
    client = await start(home, TMPDIR=str(deep))
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    await client.close()
    proc.gone(str(home), seconds=10)
    assert list(deep.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_signals_end_it_clean(pages: Pages, home: Path, number: int) -> None:
    client = await start(home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    os.kill(client.pid, number)
    proc.gone(str(home), seconds=15)
    assert temporary(home) == []
    await client.kill()


async def test_sigkill_of_the_launcher_leaves_no_process(pages: Pages, home: Path) -> None:
    client = await start(home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    await client.kill()
    proc.gone(str(home), seconds=15)
    client = await start(home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    assert len(temporary(home)) == 1, "the profile of the killed one is removed by the next"
    await client.close()
    assert temporary(home) == []


async def test_idle_stop_and_start_again(pages: Pages, home: Path) -> None:
    client = await start(home, IDLE_SHUTDOWN_MS="1500")
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    proc.until(lambda: browsers(home) == [], "the idle browser stops", 20)
    proc.until(lambda: temporary(home) == [], "its profile is removed", 10)
    assert not (await client.call("browser_navigate", url=f"{pages.base}/insert-before.html")).error
    assert (await client.ok("browser_snapshot")).ref("Insert")
    await client.close()


async def test_idle_never_stops_it_during_a_call(pages: Pages, home: Path) -> None:
    client = await start(home, IDLE_SHUTDOWN_MS="700")
    await client.ok("browser_navigate", url=pages.add("slowly.html", "<p id=p></p><script>setTimeout(()=>p.textContent='arrived',4000)</script>"))
    pid = browsers(home)[0].pid
    await client.ok("browser_wait_for", text="arrived", timeout_ms=20000)
    assert proc.process(pid) is not None
    await client.close()


async def test_idle_zero_never_stops_it(pages: Pages, home: Path) -> None:
    client = await start(home, IDLE_SHUTDOWN_MS="0")
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    pid = browsers(home)[0].pid
    await asyncio.sleep(3)
    assert proc.process(pid) is not None
    await client.close()


async def test_a_crashed_browser_is_replaced(pages: Pages, home: Path) -> None:
    client = await start(home)
    for number in range(2):
        await client.ok("browser_navigate", url=f"{pages.base}/clock.html?{number}")
        victim = browsers(home)[0]
        os.killpg(os.getpgid(victim.pid), signal.SIGKILL)
        proc.until(lambda pid=victim.pid: proc.process(pid) is None, "the browser is dead")  # type: ignore[misc]
        answer = await client.call("browser_navigate", url=f"{pages.base}/insert-before.html?{number}")
        assert not answer.error or answer.code == "BROWSER_CRASHED", answer
        await client.ok("browser_navigate", url=f"{pages.base}/insert-before.html?{number}")
    assert (await client.ok("browser_snapshot")).ref("Insert")
    assert len(browsers(home)) == 1
    await client.close()
    proc.gone(str(home), seconds=10)
    assert temporary(home) == []


async def test_a_browser_that_cannot_stay_up_is_tried_twice_at_most(home: Path) -> None:
    fake, counter = home / "chromium", home / "starts"
    fake.write_text(f"#!/bin/sh\necho x >> {counter}\nexit 7\n")
    fake.chmod(0o755)
    client = await start(home, CHROMIUM_PATH=str(fake))
    answer = await client.call("browser_navigate", url="about:blank")
    assert answer.code in ("BROWSER_UNAVAILABLE", "BROWSER_CRASHED") and "\n" not in answer.text, answer
    assert 1 <= len(counter.read_text().split()) <= 3
    await client.close()
    assert temporary(home) == []


async def test_a_crashed_page_is_named_and_left_by_navigating(pages: Pages, home: Path) -> None:
    client = await start(home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    main = browsers(home)[0].pid
    renderers = [row for row in proc.descendants([main]) if "--type=renderer" in row.cmdline]
    assert renderers
    proc.kill_all(renderers)
    answer = await client.call("browser_snapshot", 30, timeout_ms=10000)
    assert not answer.error or answer.code == "BROWSER_CRASHED", answer
    await client.ok("browser_navigate", url=f"{pages.base}/insert-before.html")
    assert (await client.ok("browser_snapshot")).ref("Insert")
    assert proc.process(main) is not None
    await client.close()


async def test_a_page_that_crashes_under_a_navigation_is_replaced(pages: Pages, home: Path) -> None:
    url = pages.add("slow.html", "<title>slow</title><button>Arrived</button>", delay=1.0)
    client = await start(home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    main = browsers(home)[0].pid
    going = asyncio.create_task(client.call("browser_navigate", 30, url=url))
    await asyncio.to_thread(proc.until, lambda: pages.asked("slow.html"), "the address is asked for")
    proc.kill_all(row for row in proc.descendants([main]) if "--type=renderer" in row.cmdline)
    answer = await going
    assert not answer.error, answer
    assert (await client.ok("browser_snapshot")).ref("Arrived")
    await client.close()


async def test_chromium_missing(home: Path) -> None:
    client = await start(home, CHROMIUM_PATH="/nowhere/chromium")
    answer = await client.call("browser_navigate", url="about:blank")
    assert answer.code == "BROWSER_UNAVAILABLE" and "/nowhere/chromium" in answer.text and "\n" not in answer.text, answer
    await client.close()


async def test_evaluate_is_absent_unless_enabled(pages: Pages, home: Path) -> None:
    client = await start(home)
    assert "browser_evaluate" not in client.tools
    hidden = await client.request("tools/call", {"name": "browser_evaluate", "arguments": {"expression": "1"}})
    assert "error" in hidden or hidden["result"]["isError"], hidden
    await client.close()
    client = await start(home, ENABLE_EVAL_JS="yes")
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    assert "42" in (await client.ok("browser_evaluate", expression="6*7")).text
    failing = await client.call("browser_evaluate", expression="nothing.here")
    assert failing.error and "nothing is not defined" in failing.text, failing
    await client.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUEUE_LIMIT", "65"),
        ("QUEUE_LIMIT", "x"),
        ("TOOL_TIMEOUT_MS", "99"),
        ("IDLE_SHUTDOWN_MS", "-1"),
        ("ENABLE_EVAL_JS", "maybe"),
        ("OUTPUT_DIR", "/proc/nowhere"),
    ],
)
async def test_bad_settings_are_named(home: Path, name: str, value: str) -> None:
    client = await McpClient.spawn("mcp", "--standalone", env=standalone_env(home, **{name: value}), cwd=home)
    async with asyncio.timeout(20):
        assert await client.process.wait() == 3
    await client.kill()
    assert name in client.stderr and "Traceback" not in client.stderr and len(client.stderr.strip().splitlines()) == 1, client.stderr


async def test_queue_limit(pages: Pages, home: Path) -> None:
    """One call runs, two wait, the fourth is refused at once; those that wait run in their order."""
    page = pages.add("queue.html", "<title>q</title><input id=i>", delay=3)
    client = await start(home, QUEUE_LIMIT="2")
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    running = asyncio.create_task(client.call("browser_navigate", url=page))
    await asyncio.sleep(0.3)  # the order of arrival is what is tested, so the first call must be under way
    waiting = []
    for letter in "AB":
        waiting.append(asyncio.create_task(client.call("browser_type", selector="#i", text=letter, clear_first=False, timeout_ms=15000)))
        await asyncio.sleep(0.1)
    refused = await client.call("browser_type", 3, selector="#i", text="C", clear_first=False)
    assert refused.code == "BUSY_QUEUE_FULL", refused
    answers = await asyncio.gather(running, *waiting)
    assert not [answer for answer in answers if answer.error], answers
    assert (await client.ok("browser_get_text", selector="#i")).data["text"] == "AB"
    await client.close()


async def test_reading_waits_for_a_navigation_under_way(pages: Pages, home: Path) -> None:
    client = await start(home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    navigating = asyncio.create_task(client.call("browser_navigate", url=f"{pages.base}/slow?ms=1500"))
    await asyncio.sleep(0.3)  # the navigation must be under way
    text = await client.ok("browser_get_text")
    assert text.data["text"].strip() == "slow", text
    assert not (await navigating).error
    await client.close()


async def test_two_servers_at_once_share_nothing(pages: Pages, home: Path) -> None:
    one, two = await start(home), await start(home)
    await one.ok("browser_navigate", url=f"{pages.base}/set")
    await two.ok("browser_navigate", url=f"{pages.base}/who")
    assert "login" not in (await two.ok("browser_get_text")).text
    assert len(browsers(home)) == 2
    await one.close()
    assert not (await two.call("browser_get_text")).error
    await two.close()
    assert temporary(home) == []


@pytest.mark.timeout(400)
async def test_fifty_cycles(pages: Pages, home: Path) -> None:
    """Fifty times started by a call and stopped by idling, in one server."""
    client = await start(home, IDLE_SHUTDOWN_MS="1")
    samples: list[tuple[int, int]] = []
    for number in range(50):
        await client.ok("browser_navigate", url=f"{pages.base}/insert-before.html?{number}")
        proc.until(lambda: browsers(home) == [] and temporary(home) == [], f"cycle {number} ends clean", 20)
        samples.append((len(proc.descriptors(client.pid)), proc.rss_kib(client.pid)))
    assert len(proc.descendants([client.pid])) == len(proc.mentioning(str(home))) == 1
    assert samples[-1][0] <= samples[9][0], samples
    assert samples[-1][1] <= samples[9][1] + 6 * 1024, samples
    started = time.monotonic()
    await client.close()
    assert time.monotonic() - started < 10


async def test_attached_to_a_running_browser_it_touches_nothing_else(
    pages: Pages, home: Path, chromium: Any, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    truth = await truths(chromium.ws)
    person = (await truth.call("Target.createTarget", {"url": f"{pages.base}/clock.html?person"}))["targetId"]
    before = {info["targetId"] for info in await truth.targets()}
    for address in (chromium.http, chromium.ws):
        client = await McpClient.start("mcp", "--standalone", "--cdp-url", address, env=standalone_env(home), cwd=home)
        assert {info["targetId"] for info in await truth.targets()} >= before
        await client.ok("browser_navigate", url=f"{pages.base}/insert-before.html?attached")
        await client.ok("browser_tabs", action="new", url=f"{pages.base}/insert-before.html?attached")
        assert "person" not in (await client.ok("browser_tabs", action="list")).text
        await client.close()
        assert {info["targetId"] for info in await truth.targets()} == before
    assert await truth.eval(person, "location.search") == "?person"
    await truth.call("Target.closeTarget", {"targetId": person})


async def test_attached_to_nothing(home: Path) -> None:
    client = await start(home)
    await client.close()
    client = await McpClient.spawn("mcp", "--standalone", "--cdp-url", "http://127.0.0.1:9", env=standalone_env(home), cwd=home)
    try:
        await client.handshake()
        answer = await client.call("browser_navigate", url="about:blank")
        assert answer.code == "BROWSER_UNAVAILABLE" and "127.0.0.1:9" in answer.text, answer
    finally:
        await client.kill()

"""A login of a second ago survives every way to end a browser but SIGKILL of the browser itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack


async def log_in(stack: Stack, project: str, pages: Pages, home: Path) -> None:
    """Set the cookie through an agent that then goes away."""
    client = await McpClient.start("mcp", "--project", project, env=stack.env(), cwd=home)
    try:
        await client.ok("browser_navigate", url=f"{pages.base}/set")
    finally:
        await client.close()


async def logged_in(stack: Stack, project: str, pages: Pages, home: Path) -> bool:
    """Whether the cookie is still there for a new agent."""
    client = await McpClient.start("mcp", "--project", project, env=stack.env(), cwd=home)
    try:
        await client.ok("browser_navigate", url=f"{pages.base}/who")
        return "login=yes" in (await client.ok("browser_get_text")).text
    finally:
        await client.close()


async def test_telebrowser_stop(stack: Stack, pages: Pages, home: Path) -> None:
    await log_in(stack, "cookie-stop", pages, home)
    pid = stack.browser_pid("cookie-stop")
    done = stack.launcher("stop", "--project", "cookie-stop")
    assert done.returncode == 0, done
    assert proc.process(pid) is None
    assert stack.status("cookie-stop")["state"] == "stopped"
    assert await logged_in(stack, "cookie-stop", pages, home)


async def test_want_file_removed(stack: Stack, pages: Pages, home: Path) -> None:
    """Plain file operations work without any socket."""
    await log_in(stack, "cookie-want", pages, home)
    pid = stack.browser_pid("cookie-want")
    (stack.data / "run" / "want" / "cookie-want").unlink()
    proc.until(lambda: proc.process(pid) is None, "the browser stops when it is no longer wanted")
    assert await logged_in(stack, "cookie-want", pages, home)


@pytest.mark.timeout(400)
async def test_idle_stop(new_stack: Callable[..., Stack], pages: Pages, home: Path) -> None:
    """The idle time is a minute at the least, so this test takes one."""
    stack = new_stack(session_grace=0, idle_minutes=1).start()
    await log_in(stack, "idle", pages, home)
    pid = stack.browser_pid("idle")
    proc.until(lambda: proc.process(pid) is None, "the idle browser stops", 100)
    proc.until(lambda: stack.status("idle")["state"] == "stopped", "the status says so")
    assert await logged_in(stack, "idle", pages, home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_to_the_supervisor(new_stack: Callable[..., Stack], pages: Pages, home: Path, number: int) -> None:
    stack = new_stack().start()
    await log_in(stack, "signalled", pages, home)
    pid = stack.browser_pid("signalled")
    stack.signal("supervisor", number)
    assert stack.wait("supervisor") == 0
    assert proc.process(pid) is None
    assert not (stack.data / "run" / "up" / "signalled").exists()
    stack.start_supervisor()
    assert await logged_in(stack, "signalled", pages, home)


async def test_sigkill_of_the_supervisor(new_stack: Callable[..., Stack], pages: Pages, home: Path) -> None:
    """Its end of the pipe closes with the gateway's, which is a clean exit for the browser."""
    stack = new_stack().start()
    await log_in(stack, "orphaned", pages, home)
    pid = stack.browser_pid("orphaned")
    stack.signal("supervisor", signal.SIGKILL)
    stack.wait("supervisor")
    proc.until(lambda: proc.process(pid) is None, "the browser exits when nobody holds its pipe")
    stack.start_supervisor()
    assert await logged_in(stack, "orphaned", pages, home)


async def test_sigkill_of_the_gateway(
    new_stack: Callable[..., Stack], pages: Pages, home: Path, truths: Callable[..., Any], clients: Callable[..., Any]
) -> None:
    """The browser runs on, the next gateway takes it over, and the agent finds its tabs as they were."""
    stack = new_stack(session_grace=20).start()
    agent = await clients("mcp", "--project", "taken", env=stack.env(), cwd=home)
    await agent.ok("browser_navigate", url=f"{pages.base}/set")
    await agent.ok("browser_tabs", action="new", url=f"{pages.base}/insert-before.html?mine")
    other = await clients("mcp", "--project", "taken", env=stack.env(), cwd=home)
    await other.ok("browser_navigate", url=f"{pages.base}/clock.html?theirs")
    pid = stack.browser_pid("taken")
    stack.signal("gateway", signal.SIGKILL)
    stack.wait("gateway")
    assert proc.process(pid) is not None
    stack.start_gateway()
    truth = await truths(stack.ws("taken"))
    assert stack.browser_pid("taken") == pid
    urls = [info["url"] for info in await truth.targets()]
    assert any("mine" in url for url in urls) and any("theirs" in url for url in urls), urls
    listed = await agent.ok("browser_tabs", action="list")
    assert "mine" in listed.text and "theirs" not in listed.text, listed
    assert "theirs" in (await other.ok("browser_tabs", action="list")).text
    mine = next(row["tab"] for row in listed.data["tabs"] if "mine" in row["url"])
    await agent.ok("browser_tabs", action="select", tab=mine)
    snapshot = await agent.ok("browser_snapshot")
    ref = snapshot.ref("First")
    assert ref, snapshot
    await agent.ok("browser_click", ref=ref)
    target = next(info["targetId"] for info in await truth.targets() if "mine" in info["url"])
    assert await truth.wait(target, "document.title", "First") == "First"
    await agent.ok("browser_navigate", url=f"{pages.base}/who")
    assert "login=yes" in (await agent.ok("browser_get_text")).text
    assert stack.launcher("stop", "--project", "taken").returncode == 0
    assert proc.process(pid) is None
    assert await logged_in(stack, "taken", pages, home)


async def test_up_and_down(new_stack: Callable[..., Stack], pages: Pages, home: Path) -> None:
    stack = new_stack()
    try:
        up = stack.local("up")
        assert up.returncode == 0, up
        assert stack.url in up.stdout, up
        assert stack.healthy()
        await log_in(stack, "downed", pages, home)
        pid = stack.browser_pid("downed")
        again = stack.local("up")
        assert again.returncode == 0, again
        assert stack.browser_pid("downed") == pid and proc.process(pid), "a second `up` must change nothing"
        down = stack.local("down")
        assert down.returncode == 0, down
        assert proc.process(pid) is None
        proc.gone(str(stack.root), seconds=5)
        assert not list((stack.data / "run").glob("*.pid"))
        assert stack.local("up").returncode == 0
        assert await logged_in(stack, "downed", pages, home)
    finally:
        assert stack.local("down").returncode == 0


async def test_a_dead_child_of_the_stack_is_started_again(new_stack: Callable[..., Stack], pages: Pages, home: Path) -> None:
    stack = new_stack()
    try:
        assert stack.local("up").returncode == 0
        await log_in(stack, "kept", pages, home)
        browser = stack.browser_pid("kept")
        gateways = [row for row in proc.mentioning(str(stack.root)) if "telebrowser.gateway" in row.cmdline]
        assert len(gateways) == 1, gateways
        os.kill(gateways[0].pid, signal.SIGKILL)
        proc.until(lambda: proc.process(gateways[0].pid) is None, "the gateway is gone")
        proc.until(stack.healthy, "the stack starts the gateway again", 40)
        assert proc.process(browser)
        assert await logged_in(stack, "kept", pages, home)
        assert stack.browser_pid("kept") == browser
    finally:
        assert stack.local("down").returncode == 0

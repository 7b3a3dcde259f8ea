"""How a launcher ends: with its stdin, with its parent, and never leaving anything behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, Stack


async def test_closing_stdin_ends_it(stack: Stack, home: Path) -> None:
    client = await McpClient.start("mcp", "--project", "ending", env=stack.env(), cwd=home)
    assert await client.close(seconds=5) == 0
    assert client.noise == []


async def test_closing_stdin_ends_it_while_a_call_runs(stack: Stack, pages: Pages, home: Path) -> None:
    client = await McpClient.start("mcp", "--project", "ending", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    await client.send(
        {"jsonrpc": "2.0", "id": 999, "method": "tools/call", "params": {"name": "browser_wait_for", "arguments": {"text": "never", "timeout_ms": 60000}}}
    )
    await client.close(seconds=5)


def test_it_dies_with_its_parent(stack: Stack, home: Path) -> None:
    """The parent is killed while another process still holds the launcher's stdin open."""
    reader, writer = os.pipe()
    script = "import subprocess,sys;p=subprocess.Popen(sys.argv[1:],stdin=int(sys.stdin.readline()));print(p.pid,flush=True);p.wait()"
    parent = subprocess.Popen(
        [sys.executable, "-c", script, LAUNCHER, "mcp", "--project", "orphan"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=stack.env(),
        cwd=home,
        pass_fds=[reader],
        start_new_session=True,
    )
    assert parent.stdin and parent.stdout
    try:
        parent.stdin.write(f"{reader}\n".encode())
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        proc.until(lambda: any("socket:" in name for name in proc.descriptors(child)), "the launcher is connected")
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
        proc.until(lambda: proc.process(child) is None, "the launcher ends with its parent", 10)
    finally:
        os.close(reader)
        os.close(writer)
        parent.stdin.close()
        parent.stdout.close()


async def test_kill_9_leaves_no_process(stack: Stack, pages: Pages, home: Path) -> None:
    client = await McpClient.start("mcp", "--project", "killed", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    rows = [row for row in proc.descendants([client.pid])]
    await client.kill()
    proc.until(lambda: not [row for row in rows if proc.process(row.pid)], "everything below the launcher is gone", 10)


async def test_it_reconnects_to_a_new_gateway(new_stack: Callable[..., Stack], pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    stack = new_stack().start()
    client = await clients("mcp", "--project", "reconnect", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html?before")
    stack.signal("gateway", signal.SIGTERM)
    assert stack.wait("gateway") == 0
    stack.start_gateway()
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html?after")
    assert "after" in (await client.ok("browser_tabs", action="list")).text


async def test_a_gateway_that_is_away_is_named_within_the_deadline(stack: Stack, home: Path) -> None:
    client = await McpClient.spawn("mcp", "--project", "away", env=stack.env(TELEBROWSER_URL="http://127.0.0.1:9"), cwd=home)
    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        try:
            answer = await client.request("initialize", hello, timeout=60)
        except ConnectionError:
            answer = {"error": {"message": client.stderr}}
        words = str(answer.get("error", {}).get("message", "")) + client.stderr
        assert "error" in answer and "127.0.0.1:9" in words, (answer, client.stderr)
    finally:
        await client.kill()

"""What the operator and the project's own verbs do: settings that narrow the tools, holds, wipes, and files."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack


async def test_evaluate_through_the_gateway(stack: Stack, pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    client: McpClient = await clients("mcp", "--project", "operator", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    assert "42" in (await client.ok("browser_evaluate", expression="6*7")).text
    thrown = await client.call("browser_evaluate", expression="(()=>{throw new Error('mine')})()")
    assert thrown.error and "mine" in thrown.text, thrown


async def test_evaluate_and_private_ranges_turned_off(new_stack: Callable[..., Stack], pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    stack = new_stack(TELEBROWSER_EVALUATE="no", TELEBROWSER_BLOCK_PRIVATE="yes").start()
    client: McpClient = await clients("mcp", "--project", "narrow", env=stack.env(), cwd=home)
    assert "browser_evaluate" not in client.tools and "browser_navigate" in client.tools
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    for url in ("http://10.0.0.1/", f"{pages.base}/to?url=http://10.0.0.1/"):
        answer = await client.call("browser_navigate", url=url, timeout_ms=8000)
        assert answer.code == "PRIVATE_NETWORK_BLOCKED", answer


async def test_scratch_is_wiped_when_it_stops(stack: Stack, pages: Pages, home: Path) -> None:
    """Outside any git repository the project is scratch."""
    assert stack.launcher("project", cwd=home).stdout.strip() == "scratch"
    client = await McpClient.start("mcp", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/set")
    await client.ok("browser_navigate", url=f"{pages.base}/who")
    assert "login=yes" in (await client.ok("browser_get_text")).text
    await client.close()
    assert stack.launcher("stop", cwd=home).returncode == 0
    profile = stack.data / "projects" / "scratch" / "profile"
    assert not profile.exists() or not list(profile.iterdir()), "`stop` answers when the profile is wiped"
    client = await McpClient.start("mcp", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/who")
    assert "login=yes" not in (await client.ok("browser_get_text")).text
    await client.close()
    assert stack.launcher("stop", cwd=home).returncode == 0


async def test_wipe(stack: Stack, pages: Pages, home: Path) -> None:
    client = await McpClient.start("mcp", "--project", "wiped", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/set")
    await client.close()
    assert stack.http("POST", "wipe", "wiped", b"").status == 200
    client = await McpClient.start("mcp", "--project", "wiped", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/who")
    assert "login=yes" not in (await client.ok("browser_get_text")).text
    await client.close()


async def test_downloads(stack: Stack, pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    client: McpClient = await clients("mcp", "--project", "files", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/download.html")
    for _ in range(2):
        await client.ok("browser_click", selector="#a")
    listed = stack.http("GET", "downloads", "files").json
    assert len(listed["files"]) == 2 and {row["size"] for row in listed["files"]} == {4096}, listed
    for row in listed["files"]:
        assert stack.http("GET", f"downloads/{urllib.parse.quote(row['name'])}", "files").body == b"x" * 4096
    assert Path(listed["directory"]) == stack.data / "projects" / "files" / "downloads"
    printed = stack.launcher("downloads", "--project", "files", "--json")
    assert printed.returncode == 0 and "file.bin" in json.dumps(json.loads(printed.stdout)), printed
    assert stack.http("GET", "downloads", "files-of-nobody").json["files"] == []


def test_uploads_stay_in_their_folder(stack: Stack) -> None:
    stored = stack.http("PUT", "uploads/notes.txt", "files", b"some notes")
    assert stored.status in (200, 201) and stored.json["size"] == 10, stored
    assert Path(stored.json["path"]).read_bytes() == b"some notes"
    assert Path(stored.json["path"]).parent == stack.data / "projects" / "files" / "uploads"
    for name in ("..%2f..%2fescaped", "%2e%2e%2fescaped", "a%2f..%2f..%2fescaped", "..", "a%00b"):
        assert stack.http("PUT", f"uploads/{name}", "files", b"x").status in (400, 403, 404, 405), name
    assert not list(stack.root.rglob("escaped"))


def test_status_hold_start_and_focus(stack: Stack) -> None:
    started = stack.launcher("start", "--project", "verbs", "--json")
    assert started.returncode == 0 and json.loads(started.stdout)["state"] == "up", started
    held = stack.launcher("hold", "5", "--project", "verbs", "--json")
    assert held.returncode == 0 and json.loads(held.stdout)["hold_until"], held
    assert stack.launcher("focus", "--project", "verbs").returncode == 0
    status = json.loads(stack.launcher("status", "--project", "verbs", "--json").stdout)
    assert status["project"] == "verbs" and proc.process(status["pid"]) and status["hold_until"]
    address = stack.launcher("ws", "--project", "verbs").stdout.strip()
    assert address == stack.ws("verbs")
    assert stack.launcher("http", "--project", "verbs").stdout.strip().startswith(stack.url)
    assert stack.launcher("stop", "--project", "verbs").returncode == 0
    assert proc.process(status["pid"]) is None

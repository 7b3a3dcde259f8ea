"""`telebrowser mcp --upstream` with the servers that people use: chrome-devtools-mcp, installed by the launcher, and @playwright/mcp."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from telebrowser.launcher.upstream import install
from tests.support import proc
from tests.support.mcp_client import LEGACY, McpClient
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, Stack, token

from .scene import MODULES

PLAYWRIGHT = str(MODULES / "@playwright/mcp/cli.js")
PAGE = "<title>start</title><button id=b onclick=\"this.textContent='pressed'\">press</button><a download=own.txt href='data:text/plain,own'>file</a>"
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
INSTALL_SECONDS = 280
OURS = {"browser_downloads", "browser_info"}
END_SECONDS = 5.0


@pytest.fixture(scope="module")
def launcher_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A launcher's data folder, where the first test installs."""
    return tmp_path_factory.mktemp("launcher") / "data"


Start = Callable[..., Any]


@pytest.fixture
async def start(stack: Stack, home: Path, launcher_data: Path) -> AsyncIterator[Start]:
    """Starts ``telebrowser mcp`` with options; at the end nothing of it may be left, and nothing secret said."""
    made: list[McpClient] = []
    env = stack.env(TELEBROWSER_LAUNCHER_DATA=str(launcher_data), CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS="1", LOG_LEVEL="debug", DEBUG="*")

    async def run(project: str, *options: str) -> McpClient:
        client = await McpClient.spawn("mcp", "--project", project, *options, env=env, cwd=home)
        made.append(client)
        answer = await client.request("initialize", HELLO, INSTALL_SECONDS)
        assert "result" in answer, f"{answer}; {client.stderr}"
        client.info = answer["result"]
        await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await client.list_tools()
        return client

    yield run
    for client in made:
        began = time.monotonic()
        assert await client.close(3 * END_SECONDS) == 0
        assert time.monotonic() - began < END_SECONDS
        assert "/t/" not in client.stderr and ".".join(client.stderr.split("/t/")[1:]) == ""
        assert client.noise == []
    await asyncio.to_thread(proc.gone, str(home), seconds=1)


def direct_tools(*command: str) -> list[Any]:
    """The tools that a server lists by itself."""
    lines = [
        {"id": 0, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list", "params": {}},
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in lines))
        process.stdin.flush()
        while True:
            message = json.loads(process.stdout.readline())
            if message.get("id") == 1:
                process.kill()
                return list(message["result"]["tools"])


def no_token(stack: Stack, project: str, client: McpClient) -> None:
    """No process has the token on its command line or in its environment."""
    bearer = token(project).partition(".")[2]
    rows = [*proc.mentioning(str(stack.root)), *proc.descendants([client.pid])]
    # chrome-devtools-mcp replaces its command line once it runs; what stood there the others show.
    assert any("http://127.0.0.1:" in row.cmdline or row.cmdline == "chrome-devtools-mcp" for row in rows), rows
    for row in rows:
        assert bearer not in row.cmdline + proc.read_text(f"/proc/{row.pid}/environ"), row
    assert bearer not in client.stderr


def line_of(text: str, name: str) -> str:
    """The line of a snapshot that names an element."""
    return next(line for line in text.splitlines() if f'"{name}"' in line)


async def test_chrome_devtools(start: Start, stack: Stack, pages: Pages, launcher_data: Path) -> None:
    url = pages.add("upstream.html", PAGE)
    client = await start("upcd", "--upstream", "chrome-devtools")
    entry = install.place(launcher_data) / install.ENTRY
    assert entry.exists() and [path.name for path in entry.parents if path.name.startswith(".new")] == []
    assert client.info["serverInfo"]["name"] == "chrome_devtools"
    assert "browser_handoff" in client.info["instructions"]
    theirs = direct_tools("node", str(entry), "--wsEndpoint", "ws://127.0.0.1:1", "--no-usage-statistics")
    assert {name: client.tools[name] for name in (tool["name"] for tool in theirs)} == {tool["name"]: tool for tool in theirs}
    assert set(client.tools) >= OURS and "browser_navigate" not in client.tools
    assert list(client.tools)[: len(theirs)] == [tool["name"] for tool in theirs], "ours come last"
    opened = await client.ok("new_page", url=url)
    assert "upstream.html" in opened.text
    page = max(int(line.split(":")[0]) for line in opened.text.splitlines() if line.strip().split(":")[0].isdigit())
    snapshot = await client.ok("take_snapshot", pageId=page)
    uid = line_of(snapshot.text, "press").split("uid=")[1].split()[0]
    await client.ok("click", uid=uid, pageId=page)
    assert "pressed" in (await client.ok("take_snapshot", pageId=page)).text
    assert (await client.ok("take_screenshot", pageId=page)).images
    assert (await client.ok("browser_downloads")).data["files"] == []
    info = await client.ok("browser_info")
    assert info.data["state"] == "up" and info.data["cdp"]["ws"] == stack.ws("upcd", info.data["session"])
    await asyncio.to_thread(no_token, stack, "upcd", client)
    resources = (await client.request("resources/list", {}))["result"]["resources"]
    assert {"telebrowser://usage", "telebrowser://status"} <= {row["uri"] for row in resources}


async def test_chrome_devtools_with_all_tools_shares_the_session(start: Start, stack: Stack, pages: Pages) -> None:
    url = pages.add("both.html", PAGE)
    client = await start("upboth", "--upstream", "chrome-devtools", "--tools", "both")
    assert {"browser_navigate", "browser_click", "take_snapshot", *OURS} <= set(client.tools)
    await client.ok("browser_navigate", url=url)
    listed = await client.ok("list_pages")
    assert "both.html" in listed.text
    page = next(int(line.strip().split(":")[0]) for line in listed.text.splitlines() if "both.html" in line)
    await client.ok("evaluate_script", function="() => { b.click() }", pageId=page)
    assert "pressed" in (await client.ok("browser_snapshot")).text


async def test_playwright(start: Start, stack: Stack, pages: Pages, home: Path) -> None:
    url = pages.add("pw.html", PAGE)
    command = ["node", PLAYWRIGHT, "--cdp-endpoint", "{http}", "--output-dir", str(home / "out")]
    client = await start("uppw", "--upstream", "--", *command)
    theirs = {tool["name"]: tool for tool in direct_tools("node", PLAYWRIGHT, "--cdp-endpoint", "http://127.0.0.1:1")}
    assert {name: client.tools[name] for name in theirs} == theirs and set(client.tools) - set(theirs) >= OURS
    await client.ok("browser_navigate", url=url)
    snapshot = await client.ok("browser_snapshot")
    ref = line_of(snapshot.text, "press").split("ref=")[1].split("]")[0]
    await client.ok("browser_click", element="press", target=ref)
    assert "pressed" in (await client.ok("browser_snapshot")).text
    await asyncio.to_thread(no_token, stack, "uppw", client)


async def test_playwright_with_all_tools_ours_win(start: Start, stack: Stack, pages: Pages, home: Path) -> None:
    url = pages.add("clash.html", PAGE)
    command = ["node", PLAYWRIGHT, "--cdp-endpoint", "{http}", "--output-dir", str(home / "out")]
    client = await start("upclash", "--tools", "both", "--upstream", "--", *command)
    names = [tool["name"] for tool in (await client.request("tools/list", {}))["result"]["tools"]]
    assert len(names) == len(set(names)) and "browser_press_key" in names
    assert "selector" in client.tools["browser_click"]["inputSchema"]["properties"], "ours"
    await client.ok("browser_navigate", url=url)
    await client.ok("browser_click", selector="#b")
    assert "pressed" in (await client.ok("browser_get_text", selector="#b")).text


def test_two_launchers_install_once_and_a_killed_installation_leaves_nothing(stack: Stack, home: Path, launcher_data: Path) -> None:
    """Both start at once on a folder that holds what a killed one left behind."""
    folder = home / "data"
    left = folder / "upstream" / ".new-killed"
    left.mkdir(parents=True)
    hello = (
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n'
    )
    env = stack.env(TELEBROWSER_LAUNCHER_DATA=str(folder))
    command = [LAUNCHER, "mcp", "--project", "uptwo", "--upstream", "chrome-devtools"]
    both = [subprocess.Popen(command, env=env, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    said = []
    for process in both:
        assert process.stdin and process.stdout
        process.stdin.write(hello)
        process.stdin.flush()
    for process in both:
        assert process.stdin and process.stdout and process.stderr
        assert "result" in json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(10) == 0
        said.append(process.stderr.read())
        process.stdout.close()
        process.stderr.close()
    assert sum(b"installing chrome-devtools-mcp" in text for text in said) == 1, said
    assert sorted(path.name for path in (folder / "upstream").iterdir()) == [".lock", install.place(folder).name]

"""MCP servers of others on a session: how each is started, and its tools with answers that must be good."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

from tests.bench.stdio import Server, Timed
from tests.support import proc
from tests.support.hosts import Host
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, Stack

from .scene import MODULES, Scene


class Peer:
    """A server that drives the scene's session. Use `start`, then `close`."""

    line_ref: ClassVar[str] = r"\[(?:[^\]]*, ?)?ref=(\w+)"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.server: Server

    def argv(self) -> list[str]:
        raise NotImplementedError

    def env(self) -> dict[str, str]:
        return self.scene.env()

    @property
    def ws(self) -> str:
        """The WebSocket address that it is told."""
        return self.scene.ws

    @property
    def http(self) -> str:
        """The HTTP address that it is told."""
        return self.scene.http

    @property
    def folder(self) -> Path:
        """Where it runs: a folder that holds the project's files and its own home."""
        return self.scene.stack.root

    async def start(self) -> None:
        """Spawn it."""
        self.server = await Server.start(self.argv(), self.env(), self.folder)
        await self.server.handshake()
        await self.server.list_tools()

    async def close(self) -> None:
        """End it."""
        await self.server.close()

    async def __call__(self, tool: str, **arguments: Any) -> Timed:
        """A call that must succeed."""
        answer = await self.server.tool(tool, arguments)
        assert not answer.error and not answer.hang, f"{tool} {arguments}: {answer.text[:1000]}"
        return answer

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        answer = await self.server.tool(tool, arguments)
        assert answer.error and not answer.hang, f"{tool} {arguments} succeeded: {answer.text[:1000]}"
        return answer.text

    def ref(self, snapshot: Timed, name: str) -> str:
        """The ref of the line that names an element."""
        for line in snapshot.text.splitlines():
            found = re.search(self.line_ref, line)
            if found and f'"{name}"' in line:
                return found[1]
        raise AssertionError(f"no {name!r} in {snapshot.text[:2000]}")


class ChromeDevtools(Peer):
    """chrome-devtools-mcp, by WebSocket address."""

    line_ref = r"uid=(\S+)"

    def argv(self) -> list[str]:
        script = MODULES / "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
        return ["node", str(script), "--wsEndpoint", self.ws, "--no-usage-statistics"]

    async def pages(self) -> dict[str, int]:
        """Address → number, of all pages it sees."""
        listed = (await self("list_pages")).text
        return {url: int(number) for number, url in re.findall(r"(?m)^\s*(\d+): (\S+)", listed)}

    async def page(self, part: str) -> int:
        """The number of the page whose address holds ``part``, once it is there."""
        for _ in range(100):
            found = [number for url, number in (await self.pages()).items() if part in url]
            if found:
                return found[-1]
        raise AssertionError(f"no page with {part} in {await self.pages()}")


class PlaywrightMcp(Peer):
    """@playwright/mcp, by HTTP address."""

    def argv(self) -> list[str]:
        return ["node", str(MODULES / "@playwright/mcp/cli.js"), "--cdp-endpoint", self.http, "--output-dir", str(self.scene.home)]

    async def tab(self, part: str) -> int:
        """The number of the tab whose address holds ``part``, once it is there."""
        for _ in range(100):
            listed = (await self("browser_tabs", action="list")).text
            found = [int(number) for number, rest in re.findall(r"(?m)^- (\d+): (.*)$", listed) if part in rest]
            if found:
                return found[-1]
        raise AssertionError(f"no tab with {part} in {listed}")


class AgentBrowser(Peer):
    """agent-browser, by WebSocket address; its browser connection lives in a daemon of its own."""

    def argv(self) -> list[str]:
        return [str(MODULES / "agent-browser/bin/agent-browser-linux-x64"), "mcp", "--tools", "all"]

    def env(self) -> dict[str, str]:
        own = {"AGENT_BROWSER_CDP": self.ws, "AGENT_BROWSER_SESSION": self.scene.project, "AGENT_BROWSER_IDLE_TIMEOUT_MS": "120000"}
        return {**super().env(), **own}

    def daemon(self) -> int:
        """The daemon's pid; raises OSError when there is none."""
        return int((self.scene.home / ".agent-browser" / f"{self.scene.project}.pid").read_text())

    async def close(self) -> None:
        await super().close()
        with contextlib.suppress(OSError, ProcessLookupError):
            os.kill(self.daemon(), signal.SIGKILL)
        proc.gone(str(MODULES / "agent-browser"))


class Launched(Peer):
    """Such a server beside ours, by ``telebrowser mcp --upstream``; ``host`` is the machine that it and its files are on, where that is another."""

    host: ClassVar[Host | None] = None
    ws, http = "{ws}", "{http}"

    def argv(self) -> list[str]:
        prefix = self.host.prefix if self.host is not None else ()
        return [*prefix, LAUNCHER, "mcp", "--project", self.scene.project, "--session", self.scene.session, "--upstream", "--", *super().argv()]

    def env(self) -> dict[str, str]:
        address = self.host.address if self.host is not None else "127.0.0.1"
        own = {"TELEBROWSER_URL": f"http://{address}:{self.scene.recorder.port}", "TELEBROWSER_CONFIG_DIR": str(self.scene.stack.secret_file.parent)}
        return {**super().env(), **own}

    @property
    def folder(self) -> Path:
        folder = self.scene.home / "work"
        folder.mkdir(exist_ok=True)
        return folder


class LaunchedChromeDevtools(Launched, ChromeDevtools):
    """chrome-devtools-mcp as an upstream server."""


class LaunchedPlaywrightMcp(Launched, PlaywrightMcp):
    """@playwright/mcp as an upstream server."""


@contextlib.asynccontextmanager
async def running(kind: type[Peer], stack: Stack, pages: Pages, *, selected: bool = True, address: str = "127.0.0.1") -> AsyncIterator[tuple[Any, Scene]]:
    """A server on the session of a scene; at the end, nobody else may have noticed."""
    async with Scene.open(stack, pages, address) as scene:
        peer = kind(scene)
        await peer.start()
        try:
            yield peer, scene
            await scene.check(selected)
        finally:
            await peer.close()
        await scene.check(selected)
        await scene.gone()

"""How each server is started, and how it is told to do what every browser server can do.

An operation gives a `Timed` answer, or None where the server has no tool for it. Add a server by adding a class here and a
row to `ADAPTERS`.
"""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tests.support.stack import LAUNCHER

from .stdio import Server, Timed

PEERS = Path(__file__).resolve().parents[2] / ".bench"
MODULES = PEERS / "node_modules"
QUIET = {"CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1", "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"}
IMAGE_PATH = re.compile(r"[\w./~-]+\.(?:png|jpe?g|webp)")


@dataclass(frozen=True)
class Place:
    """Where a server runs: its home, the CDP address it attaches to, its environment, and where its files may land."""

    home: Path
    http: str
    ws: str
    env: dict[str, str]
    project: str = ""
    files: tuple[Path, ...] = ()

    @property
    def port(self) -> str:
        return self.http.rpartition(":")[2]


class Adapter:
    """One server. `begin` spawns it; `start` also shakes hands and reads its tools."""

    key: ClassVar[str]
    title: ClassVar[str]
    line_ref: ClassVar[str] = r"\[(?:[^\]]*, ?)?ref=(\w+)"
    through_gateway: ClassVar[bool] = False

    def __init__(self, place: Place) -> None:
        self.place = place
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        """The running server."""
        assert self._server, f"{self.title} is not started"
        return self._server

    def argv(self) -> list[str]:
        raise NotImplementedError

    def env(self) -> dict[str, str]:
        return {**self.place.env, **QUIET}

    async def begin(self) -> None:
        """Spawn the server."""
        self._server = await Server.start(self.argv(), self.env(), self.place.home)

    async def start(self) -> None:
        """Spawn the server and make it ready for calls."""
        await self.begin()
        await self.server.handshake()
        await self.server.list_tools()

    async def close(self) -> None:
        """End the server, if it was started, and what it left behind."""
        if self._server:
            await self._server.close()
            self._server = None

    @property
    def can_force(self) -> bool:
        """Whether a click takes ``force``."""
        return False

    async def tool(self, name: str, **arguments: Any) -> Timed | None:
        """Call a tool if the server has it; arguments of None are left out."""
        if name not in self.server.tools:
            return None
        return await self.server.tool(name, {key: value for key, value in arguments.items() if value is not None})

    async def must(self, name: str, **arguments: Any) -> Timed:
        """Call a tool that the server is known to have."""
        answer = await self.tool(name, **arguments)
        assert answer is not None, f"{self.title} has no tool {name}"
        return answer

    def ref(self, text: str, name: str, role: str | None = None) -> str | None:
        """The ref of the snapshot line whose quoted name, or trailing text, is ``name``."""
        for line in text.split("\n"):
            found = re.search(self.line_ref, line)
            if not found:
                continue
            names = re.findall(r'"((?:[^"\\]|\\.)*)"', line) + re.findall(r':\s+"?([^"\[\]]*?)"?\s*$', line)
            if name in names and (role is None or re.search(role, line)):
                return found[1]
        return None

    def selector(self, css: str) -> str | None:
        """A target by CSS selector, for what has no ref; None where the server takes refs only."""
        return css

    def image(self, answer: Timed | None) -> bytes | None:
        """The bytes of a screenshot: inline, else of the file that the text names."""
        if answer is None or answer.error:
            return None
        if answer.images:
            return bytes(answer.images[0])
        for path in IMAGE_PATH.findall(answer.text):
            file = self.place.home / path
            if file.is_file():
                return file.read_bytes()
        return None

    async def navigate(self, url: str) -> Timed:
        raise NotImplementedError

    async def snapshot(self) -> Timed:
        raise NotImplementedError

    async def fuller_snapshot(self) -> Timed | None:
        """The server's fullest snapshot, where it has two kinds."""
        return None

    async def click(self, ref: str, force: bool = False) -> Timed:
        raise NotImplementedError

    async def type(self, ref: str, text: str) -> Timed:
        raise NotImplementedError

    async def type_otherwise(self, ref: str, text: str) -> Timed | None:
        """A second way to type, where the server has one."""
        return None

    async def evaluate_title(self) -> Timed | None:
        raise NotImplementedError

    async def wait_for(self, text: str) -> Timed | None:
        raise NotImplementedError

    async def screenshot(self, full: bool = False) -> Timed | None:
        raise NotImplementedError

    async def get_text(self) -> Timed | None:
        return None

    async def tabs(self) -> Timed | None:
        raise NotImplementedError

    async def new_tab(self, url: str) -> Timed | None:
        raise NotImplementedError

    async def find(self, text: str, css: str) -> Timed | None:
        """Reach a part of a long page, by text or by scope."""
        return None

    async def upload(self, ref: str, paths: list[str]) -> Timed | None:
        return None

    async def dialog(self, accept: bool) -> Timed | None:
        return None


class ChromeDevtools(Adapter):
    key = "cd"
    title = "chrome-devtools-mcp 1.11.0"
    line_ref = r"uid=(\S+)"
    page: int | None = None

    def argv(self) -> list[str]:
        script = MODULES / "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
        return ["node", str(script), "--browserUrl", self.place.http, "--no-usage-statistics"]

    async def _page(self) -> int:
        if self.page is None:
            self.page = self._pages((await self.must("list_pages")).text)[-1]
        return self.page

    @staticmethod
    def _pages(text: str) -> list[int]:
        return [int(number) for number in re.findall(r"(?m)^\s*(\d+): ", text)]

    def selector(self, css: str) -> str | None:
        return None

    async def navigate(self, url: str) -> Timed:
        return await self.must("navigate_page", type="url", url=url, pageId=await self._page())

    async def snapshot(self) -> Timed:
        return await self.must("take_snapshot", pageId=await self._page())

    async def fuller_snapshot(self) -> Timed | None:
        return await self.tool("take_snapshot", verbose=True, pageId=await self._page())

    async def click(self, ref: str, force: bool = False) -> Timed:
        return await self.must("click", uid=ref, pageId=await self._page())

    async def type(self, ref: str, text: str) -> Timed:
        return await self.must("fill", uid=ref, value=text, pageId=await self._page())

    async def type_otherwise(self, ref: str, text: str) -> Timed | None:
        await self.click(ref)
        return await self.tool("type_text", text=text, pageId=await self._page())

    async def evaluate_title(self) -> Timed | None:
        return await self.tool("evaluate_script", function="() => document.title", pageId=await self._page())

    async def wait_for(self, text: str) -> Timed | None:
        return await self.tool("wait_for", text=[text], timeout=5000, pageId=await self._page())

    async def screenshot(self, full: bool = False) -> Timed | None:
        return await self.tool("take_screenshot", fullPage=full, pageId=await self._page())

    async def tabs(self) -> Timed | None:
        return await self.tool("list_pages")

    async def new_tab(self, url: str) -> Timed | None:
        answer = await self.must("new_page", url=url)
        self.page = (self._pages(answer.text) or [await self._page()])[-1]
        return answer

    async def upload(self, ref: str, paths: list[str]) -> Timed | None:
        return await self.tool("upload_file", uid=ref, filePaths=paths, pageId=await self._page())

    async def dialog(self, accept: bool) -> Timed | None:
        return await self.tool("handle_dialog", action="accept" if accept else "dismiss", pageId=await self._page())


class Playwright(Adapter):
    key = "pw"
    title = "@playwright/mcp 0.0.83"

    def argv(self) -> list[str]:
        return ["node", str(MODULES / "@playwright/mcp/cli.js"), "--cdp-endpoint", self.place.http]

    async def navigate(self, url: str) -> Timed:
        return await self.must("browser_navigate", url=url)

    async def snapshot(self) -> Timed:
        return await self.must("browser_snapshot")

    async def click(self, ref: str, force: bool = False) -> Timed:
        return await self.must("browser_click", target=ref)

    async def type(self, ref: str, text: str) -> Timed:
        return await self.must("browser_type", target=ref, text=text)

    async def type_otherwise(self, ref: str, text: str) -> Timed | None:
        return await self.tool("browser_type", target=ref, text=text, slowly=True)

    async def evaluate_title(self) -> Timed | None:
        return await self.tool("browser_evaluate", function="() => document.title")

    async def wait_for(self, text: str) -> Timed | None:
        return await self.tool("browser_wait_for", text=text)

    async def screenshot(self, full: bool = False) -> Timed | None:
        return await self.tool("browser_take_screenshot", fullPage=full, scale="css", type="png")

    async def tabs(self) -> Timed | None:
        return await self.tool("browser_tabs", action="list")

    async def new_tab(self, url: str) -> Timed | None:
        return await self.tool("browser_tabs", action="new", url=url)

    async def find(self, text: str, css: str) -> Timed | None:
        return await self.tool("browser_find", text=text)

    async def upload(self, ref: str, paths: list[str]) -> Timed | None:
        opened = await self.click(ref)
        if opened.error:
            return opened
        answer = await self.must("browser_file_upload", paths=paths)
        answer.ms += opened.ms
        return answer

    async def dialog(self, accept: bool) -> Timed | None:
        return await self.tool("browser_handle_dialog", accept=accept)


class AgentBrowser(Adapter):
    """Without any settling after an action: a floor for time, not a like."""

    key = "ab"
    title = "agent-browser 0.41.2"
    started: ClassVar[int] = 0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        AgentBrowser.started += 1
        self.session = f"bench{os.getpid()}-{AgentBrowser.started}"

    def argv(self) -> list[str]:
        # The package's own script would set the executable bit at install; it is run directly here.
        binary = MODULES / "agent-browser/bin/agent-browser-linux-x64"
        binary.chmod(0o755)
        return [str(binary), "mcp", "--tools", "all"]

    def env(self) -> dict[str, str]:
        return {
            **super().env(),
            "AGENT_BROWSER_CDP": self.place.port,
            "AGENT_BROWSER_SESSION": self.session,
            "AGENT_BROWSER_IDLE_TIMEOUT_MS": "120000",
        }

    async def tool(self, name: str, **arguments: Any) -> Timed | None:
        answer = await super().tool(name, **arguments)
        if answer is not None:
            # Notes on its launch, repeated in every answer.
            answer.text = re.sub(r'"lifecycle": \{.*?\n    \},?\s*', "", answer.text, flags=re.S)
        return answer

    async def close(self) -> None:
        await super().close()
        try:
            os.kill(self.daemon(), signal.SIGKILL)
        except (OSError, ValueError):
            return

    def daemon(self) -> int:
        """The pid of the process that holds its browser; raises OSError before it is there."""
        return int((self.place.home / ".agent-browser" / f"{self.session}.pid").read_text())

    @staticmethod
    def _target(ref: str) -> str:
        return "@" + ref if re.fullmatch(r"e\d+", ref) else ref

    async def navigate(self, url: str) -> Timed:
        return await self.must("agent_browser_open", url=url)

    async def snapshot(self) -> Timed:
        return await self.must("agent_browser_snapshot")

    async def fuller_snapshot(self) -> Timed | None:
        return await self.tool("agent_browser_snapshot", interactive=False)

    async def click(self, ref: str, force: bool = False) -> Timed:
        return await self.must("agent_browser_click", selector=self._target(ref))

    async def type(self, ref: str, text: str) -> Timed:
        return await self.must("agent_browser_fill", selector=self._target(ref), text=text)

    async def type_otherwise(self, ref: str, text: str) -> Timed | None:
        return await self.tool("agent_browser_type", selector=self._target(ref), text=text)

    async def evaluate_title(self) -> Timed | None:
        return await self.tool("agent_browser_eval", script="document.title")

    async def wait_for(self, text: str) -> Timed | None:
        return await self.tool("agent_browser_wait_for_text", text=text, waitTimeoutMs=5000)

    async def screenshot(self, full: bool = False) -> Timed | None:
        return await self.tool("agent_browser_screenshot", fullPage=full)

    async def get_text(self) -> Timed | None:
        return await self.tool("agent_browser_get_text", selector="body")

    async def tabs(self) -> Timed | None:
        return await self.tool("agent_browser_tab_list")

    async def new_tab(self, url: str) -> Timed | None:
        return await self.tool("agent_browser_tab_new", url=url)

    async def find(self, text: str, css: str) -> Timed | None:
        return await self.tool("agent_browser_snapshot", selector=css)

    async def upload(self, ref: str, paths: list[str]) -> Timed | None:
        return await self.tool("agent_browser_upload", selector=self._target(ref), files=paths)

    async def dialog(self, accept: bool) -> Timed | None:
        return await self.tool("agent_browser_dialog_accept" if accept else "agent_browser_dialog_dismiss")


class Product(Adapter):
    """The tools of telebrowser; how the launcher reaches a browser is up to the two classes below."""

    @property
    def can_force(self) -> bool:
        return True

    @staticmethod
    def _target(ref: str) -> dict[str, str]:
        return {"ref": ref} if re.fullmatch(r"[a-z]{0,2}\d[\w.:-]*", ref) else {"selector": ref}

    async def navigate(self, url: str) -> Timed:
        return await self.must("browser_navigate", url=url)

    async def snapshot(self) -> Timed:
        return await self.must("browser_snapshot")

    async def click(self, ref: str, force: bool = False) -> Timed:
        return await self.must("browser_click", **self._target(ref), force=force or None)

    async def type(self, ref: str, text: str) -> Timed:
        return await self.must("browser_type", **self._target(ref), text=text, clear_first=True)

    async def evaluate_title(self) -> Timed | None:
        return await self.tool("browser_evaluate", expression="document.title")

    async def wait_for(self, text: str) -> Timed | None:
        return await self.tool("browser_wait_for", text=text, timeout_ms=5000)

    async def screenshot(self, full: bool = False) -> Timed | None:
        return await self.tool("browser_screenshot", full_page=full)

    async def get_text(self) -> Timed | None:
        return await self.tool("browser_get_text")

    async def tabs(self) -> Timed | None:
        return await self.tool("browser_tabs", action="list")

    async def new_tab(self, url: str) -> Timed | None:
        return await self.tool("browser_tabs", action="new", url=url)

    async def find(self, text: str, css: str) -> Timed | None:
        if "browser_find" in self.server.tools:
            return await self.tool("browser_find", text=text)
        return await self.tool("browser_snapshot", scope=css)

    async def upload(self, ref: str, paths: list[str]) -> Timed | None:
        return await self.tool("browser_upload", **self._target(ref), paths=paths)

    async def dialog(self, accept: bool) -> Timed | None:
        return await self.tool("browser_dialog", action="accept" if accept else "dismiss")


class ProductGateway(Product):
    key = "gateway"
    title = "telebrowser, gateway"
    through_gateway = True

    def argv(self) -> list[str]:
        return [LAUNCHER, "mcp", "--project", self.place.project]


class ProductStandalone(Product):
    key = "standalone"
    title = "telebrowser, standalone"

    def argv(self) -> list[str]:
        return [LAUNCHER, "mcp", "--standalone", "--cdp-url", self.place.http]

    def env(self) -> dict[str, str]:
        return {**super().env(), "ENABLE_EVAL_JS": "1", "OUTPUT_DIR": str(self.place.home / "screenshots")}


ADAPTERS: dict[str, type[Adapter]] = {kind.key: kind for kind in (ProductGateway, ProductStandalone, ChromeDevtools, Playwright, AgentBrowser)}
PRODUCT = (ProductGateway.key, ProductStandalone.key)
RIVALS = (ChromeDevtools.key, Playwright.key)


def definitions_bytes(server: Server) -> int:
    """Bytes of the tools' definitions, as compact JSON."""
    return len(json.dumps(server.definitions, separators=(",", ":"), ensure_ascii=False).encode())

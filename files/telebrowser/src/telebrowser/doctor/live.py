"""The live check: a real MCP session in which an agent opens a page, presses its button and sees the effect."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterator

from ..cli.gateway import BROWSER_SECONDS, call
from ..launcher.address import Address
from .client import McpProcess, text_of
from .page import AFTER, BEFORE, BUTTON, PageServer, own_address
from .report import PASSED, Failure, Result, run_check

STEP_SECONDS = 15.0
START_SECONDS = 60.0
"""For the first step that needs the browser, which is started by it."""
TOOLS = ("browser_navigate", "browser_snapshot", "browser_click", "browser_get_text", "browser_screenshot")
ADVICE = "See run/gateway.log and run/supervisor.log in the data directory, and `telebrowser status --project doctor`."
IMAGE_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"RIFF")


class LiveSession:
    """The steps, in order; what one finds out the next ones use."""

    def __init__(self, client: McpProcess, url: str) -> None:
        self._client = client
        self._url = url
        self._ref = ""

    def steps(self) -> list[tuple[str, Callable[[], str]]]:
        """The steps by name."""
        return [
            ("initialize", self.initialize),
            ("tools/list", self.list_tools),
            ("browser_navigate", self.navigate),
            ("browser_snapshot", self.snapshot),
            ("browser_click", self.click),
            ("browser_get_text", self.get_text),
            ("browser_screenshot", self.screenshot),
            ("exit", self.exit),
        ]

    def initialize(self) -> str:
        """Shake hands."""
        server = self._client.initialize(STEP_SECONDS).get("serverInfo") or {}
        return f"{server.get('name')} {server.get('version')}"

    def list_tools(self) -> str:
        """The tools that the next steps need are offered."""
        tools = [tool.get("name") for tool in self._client.request("tools/list", {}, STEP_SECONDS).get("tools") or ()]
        missing = [name for name in TOOLS if name not in tools]
        if missing:
            raise Failure(f"not offered: {', '.join(missing)}", "Gateway and launcher are of different versions: update both.")
        return f"{len(tools)} tools"

    def navigate(self) -> str:
        """Open the page."""
        self._client.tool("browser_navigate", START_SECONDS, url=self._url)
        return self._url

    def snapshot(self) -> str:
        """See the button, and keep its ref."""
        text = text_of(self._client.tool("browser_snapshot", STEP_SECONDS))
        line = next((line for line in text.splitlines() if BUTTON in line and "ref=" in line), "")
        found = re.search(r"\bref=([\w.:-]+)", line)
        if found is None:
            raise Failure(f"the button {BUTTON!r} has no ref in it", ADVICE)
        self._ref = found.group(1)
        return f"button {BUTTON!r} is {self._ref}"

    def click(self) -> str:
        """Press the button."""
        self._client.tool("browser_click", STEP_SECONDS, ref=self._ref)
        return self._ref

    def get_text(self) -> str:
        """Read the text that the click changed."""
        text = text_of(self._client.tool("browser_get_text", STEP_SECONDS))
        if AFTER not in text or BEFORE in text:
            raise Failure("the click did not change the page's text", ADVICE)
        return f"“{AFTER}”"

    def screenshot(self) -> str:
        """Get an image."""
        content = self._client.tool("browser_screenshot", STEP_SECONDS)
        images = [base64.b64decode(str(part.get("data", ""))) for part in content if part.get("type") == "image"]
        if not images or not images[0].startswith(IMAGE_STARTS):
            raise Failure("the answer holds no image", ADVICE)
        return f"{len(images[0])} bytes"

    def exit(self) -> str:
        """The launcher ends when its stdin closes."""
        self._client.close()
        return "with its stdin"


def run(address: Address, command: list[str], environment: dict[str, str]) -> Iterator[Result]:
    """The results, each as soon as it is there; the first failure is the last but one: the browser is stopped in any case."""
    server: PageServer | None = None
    client: McpProcess | None = None

    def prepare() -> str:
        nonlocal server, client
        server = PageServer(own_address(address.host, address.port, STEP_SECONDS))
        client = McpProcess(command, environment, ADVICE)
        return server.url

    try:
        result = run_check("page", prepare)
        yield result
        if server is None or client is None:
            return
        for name, step in LiveSession(client, server.url).steps():
            result = run_check(name, step)
            yield result
            if result.outcome != PASSED:
                break
    finally:
        if client is not None:
            client.dispose()
        if server is not None:
            server.close()
    yield run_check("stop", lambda: stop(address))


def stop(address: Address) -> str:
    """Stop the check's own browser."""
    state = call(address, "POST", "stop", seconds=BROWSER_SECONDS).get("state")
    if state != "stopped":
        raise Failure(f"the browser is {state}", ADVICE)
    return f"project {address.project} is stopped"


def launcher_environment(url: str, config_dir: str) -> dict[str, str]:
    """The environment for the launcher: this one, with the address and folder that were checked."""
    return {**os.environ, "TELEBROWSER_URL": url, "TELEBROWSER_CONFIG_DIR": config_dir}

"""One agent under test: its MCP client, the truth about its browser, and the pages it visits."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from .mcp_client import Answer, McpClient
from .pages import Pages
from .truth import Truth


class Agent:
    """Every address an agent opens bears a mark of its own, so that truth finds its tab among those of others."""

    def __init__(self, client: McpClient, truth: Truth, pages: Pages, mode: str, files: Path) -> None:
        self.client, self.truth, self.pages, self.mode, self.files = client, truth, pages, mode, files
        self.mark = "t" + uuid.uuid4().hex[:10]
        self._target: str | None = None

    def url(self, case: str, fragment: str = "", base: str | None = None) -> str:
        """The marked address of a case page, or of any path with a suffix or a slash of its own."""
        path = case if "." in case or case == "who" else case + ".html"
        return f"{base or self.pages.base}/{path}?{self.mark}" + ("#" + fragment if fragment else "")

    async def open(self, case: str, fragment: str = "") -> Answer:
        """Navigate to a case; the answer may be an error."""
        return await self.client.call("browser_navigate", url=self.url(case, fragment))

    async def target(self) -> str:
        """The agent's first tab, by its mark; it is remembered, since a tab keeps its id."""
        if self._target is None:
            found = [info for info in await self.truth.targets() if self.mark in info["url"]]
            assert found, f"no tab with {self.mark} among {[info['url'] for info in await self.truth.targets()]}"
            self._target = str(found[0]["targetId"])
        return self._target

    async def eval(self, expression: str, timeout: float = 10) -> Any:
        """The value of an expression in the agent's first tab, by truth."""
        return await self.truth.eval(await self.target(), expression, timeout)

    async def wait(self, expression: str, wanted: Any = True, timeout: float = 5) -> Any:
        """Wait for an expression in the first tab; gives the last value seen."""
        return await self.truth.wait(await self.target(), expression, wanted, timeout)

    async def title(self, wanted: str) -> str:
        """The title of the first tab, once it is ``wanted`` or after a moment in which it did not become so."""
        return str(await self.wait("document.title", wanted, 2))

    async def snapshot(self, **arguments: Any) -> Answer:
        """A snapshot that must succeed."""
        return await self.client.ok("browser_snapshot", **arguments)

    async def ref(self, name: str, role: str | None = None) -> str:
        """The ref of an element in a new snapshot; the test fails without one."""
        snapshot = await self.snapshot()
        found = snapshot.ref(name, role)
        assert found, f"no ref for {name!r} in {snapshot.text[:3000]}"
        return found

    async def click(self, ref: str, **arguments: Any) -> Answer:
        """Click a ref; the answer may be an error."""
        return await self.client.call("browser_click", ref=ref, **arguments)

    async def type(self, ref: str, text: str, **arguments: Any) -> Answer:
        """Type into a ref; the answer may be an error."""
        return await self.client.call("browser_type", ref=ref, text=text, **arguments)

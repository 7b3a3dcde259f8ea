"""browser_handoff and browser_handoff_status through the SDK's own client in both eras, and byte by byte, without a browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import ElicitRequestURLParams, ElicitResult

from telebrowser.config import load
from telebrowser.errors import TelebrowserError
from telebrowser.mcp import handoff as module
from telebrowser.mcp.endpoint import Endpoint
from telebrowser.page.tab import Tab

LINK = "http://127.0.0.1:5859/h/one-time-token"
ERAS = ["legacy", "2026-07-28"]


class Port:
    """The handoffs of a session, ended by the test."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.changed = asyncio.Event()
        self.cancelled: list[str] = []
        self.link_given = LINK
        self.document: dict[str, Any] = {
            "id": "h1",
            "project": "shop",
            "state": "open",
            "reason": "Sign in",
            "asked_at": "2026-01-01T00:00:00+00:00",
            "deadline": "2026-01-01T00:30:00+00:00",
            "position": 0,
            "seen_at": None,
            "via": "",
            "note": "",
            "page": None,
            "cookies_saved": False,
            "notified": False,
            "settled": False,
        }

    def end(self, state: str, **more: Any) -> None:
        page = {"url": "https://shop.example/in", "title": "Welcome"}
        self.document = {**self.document, "state": state, "settled": True, "page": page, "cookies_saved": True, "via": "person", **more}
        self.changed.set()

    def guarded(self, target: str) -> str | None:
        return "h1" if target == "page-1" and self.document["state"] == "open" and self.asked else None

    def held(self, target: str) -> bool:
        return self.guarded(target) is not None

    async def ask(self, target: str, **asked: Any) -> dict[str, Any]:
        self.asked.append({"target": target, **asked})
        return self.document

    async def wait(self, ident: str, seconds: float) -> dict[str, Any]:
        assert ident == "h1"
        try:
            async with asyncio.timeout(seconds):
                await self.changed.wait()
        except TimeoutError:
            pass
        return self.document

    def find(self, ident: str | None) -> dict[str, Any]:
        if ident not in (None, "h1"):
            raise TelebrowserError("NOT_FOUND", "no such handoff")
        return self.document

    def link(self, ident: str) -> str | None:
        return self.link_given

    async def cancel(self, ident: str) -> None:
        self.cancelled.append(ident)
        self.end("cancelled", via="agent")

    async def decline(self, ident: str) -> None:
        self.end("failed", via="client", note="declined in the agent's client")


class Provider:
    """A session whose browser is never started."""

    project, session = "shop", "mine"

    def __init__(self, folder: Path, port: Port | None) -> None:
        self.output_dir = self.downloads_dir = self.uploads_dir = folder
        self.handoffs = port

    async def connect(self) -> Any:
        raise AssertionError("a browser was started")

    def activity(self) -> None:
        pass

    def status(self) -> dict[str, Any]:
        return {"project": "shop", "session": "mine", "state": "up"}

    async def aclose(self) -> None:
        pass


def make(folder: Path, port: Port | None) -> Endpoint:
    endpoint = Endpoint(Provider(folder, port), load("gateway", environ={}), evaluate=True, allow_private=True)  # type: ignore[arg-type]
    tabs = {name: Tab(target, name, 8) for name, target in (("t1", "page-1"), ("t2", "page-2"))}

    async def tab(name: str | None, seconds: float = 0) -> Tab:
        return tabs[name or "t1"]

    endpoint.engine.tab = tab  # type: ignore[method-assign]
    endpoint.engine.tabs = {each.target_id: each for each in tabs.values()}
    return endpoint


@pytest.fixture
def port() -> Port:
    return Port()


@pytest.fixture
async def endpoint(tmp_path: Path, port: Port, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Endpoint]:
    monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.02)
    made = make(tmp_path, port)
    yield made
    await made.aclose()


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def told(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    found: dict[str, Any] = json.loads(text_of(result))
    return found


def shows(port: Port, seen: list[str], action: str, after: Callable[[], None] | None = None) -> Any:
    """A client's answer to an address that is to be shown."""

    async def elicit(_context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams) and "Sign in" in params.message
        seen.append(params.url)
        if after is not None:
            after()
        return ElicitResult(action=action)  # type: ignore[arg-type]

    return elicit


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_shows_addresses_gets_the_link_and_the_agent_does_not(endpoint: Endpoint, port: Port, mode: Any) -> None:
    seen: list[str] = []
    elicit = shows(port, seen, "accept", lambda: asyncio.get_running_loop().call_later(0.1, port.end, "done") and None)
    async with Client(endpoint.server(), mode=mode, elicitation_callback=elicit) as agent:
        result = await agent.call_tool("browser_handoff", {"reason": "Sign in", "done_when": {"text": "Welcome"}})
        answer = told(result)
    assert seen == [LINK] and LINK not in text_of(result)
    assert (answer["handoff"], answer["state"], answer["page"]["title"], answer["cookies_saved"]) == ("h1", "done", "Welcome", True)
    assert [(asked["target"], asked["reason"], asked["done_when"]) for asked in port.asked] == [("page-1", "Sign in", {"text": "Welcome"})]
    assert port.asked[0]["agent"] or mode != "legacy"


@pytest.mark.parametrize("mode", ERAS)
async def test_a_person_who_declines_at_the_client_ends_it(endpoint: Endpoint, port: Port, mode: Any) -> None:
    async with Client(endpoint.server(), mode=mode, elicitation_callback=shows(port, [], "decline")) as agent:
        answer = told(await agent.call_tool("browser_handoff", {"reason": "Sign in"}))
    assert (answer["state"], answer["via"]) == ("failed", "client")


@pytest.mark.parametrize("mode", ERAS)
async def test_a_person_who_puts_it_off_leaves_it_open_and_the_agent_gets_the_link(endpoint: Endpoint, port: Port, mode: Any) -> None:
    async with Client(endpoint.server(), mode=mode, elicitation_callback=shows(port, [], "cancel")) as agent:
        answer = told(await agent.call_tool("browser_handoff", {"reason": "Sign in", "wait_seconds": 0}))
    assert answer["state"] == "open" and answer["link"] == LINK


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_shows_none_gets_the_link_in_the_answer_at_once(endpoint: Endpoint, port: Port, mode: Any) -> None:
    async with Client(endpoint.server(), mode=mode) as agent:
        answer = told(await agent.call_tool("browser_handoff", {"reason": "Sign in", "tab": "t2"}))
        assert answer["link"] == LINK and answer["state"] == "open" and "browser_handoff_status" in answer["next"] and "cookies_saved" not in answer
        assert port.asked[0]["target"] == "page-2"
        asyncio.get_running_loop().call_later(0.05, port.end, "done")
        answer = told(await agent.call_tool("browser_handoff_status", {"wait_seconds": 30}))
        assert answer["state"] == "done" and "link" not in answer
        assert told(await agent.call_tool("browser_handoff_status", {"handoff": "h1"}))["state"] == "done"
        assert text_of(await agent.call_tool("browser_handoff_status", {"handoff": "h2"})).startswith("[NOT_FOUND] ")


async def test_beside_another_server_the_page_is_the_one_that_was_used_last(endpoint: Endpoint, port: Port) -> None:
    async with Client(endpoint.server(own=True), mode="legacy") as agent:
        await agent.call_tool("browser_handoff", {"reason": "Sign in"})
        await agent.call_tool("browser_handoff", {"reason": "Sign in", "tab": "t2"})
    assert [asked["target"] for asked in port.asked] == [None, "page-2"]


async def test_progress_is_told_while_waiting_and_only_grows(endpoint: Endpoint, port: Port) -> None:
    steps: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append((done, total, message))
        if len(steps) == 3:
            port.document["seen_at"] = "2026-01-01T00:00:01+00:00"
        if len(steps) == 5:
            port.end("done")

    async with Client(endpoint.server(), mode="legacy") as agent:
        assert told(await agent.call_tool("browser_handoff", {"reason": "Sign in", "wait_seconds": 60}, progress_callback=progress))["state"] == "done"
    done = [step[0] for step in steps]
    assert len(steps) >= 5 and done == sorted(set(done)) and {step[1] for step in steps} == {60.0}
    assert steps[0][2] == "waiting for a person" and "opened" in (steps[4][2] or "")


async def test_a_wait_that_ends_before_the_person_does_is_no_error(endpoint: Endpoint, port: Port) -> None:
    async with Client(endpoint.server(), mode="legacy") as agent:
        assert told(await agent.call_tool("browser_handoff", {"reason": "Sign in", "wait_seconds": 1}))["state"] == "open"
        assert told(await agent.call_tool("browser_handoff_status", {}))["state"] == "open"


async def test_expiry_is_the_one_error_and_status_tells_of_it_plainly(endpoint: Endpoint, port: Port) -> None:
    port.end("expired", via="deadline")
    async with Client(endpoint.server(), mode="legacy") as agent:
        result = await agent.call_tool("browser_handoff", {"reason": "Sign in", "wait_seconds": 1})
        assert result.is_error and text_of(result).startswith("[HANDOFF_TIMEOUT] ")
        assert told(await agent.call_tool("browser_handoff_status", {}))["state"] == "expired"


async def test_status_can_call_it_off(endpoint: Endpoint, port: Port) -> None:
    async with Client(endpoint.server(), mode="legacy") as agent:
        await agent.call_tool("browser_handoff", {"reason": "Sign in"})
        assert told(await agent.call_tool("browser_handoff_status", {"cancel": True}))["state"] == "cancelled"
    assert port.cancelled == ["h1"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"reason": ""},
        {"reason": "x" * 501},
        {"reason": "Sign in", "wait_seconds": 3601},
        {"reason": "Sign in", "done_when": {}},
        {"reason": "Sign in", "done_when": {"css": "a"}},
        {"reason": "Sign in", "done_when": "Welcome"},
        {"reason": "Sign in", "timeout_ms": 5},
    ],
)
async def test_arguments_are_checked(endpoint: Endpoint, port: Port, arguments: dict[str, Any]) -> None:
    async with Client(endpoint.server(), mode="legacy") as agent:
        result = await agent.call_tool("browser_handoff", arguments)
    assert result.is_error and text_of(result).startswith("[INVALID_ARGS] ") and port.asked == []


async def test_where_no_person_can_come_the_answer_says_so(tmp_path: Path) -> None:
    endpoint = make(tmp_path, None)
    async with Client(endpoint.server(), mode="legacy") as agent:
        for tool, arguments in (("browser_handoff", {"reason": "Sign in"}), ("browser_handoff_status", {})):
            result = await agent.call_tool(tool, arguments)
            assert result.is_error and "No person can come" in text_of(result) and "telebrowser up" in text_of(result)
    await endpoint.aclose()


ACTS = {
    "browser_click": {"selector": "#a"},
    "browser_type": {"selector": "#a", "text": "x"},
    "browser_scroll": {"direction": "down"},
    "browser_navigate": {"url": "about:blank"},
    "browser_evaluate": {"expression": "1"},
    "browser_dialog": {"action": "accept"},
    "browser_tabs": {"action": "close", "tab": "t1"},
}


@pytest.mark.parametrize("tool", ACTS)
async def test_what_would_get_in_the_persons_way_is_refused(endpoint: Endpoint, port: Port, tool: str) -> None:
    async with Client(endpoint.server(), mode="legacy") as agent:
        await agent.call_tool("browser_handoff", {"reason": "Sign in"})
        result = await agent.call_tool(tool, ACTS[tool])
    assert result.is_error and text_of(result).startswith("[HANDOFF_OPEN] Tab t1 is a person's: handoff h1 is open."), result.content


class Wire:
    """One connection to an endpoint, every message in sight."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.inbound: asyncio.Queue[str | None] = asyncio.Queue()
        self.outbound: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task = asyncio.create_task(endpoint.run(self.inbound.get, self._sent))

    async def _sent(self, text: str) -> None:
        self.outbound.put_nowait(json.loads(text))

    def send(self, method: str, params: dict[str, Any], ident: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.inbound.put_nowait(json.dumps(message if ident is None else {**message, "id": ident}))

    async def open(self) -> Wire:
        self.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}, 1)
        async with asyncio.timeout(10):
            await self.outbound.get()
        self.send("notifications/initialized", {})
        return self

    async def close(self) -> None:
        self.inbound.put_nowait(None)
        async with asyncio.timeout(10):
            await self.task


async def reached(check: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not check():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("reason", "off"),
    [("the user pressed stop", True), (None, True), ("MCP error -32001: Request timed out", False), ("Request timed out after 60 s", False)],
)
async def test_calling_off_cancels_but_losing_patience_does_not(endpoint: Endpoint, port: Port, reason: str | None, off: bool) -> None:
    wire = await Wire(endpoint).open()
    wire.send("tools/call", {"name": "browser_handoff", "arguments": {"reason": "Sign in", "wait_seconds": 600}}, 2)
    await reached(lambda: port.asked)
    wire.send("notifications/cancelled", {"requestId": 2} if reason is None else {"requestId": 2, "reason": reason})
    wire.send("ping", {}, 3)
    async with asyncio.timeout(10):
        while (await wire.outbound.get()).get("id") != 3:
            pass
    await reached(lambda: port.cancelled == (["h1"] if off else []))
    await wire.close()
    assert port.document["state"] == ("cancelled" if off else "open")


async def test_a_lost_connection_takes_nothing_from_the_person(endpoint: Endpoint, port: Port) -> None:
    wire = await Wire(endpoint).open()
    wire.send("tools/call", {"name": "browser_handoff", "arguments": {"reason": "Sign in", "wait_seconds": 600}}, 2)
    await reached(lambda: port.asked)
    await wire.close()
    assert port.cancelled == [] and port.document["state"] == "open"
    again = await Wire(endpoint).open()
    again.send("tools/call", {"name": "browser_handoff_status", "arguments": {"wait_seconds": 600}}, 2)
    port.end("done")
    async with asyncio.timeout(10):
        while (answer := await again.outbound.get()).get("id") != 2:
            pass
    assert json.loads(answer["result"]["content"][0]["text"])["state"] == "done"
    await again.close()

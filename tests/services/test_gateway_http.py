"""The gateway's paths on a real stack: discovery, page endpoints, foreign clients' ways of attaching, slow readers, files, logs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import websockets

from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import Stack, request, token
from tests.support.truth import CdpError, Truth

PROJECT = "http"


def test_discovery_names_this_gateway(stack: Stack) -> None:
    version = stack.http("GET", "json/version", PROJECT).json
    assert version["webSocketDebuggerUrl"] == stack.ws(PROJECT) and version["Browser"].startswith("Chrome/") and version["Protocol-Version"] == "1.3"
    assert stack.http("GET", "json/version/", PROJECT).json == version
    assert "Page" in {row["domain"] for row in stack.http("GET", "json/protocol", PROJECT).json["domains"]}
    scoped = stack.http("GET", "s/one/json/version", PROJECT).json
    assert scoped["webSocketDebuggerUrl"] == stack.ws(PROJECT, "one")
    (page,) = [row for row in stack.http("GET", "json", PROJECT).json if row["type"] == "page"]
    assert page["webSocketDebuggerUrl"] == stack.path(f"devtools/page/{page['id']}", PROJECT, "ws")
    reply = stack.http("GET", "json/version", PROJECT, Host=f"localhost:{stack.port}", X_Forwarded_Proto="https", X_Forwarded_Host="evil.example")
    assert reply.json["webSocketDebuggerUrl"].startswith(f"ws://localhost:{stack.port}/t/"), "nobody is a trusted proxy here"


def test_new_tabs_are_opened_for_the_session_by_put_only(stack: Stack, pages: Pages) -> None:
    url = f"{pages.base}/clock.html?json-new"
    for method in ("GET", "POST"):
        assert stack.http(method, f"s/maker/json/new?{url}", PROJECT).status == 405
    made = stack.http("PUT", f"s/maker/json/new?{url}", PROJECT)
    assert made.status == 200 and made.json["type"] == "page", made
    target = made.json["id"]
    assert [row["id"] for row in stack.http("GET", "s/maker/json/list", PROJECT).json] == [target]
    assert stack.http("GET", "s/other/json/list", PROJECT).json == []
    for action in ("activate", "close"):
        assert stack.http("GET", f"s/other/json/{action}/{target}", PROJECT).status == 404
    for bad in ("file:///etc/passwd", "chrome://quit", "chrome:%2f%2fsettings", "view-source:http://a/"):
        refused = stack.http("PUT", f"json/new?{bad}", PROJECT)
        assert refused.status == 400 and refused.json["error"]["code"] == "INVALID_URL", (bad, refused)
    assert stack.http("GET", f"s/maker/json/close/{target}", PROJECT).body == b"Target is closing"
    assert target not in stack.http("GET", "json/list", PROJECT).body.decode()


async def test_a_page_endpoint_is_that_page_alone(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    one = await truths(stack.ws(PROJECT, "page-one"))
    target = (await one.targets())[0]["targetId"]
    page = await truths(stack.path(f"s/page-one/devtools/page/{target}", PROJECT, "ws"))
    assert (await page.call("Runtime.evaluate", {"expression": "6*7"}))["result"]["value"] == 42
    await page.call("Page.enable")
    await page.call("Page.navigate", {"url": f"{pages.base}/clock.html"})
    event = await page.event(lambda row: row["method"] == "Page.loadEventFired")
    assert "sessionId" not in event
    assert [row["targetId"] for row in await page.targets()] == [target]
    with pytest.raises(CdpError, match="not allowed"):
        await page.call("Browser.crash")
    with pytest.raises(websockets.InvalidStatus) as missing:
        await websockets.connect(stack.path(f"s/somebody-else/devtools/page/{target}", PROJECT, "ws"), proxy=None)
    assert missing.value.response.status_code == 404
    await one.call("Target.createTarget", {"url": "about:blank"})
    await one.call("Target.closeTarget", {"targetId": target})
    async with asyncio.timeout(10):
        await page.closed.wait()


async def test_auto_attach_of_tabs_as_puppeteer_does_it(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    client = await truths(stack.ws(PROJECT, "puppeteer"))
    await client.call("Target.setDiscoverTargets", {"discover": True, "filter": [{}]})
    attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{"type": "page", "exclude": True}, {}]}
    await client.call("Target.setAutoAttach", attach)
    tabs = [row["params"] for row in client.events if row["method"] == "Target.attachedToTarget"]
    assert [row["targetInfo"]["type"] for row in tabs] == ["tab"]
    made = (await client.call("Target.createTarget", {"url": f"{pages.base}/clock.html?pp"}))["targetId"]
    tab = next(row["params"] for row in client.events[::-1] if row["method"] == "Target.attachedToTarget")
    assert tab["targetInfo"]["type"] == "tab" and tab["targetInfo"]["targetId"] != tabs[0]["targetInfo"]["targetId"]
    await client.call("Target.setAutoAttach", {**attach, "filter": [{}]}, tab["sessionId"])
    page = await client.event(lambda row: row["method"] == "Target.attachedToTarget" and row["params"]["targetInfo"]["targetId"] == made)
    assert page["sessionId"] == tab["sessionId"]
    assert (await client.call("Runtime.evaluate", {"expression": "6*7"}, page["params"]["sessionId"]))["result"]["value"] == 42
    kinds = {row["params"]["targetInfo"]["type"] for row in client.events if row["method"] == "Target.targetCreated"}
    assert kinds == {"page", "tab", "browser"}


async def test_auto_attach_of_pages_as_playwright_does_it(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    client = await truths(stack.ws(PROJECT, "playwright"))
    await client.call("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})
    made = (await client.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
    attached = [row["params"]["targetInfo"]["targetId"] for row in client.events if row["method"] == "Target.attachedToTarget"]
    assert made in attached and len(attached) == 2, "a new page is attached before its creator hears of it"
    session = next(
        row["params"]["sessionId"] for row in client.events if row["method"] == "Target.attachedToTarget" and row["params"]["targetInfo"]["targetId"] == made
    )
    await client.call("Page.navigate", {"url": f"{pages.base}/clock.html"}, session)
    await client.call("Runtime.evaluate", {"expression": f"window.open('{pages.base}/who?popup')", "userGesture": True}, session)
    popup = await client.event(lambda row: row["method"] == "Target.attachedToTarget" and row["params"]["targetInfo"].get("openerId") == made)
    assert (await client.call("Runtime.evaluate", {"expression": "6*7"}, popup["params"]["sessionId"]))["result"]["value"] == 42
    root = (await client.call("Target.attachToBrowserTarget"))["sessionId"]
    assert {row["targetId"] for row in (await client.call("Target.getTargets", {}, root))["targetInfos"]} >= {made}
    with pytest.raises(CdpError, match="not allowed"):
        await client.call("Browser.crash", {}, root)


async def test_a_slow_reader_is_cut_off_and_nobody_else_notices(stack: Stack, truths: Callable[..., Any]) -> None:
    other = await truths(stack.ws(PROJECT, "fast"))
    session = await other.attach((await other.targets())[0]["targetId"])
    slow = Raw(stack, "s/slow/devtools/browser")
    slow.send({"id": 1, "method": "Target.getTargets"})
    target = slow.receive()["result"]["targetInfos"][0]["targetId"]
    slow.send({"id": 2, "method": "Target.attachToTarget", "params": {"targetId": target, "flatten": True}})
    slow.receive()
    theirs = slow.receive()["result"]["sessionId"]
    gateway = stack.children["gateway"].pid
    proc.forget_peak(gateway)
    before = proc.rss_kib(gateway)
    for number in range(40):
        evaluate = {"expression": "'x'.repeat(8000000)", "returnByValue": True}
        slow.send({"id": 10 + number, "method": "Runtime.evaluate", "params": evaluate, "sessionId": theirs})
    assert (await other.call("Runtime.evaluate", {"expression": "6*7"}, session, 60))["result"]["value"] == 42
    for _ in range(600):
        rows = {row["session"]: row["connections"] for row in stack.status(PROJECT)["sessions"]}
        if rows.get("slow", 0) == 0:
            break
        await asyncio.sleep(0.1)
    assert rows.get("slow", 0) == 0, "a client that reads nothing is cut off"
    # The queue, and the few copies of the message that is on its way.
    assert proc.peak_rss_kib(gateway) - before < (128 + 64) << 10
    slow.drain()
    assert "a client of slow is cut off" in stack.output("gateway")
    assert (await other.call("Runtime.evaluate", {"expression": "6*7"}, session))["result"]["value"] == 42


class Raw:
    """A WebSocket client of few lines that reads only when told to."""

    def __init__(self, stack: Stack, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", stack.port), 30)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        head = f"GET /t/{token(PROJECT)}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.socket.sendall((head + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(65536)
        answer, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        assert b" 101 " in answer.split(b"\r\n")[0], answer

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        head = b"\x81" + (struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else struct.pack("!BH", 0x80 | 126, len(data)))
        self.socket.sendall(head + b"\0\0\0\0" + data)

    def take(self, size: int) -> bytes:
        while len(self.buffer) < size:
            self.buffer += self.socket.recv(65536)
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def receive(self) -> dict[str, Any]:
        size = self.take(2)[1]
        if size == 126:
            size = struct.unpack("!H", self.take(2))[0]
        return dict(json.loads(self.take(size)))

    def drain(self) -> None:
        """Read what is left, which must end, and close."""
        with contextlib.suppress(ConnectionError):
            while self.socket.recv(1 << 20):
                pass
        self.socket.close()


async def visit(client: Truth, page: str, url: str) -> None:
    """Navigate and wait for the page to be loaded."""
    await client.call("Page.enable", {}, page)
    client.events.clear()
    await client.call("Page.navigate", {"url": url}, page)
    await client.event(lambda row: row["method"] == "Page.loadEventFired")


@pytest.fixture
async def session(stack: Stack, truths: Callable[..., Any]) -> AsyncIterator[tuple[Truth, str]]:
    client = await truths(stack.ws(PROJECT, "files"))
    yield client, await client.attach((await client.targets())[0]["targetId"])


async def test_a_file_input_takes_uploads_and_nothing_else(stack: Stack, pages: Pages, session: tuple[Truth, str]) -> None:
    client, page = session
    stored = stack.http("PUT", "uploads/notes.txt", PROJECT, b"some notes").json["path"]
    profile = stack.data / "projects" / PROJECT / "profile" / "Local State"
    link = stack.data / "projects" / PROJECT / "uploads" / "link"
    link.symlink_to(profile)
    await visit(client, page, pages.add("input.html", "<input type=file id=f>"))
    handle = (await client.call("Runtime.evaluate", {"expression": "document.querySelector('#f')"}, page))["result"]["objectId"]
    for path in (str(profile), "/etc/passwd", str(link), str(link.parent / ".." / "profile" / "Local State")):
        with pytest.raises(CdpError, match="uploads or downloads"):
            await client.call("DOM.setFileInputFiles", {"files": [path], "objectId": handle}, page)
    await client.call("DOM.setFileInputFiles", {"files": [stored], "objectId": handle}, page)
    read = {"expression": "f.files[0].text()", "awaitPromise": True, "returnByValue": True}
    assert (await client.call("Runtime.evaluate", read, page))["result"]["value"] == "some notes"
    link.unlink()


async def test_history_does_not_lead_to_internal_pages(stack: Stack, session: tuple[Truth, str], pages: Pages) -> None:
    client, page = session
    for name in ("clock.html", "who"):
        await visit(client, page, f"{pages.base}/{name}")
    entries = (await client.call("Page.getNavigationHistory", {}, page))["entries"]
    await client.call("Page.navigateToHistoryEntry", {"entryId": entries[-2]["id"]}, page)
    for url in ("file:///etc/passwd", "chrome://version", "view-source:file:///etc/passwd"):
        with pytest.raises(CdpError, match="Cannot open the address"):
            await client.call("Page.navigate", {"url": url}, page)


def test_an_upload_that_breaks_off_leaves_nothing(stack: Stack) -> None:
    with socket.create_connection(("127.0.0.1", stack.port), 30) as raw:
        raw.sendall(f"PUT /t/{token('broken')}/uploads/big.bin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n".encode() + b"x" * 5000)
    assert stack.http("PUT", "uploads/small.bin", "broken", b"whole").status == 201
    folder = stack.data / "projects" / "broken" / "uploads"
    for _ in range(200):
        if os.listdir(folder) == ["small.bin"]:
            break
        stack.healthy()
    assert os.listdir(folder) == ["small.bin"] and (folder / "small.bin").stat().st_mode & 0o777 == 0o600


def test_metrics_are_for_this_machine_and_name_nobody(stack: Stack) -> None:
    reply = request(stack.url + "/metrics")
    assert reply.status == 200 and b"telebrowser_browsers" in reply.body and PROJECT.encode() + b"." not in reply.body
    assert request(stack.url + "/metrics", X_Forwarded_For="10.0.0.1").status == 403
    assert request(stack.url + "/metrics", Host="evil.example").status == 403


@pytest.mark.parametrize("text", ["-1", "x", "", "99999999", "1.5", "٣"])
def test_a_hold_of_no_number(stack: Stack, text: str) -> None:
    assert stack.http("POST", f"hold?minutes={text.encode('unicode_escape').decode()}", PROJECT, b"").status == 400


def test_the_log_holds_no_token(stack: Stack) -> None:
    bearer = token(PROJECT).partition(".")[2]
    stack.http("GET", f"downloads/{bearer}", PROJECT)
    assert bearer not in stack.output("gateway") and "/t/*/status" in stack.output("gateway")

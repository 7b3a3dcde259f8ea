"""MCP over streamable HTTP on the gateway: both eras, sessions and their ends, and who is refused."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from tests.support.proc import until
from tests.support.stack import Reply, Stack, request, token

PROJECT = "overhttp"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
ACCEPT = "application/json, text/event-stream"


def url(stack: Stack, path: str = "mcp") -> str:
    return stack.path(path, PROJECT)


def rpc(method: str, number: Any = 1, **params: Any) -> bytes:
    """A request; a notification when ``number`` is None."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if number is None else {**message, "id": number}).encode()


def post(stack: Stack, body: bytes, session: str | None = None, path: str = "mcp", **headers: str) -> Reply:
    """A POST as a client of the handshake era sends it."""
    own = {"Mcp_Session_Id": session} if session else {}
    return request(url(stack, path), "POST", body, Accept=ACCEPT, Content_Type="application/json", **own, **headers)


def answer(reply: Reply) -> dict[str, Any]:
    """The message in a stream of events, or in a plain body."""
    text = reply.body.decode()
    data = [row.removeprefix("data:") for row in text.splitlines() if row.startswith("data:")]
    return dict(json.loads(data[-1] if data else text))


def opened(stack: Stack, path: str = "mcp") -> str:
    """A new session's id, after the handshake."""
    reply = post(stack, rpc("initialize", **HELLO), path=path)
    assert reply.status == 200 and answer(reply)["result"]["serverInfo"]["name"] == "telebrowser"
    session = reply.headers["mcp-session-id"]
    assert post(stack, rpc("notifications/initialized", None), session, path).status == 202
    return session


@pytest.mark.parametrize(("mode", "protocol"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")])
async def test_the_sdk_client(stack: Stack, mode: Any, protocol: str) -> None:
    async with Client(url(stack), mode=mode) as client:
        assert client.protocol_version == protocol
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"browser_navigate", "browser_downloads", "browser_info"} <= names
        (status,) = (await client.read_resource("telebrowser://status")).contents
        assert json.loads(status.text)["project"] == PROJECT and token(PROJECT) not in status.text  # type: ignore[union-attr]
        info = (await client.call_tool("browser_info", {})).structured_content
        assert info and info["session"].startswith("http-")
        assert info["cdp"] == {"ws": stack.ws(PROJECT, info["session"]), "http": stack.path(f"s/{info['session']}", PROJECT)}
        answers = await asyncio.gather(*(client.call_tool("browser_downloads", {}) for _ in range(20)))
        assert all(one.structured_content and one.structured_content["total"] == 0 for one in answers)


async def test_the_path_may_name_the_session(stack: Stack) -> None:
    for mode in ("legacy", "auto"):
        async with Client(url(stack, "s/named/mcp"), mode=mode) as client:  # type: ignore[arg-type]
            info = (await client.call_tool("browser_info", {})).structured_content
            assert info and info["session"] == "named" and info["cdp"]["ws"] == stack.ws(PROJECT, "named")


def test_a_session_ends_with_delete_and_belongs_to_its_project_and_path(stack: Stack) -> None:
    session = opened(stack)
    assert post(stack, rpc("tools/list"), session).status == 200
    common = {"Accept": ACCEPT, "Content_Type": "application/json", "Mcp_Session_Id": session}
    assert request(stack.path("mcp", "another"), "POST", rpc("tools/list"), 60, **common).status == 404
    assert post(stack, rpc("tools/list"), session, "s/other/mcp").status == 404
    assert request(url(stack), "DELETE", Mcp_Session_Id=session).status == 200
    for method in ("POST", "GET", "DELETE"):
        body = rpc("tools/list") if method == "POST" else None
        reply = request(url(stack), method, body, 60, **common)
        assert reply.status == 404 and answer(reply)["error"]["message"] == "Session not found"


def stream(stack: Stack, session: str) -> http.client.HTTPConnection:
    """The session's own stream of events, begun."""
    connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=30)
    connection.request("GET", f"/t/{token(PROJECT)}/mcp", headers={"Accept": "text/event-stream", "Mcp-Session-Id": session})
    reply = connection.getresponse()
    assert reply.status == 200 and reply.getheader("Content-Type", "").startswith("text/event-stream")
    return connection


def test_a_session_ends_after_its_stream_has(stack: Stack) -> None:
    session, other = opened(stack), opened(stack)
    told = answer(post(stack, rpc("tools/call", name="browser_info", arguments={}), session))
    name = told["result"]["structuredContent"]["session"]
    connection = stream(stack, session)
    assert post(stack, rpc("ping"), session).status == 200
    assert connection.sock is not None
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
    # Without asking, which would keep it alive, until the grace time of two seconds is over.
    until(lambda: f"session over HTTP is over: {name}" in stack.output("gateway"), "the session ends", 20)
    assert post(stack, rpc("ping"), session).status == 404
    assert post(stack, rpc("ping"), other).status == 200, "one without a stream stays"


def test_a_session_ends_when_it_is_idle(new_stack: Callable[..., Stack]) -> None:
    stack = new_stack(TELEBROWSER_HTTP_IDLE="1")
    stack.start()
    session = opened(stack)
    until(lambda: "session over HTTP is over" in stack.output("gateway"), "the session ends", 20)
    assert post(stack, rpc("ping"), session).status == 404


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_pages_foreign_names_and_wrong_tokens_are_refused(stack: Stack, method: str) -> None:
    body = rpc("initialize", **HELLO) if method == "POST" else None
    common = {"Accept": ACCEPT, "Content_Type": "application/json"}
    assert request(url(stack), method, body, Origin="http://evil.example", **common).status == 403
    assert request(url(stack), method, body, Origin="null", **common).status == 403
    assert request(url(stack), method, body, Host="evil.example", **common).status == 403
    assert request(f"{stack.url}/t/{token(PROJECT, 'another secret, long')}/mcp", method, body, **common).status == 403


def test_the_gateways_own_origin_is_accepted(stack: Stack) -> None:
    assert post(stack, rpc("initialize", **HELLO), Origin=stack.url).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        (b"[]", 400, -32600),
        (b'{"id":1}', 400, -32600),
        (rpc("tools/list"), 400, -32600),
        (rpc("notifications/initialized", None), 400, -32600),
    ],
)
def test_bad_first_messages(stack: Stack, body: bytes, status: int, code: int) -> None:
    reply = post(stack, body)
    assert reply.status == status, reply
    assert answer(reply)["error"]["code"] in (code, -32602), reply
    assert "mcp-session-id" not in reply.headers or post(stack, rpc("ping"), reply.headers["mcp-session-id"]).status == 404


def test_other_wrong_requests(stack: Stack) -> None:
    assert request(url(stack), "PUT", b"x").status == 405
    assert request(url(stack), "GET", Accept="text/event-stream").status == 400
    assert request(url(stack), "POST", rpc("initialize", **HELLO), Accept="text/plain", Content_Type="application/json").status == 406
    assert request(url(stack), "POST", rpc("initialize", **HELLO), Accept=ACCEPT, Content_Type="text/plain").status in (400, 415)
    session = opened(stack)
    assert answer(post(stack, rpc("no/such"), session))["error"]["code"] == -32601
    assert post(stack, b"{", session).status == 400
    assert post(stack, rpc("ping"), session).status == 200, "it goes on"


def test_ten_megabytes(stack: Stack) -> None:
    session = opened(stack)
    reply = answer(post(stack, rpc("tools/call", name="browser_downloads", arguments={"limit": "x" * 10_000_000}), session))
    assert reply["result"]["isError"] and "limit" in reply["result"]["content"][0]["text"] and len(json.dumps(reply)) < 10_000


def test_connections_cut_at_any_byte(stack: Stack) -> None:
    body = rpc("initialize", **HELLO)
    head = f"POST /t/{token(PROJECT)}/mcp HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\nAccept: {ACCEPT}\r\nContent-Type: application/json\r\n"
    whole = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    before = len(stack.output("gateway"))
    for end in range(0, len(whole) + 1, 23):
        with socket.create_connection(("127.0.0.1", stack.port), 30) as client:
            client.sendall(whole[:end])
    assert post(stack, body).status == 200
    assert "Traceback" not in stack.output("gateway")[before:]


def test_no_token_and_no_session_id_is_logged(stack: Stack) -> None:
    session = opened(stack)
    assert request(url(stack), "DELETE", Mcp_Session_Id=session).status == 200
    log = stack.output("gateway")
    assert token(PROJECT).partition(".")[2] not in log and session not in log

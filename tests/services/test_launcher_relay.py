"""The loopback port that gives an upstream server the session's browser, and nobody else anything."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from telebrowser.launcher.address import Address
from telebrowser.launcher.upstream.owner import belongs_to_group
from telebrowser.launcher.upstream.relay import Relay
from tests.support.proc import until
from tests.support.stack import Stack, token
from tests.support.truth import Truth

PROJECT = "relayed"


@pytest.fixture
def relay(stack: Stack) -> Iterator[Relay]:
    """A relay that admits everybody."""
    address = Address(False, "127.0.0.1", stack.port, "", PROJECT, token(PROJECT))
    made = Relay(lambda: address, "mine", lambda _connection: True)
    yield made
    made.close()


def ask(relay: Relay, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """One HTTP request; status and body."""
    connection = http.client.HTTPConnection(relay.authority, timeout=60)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


async def test_a_client_sees_the_session_under_the_relays_address(relay: Relay, stack: Stack) -> None:
    import asyncio

    status, text = await asyncio.to_thread(ask, relay, "/json/version")
    assert status == 200 and json.loads(text)["webSocketDebuggerUrl"] == relay.ws
    assert token(PROJECT) not in text and "/t/" not in text
    truth = await Truth.connect(relay.ws)
    try:
        (target,) = await truth.targets()
        big = "x" * 3_000_000
        assert await truth.eval(target["targetId"], f"'{big}'.length + document.title.length") == 3_000_000
        assert len(await truth.eval(target["targetId"], "'y'.repeat(3000000)")) == 3_000_000
        status, text = await asyncio.to_thread(ask, relay, "/json/list")
        (row,) = json.loads(text)
        assert row["webSocketDebuggerUrl"] == f"ws://{relay.authority}/devtools/page/{target['targetId']}" and "mine" not in text
    finally:
        await truth.close()
    assert stack.status(PROJECT)["sessions"][0]["session"] == "mine"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/status",
        "/downloads",
        "/json/../../../status",
        "/json/%2e%2e/%2e%2e/status",
        "/devtools/browser/../../../../s/other/json",
        "/mcp",
        "//json",
        "/json/list/../../mcp",
    ],
)
def test_nothing_else_of_the_project_is_there(relay: Relay, path: str) -> None:
    status, text = ask(relay, path)
    assert status == 404 and "There is nothing" in text


def test_pages_are_refused(relay: Relay) -> None:
    assert ask(relay, "/json/version", Origin="http://evil.example")[0] == 403
    assert ask(relay, "/json/version", Host="evil.example:80")[0] == 403
    assert ask(relay, "/devtools/browser", Upgrade="websocket", Connection="Upgrade", Origin=relay.http)[0] == 403


@pytest.mark.parametrize(
    "data",
    [b"", b"\r\n\r\n", b"GET\r\n\r\n", b"GET /json HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\x16\x03\x01" * 100, b"GET /json HTTP/1.1\r\n b: c\r\n\r\n"],
)
def test_what_is_no_request_ends(relay: Relay, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", int(relay.authority.rpartition(":")[2])), 30) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        assert b"200" not in client.recv(65536)


def test_a_gateway_that_is_gone_ends_the_connection(stack: Stack) -> None:
    address = Address(False, "127.0.0.1", 1, "", PROJECT, token(PROJECT))
    relay = Relay(lambda: address, "mine", lambda _connection: True)
    try:
        with pytest.raises((http.client.HTTPException, OSError)):
            ask(relay, "/json/version")
    finally:
        relay.close()


def test_only_a_group_and_its_descendants_are_admitted(stack: Stack, tmp_path: Path) -> None:
    address = Address(False, "127.0.0.1", stack.port, "", PROJECT, token(PROJECT))
    groups: list[int] = []
    relay = Relay(lambda: address, "mine", lambda connection: belongs_to_group(connection, groups[0]))
    fetch = f"import urllib.request as r; print(r.urlopen('{relay.http}/json/protocol').status)"
    # The second asks from a process in a session of its own, below the first.
    below = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {fetch!r}], start_new_session=True, capture_output=True, text=True).stdout)"
    try:
        for script in (fetch, below):
            waits = f"import sys; sys.stdin.read(1)\n{script}"
            child = subprocess.Popen([sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            groups[:] = [child.pid]
            assert ask(relay, "/json/protocol")[0] == 403, "this process is none of it"
            said, _ = child.communicate("x", 60)
            assert "200" in said
        with socket.create_connection(("127.0.0.1", int(relay.authority.rpartition(":")[2]))) as stranger:
            assert b"403" in stranger.recv(65536)
    finally:
        relay.close()


def test_it_ends_with_its_connections(relay: Relay) -> None:
    with socket.create_connection(("127.0.0.1", int(relay.authority.rpartition(":")[2])), 30) as client:
        client.sendall(b"GET /json")
        until(lambda: relay._open, "the connection is served")
        relay.close()
        assert client.recv(10) == b""
    assert re.fullmatch(r"127\.0\.0\.1:\d+", relay.authority)

"""The supervisor's socket: descriptors, replacement, and peers that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser.supervisor import server as module
from telebrowser.supervisor.server import Server


class Heard:
    """What the server told its user."""

    def __init__(self, server: Server) -> None:
        self.commands: list[dict[str, Any]] = []
        self.connects = self.losses = 0
        server.on_command = self.commands.append
        server.on_connect = self._connect
        server.on_lost = self._lost

    def _connect(self) -> None:
        self.connects += 1

    def _lost(self) -> None:
        self.losses += 1


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server that listens."""
    made = Server(tmp_path / "s")
    made.start()
    yield made
    made.stop()


def connect(path: Path) -> socket.socket:
    """A peer."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(10)
    peer.connect(str(path))
    return peer


async def until(check: Any) -> None:
    """Let the loop run until the check holds."""
    async with asyncio.timeout(10):
        while True:
            if check():
                return
            await asyncio.sleep(0)


def closed(peer: socket.socket) -> bool:
    """Whether the server has closed the peer's connection."""
    try:
        return peer.recv(1) == b""
    except BlockingIOError:
        return False


async def test_commands_events_and_descriptors(server: Server, tmp_path: Path) -> None:
    heard = Heard(server)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    assert server.send({"event": "nobody"}) is False
    with connect(tmp_path / "s") as peer:
        await until(lambda: server.connected)
        peer.send(b'{"cmd":"hello","version":"1"}')
        peer.send(b'{"cmd":"look"}')
        await until(lambda: len(heard.commands) == 2)
        assert heard.commands == [{"cmd": "hello", "version": "1"}, {"cmd": "look"}]
        one, other = socket.socketpair()
        with one, other:
            assert server.send({"event": "up"}, (one, other))
            assert server.send({"event": "next"})
            data, descriptors, _, _ = socket.recv_fds(peer, 1000, 4)
            assert json.loads(data) == {"event": "up"} and len(descriptors) == 2
            assert json.loads(peer.recv(1000)) == {"event": "next"}
            with socket.socket(fileno=descriptors[0]) as first, socket.socket(fileno=descriptors[1]) as second:
                first.send(b"through")
                assert second.recv(10) == b"through"
    await until(lambda: heard.losses == 1)
    assert not server.connected


async def test_a_newer_connection_replaces_the_older(server: Server, tmp_path: Path) -> None:
    heard = Heard(server)
    with connect(tmp_path / "s") as older:
        await until(lambda: heard.connects == 1)
        with connect(tmp_path / "s") as newer:
            await until(lambda: heard.connects == 2)
            assert older.recv(10) == b""
            server.send({"event": "x"})
            assert newer.recv(100)
            assert heard.losses == 0, "a replaced gateway is not a lost one: its successor is there"


@pytest.mark.parametrize("packet", [b"not json", b"[1]", b'{"cmd":1}', b'{"nothing":1}', b"\xff\xfe", b"x" * (module.MAX_PACKET + 1)])
async def test_packets_that_are_no_commands_are_dropped(server: Server, tmp_path: Path, packet: bytes) -> None:
    heard = Heard(server)
    with connect(tmp_path / "s") as peer:
        await asyncio.to_thread(peer.send, packet)
        await asyncio.to_thread(peer.send, b'{"cmd":"look"}')
        await until(lambda: heard.commands)
        assert heard.commands == [{"cmd": "look"}]


async def test_descriptors_from_a_peer_are_closed(server: Server, tmp_path: Path) -> None:
    heard = Heard(server)
    with connect(tmp_path / "s") as peer:
        await until(lambda: server.connected)
        before = len(os.listdir("/proc/self/fd"))
        socket.send_fds(peer, [b'{"cmd":"look"}'], [0] * 3)
        await until(lambda: heard.commands)
        assert len(os.listdir("/proc/self/fd")) == before


async def test_a_peer_of_another_user_is_refused(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(server)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    monkeypatch.setattr(module, "ROOT", own + 2)
    with connect(tmp_path / "s") as peer:
        peer.setblocking(False)
        await until(lambda: closed(peer))
    assert not heard.connects and not server.connected


async def test_a_peer_that_does_not_read_is_dropped_and_browsers_that_ended_meanwhile_are_skipped(server: Server, tmp_path: Path) -> None:
    heard = Heard(server)
    with connect(tmp_path / "s") as peer:
        await until(lambda: server.connected)
        while server._queue or not heard.losses:
            one, other = socket.socketpair()
            server.send({"event": "up", "pad": "x" * 2000}, (one, other))
            one.close()
            other.close()
            if len(server._queue) > 10:
                break
        # Reading again lets the rest through, without the packets whose descriptors are gone.
        server.send({"event": "last"})
        received: list[dict[str, Any]] = []
        while not received or received[-1]["event"] != "last":
            await asyncio.sleep(0)
            data, descriptors, _, _ = socket.recv_fds(peer, 4000, 4)
            received.append(json.loads(data))
            for descriptor in descriptors:
                os.close(descriptor)
        assert received[-1] == {"event": "last"}
        for _ in range(5000):
            server.send({"event": "flood", "pad": "x" * 2000})
        assert heard.losses == 1 and not server.connected


async def test_a_dead_socket_file_is_replaced_and_removed_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("left behind")
    server = Server(tmp_path / "s")
    server.start()
    connect(tmp_path / "s").close()
    server.stop()
    server.stop()
    assert not (tmp_path / "s").exists()

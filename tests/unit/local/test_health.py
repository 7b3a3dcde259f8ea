"""When the stack counts as ready."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from telebrowser.datadir import DataDir
from telebrowser.local import health


@pytest.mark.parametrize(
    ("bind", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("fd00::5", "http://[fd00::5]:80"),
        ("10.1.2.3", "http://10.1.2.3:80"),
    ],
)
def test_the_address(bind: str, url: str) -> None:
    assert health.base_url(bind, 80) == url


@pytest.mark.parametrize(
    ("answer", "ready"),
    [
        (b'HTTP/1.1 200 OK\r\n\r\n{"status":"ok","supervisor":true}', True),
        (b'HTTP/1.1 200 OK\r\n\r\n{"status":"ok"}', True),
        (b'HTTP/1.1 200 OK\r\n\r\n{"status":"ok","supervisor":false}', False),
        (b"HTTP/1.1 503 Busy\r\n\r\n{}", False),
        (b"HTTP/1.1 200 OK\r\n\r\nnot json", False),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", False),
        (b"SSH-2.0-OpenSSH_9\r\n", False),
        (b"", False),
    ],
)
async def test_the_answer_decides(tmp_path: Path, answer: bytes, ready: bool) -> None:
    data = DataDir(tmp_path)
    data.run.mkdir()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await health.is_ready("127.0.0.1", port, data) is False, "the supervisor does not listen"
        data.socket.touch()
        assert await health.is_ready("127.0.0.1", port, data) is ready
    assert await health.is_ready("127.0.0.1", port, data) is False


async def test_a_server_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataDir(tmp_path)
    data.run.mkdir()
    data.socket.touch()
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.1)
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        assert await health.is_ready("127.0.0.1", server.sockets[0].getsockname()[1], data) is False
        await ended.wait()

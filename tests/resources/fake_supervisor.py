"""A supervisor without browsers: the test says which events come and when, and a few lines answer CDP on the pipe."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any


class FakeBrowser:
    """The far ends of a debugging pipe, answered just well enough for a link to start."""

    def __init__(self) -> None:
        self.gateway_writes, self._commands = socket.socketpair()
        self.gateway_reads, self._answers = socket.socketpair()
        self.methods: list[str] = []
        self.silent = False
        self._left = b""
        self._roots = 0
        for end in (self._commands, self._answers):
            end.setblocking(False)
        asyncio.get_running_loop().add_reader(self._commands, self._read)

    def _read(self) -> None:
        data = self._commands.recv(1 << 20)
        if not data:
            asyncio.get_running_loop().remove_reader(self._commands)
            return
        *messages, self._left = (self._left + data).split(b"\0")
        for raw in messages:
            if raw and not self.silent:
                self._answer(json.loads(raw))

    def _answer(self, message: dict[str, Any]) -> None:
        self.methods.append(message["method"])
        result: dict[str, Any] = {}
        if message["method"] in ("Target.attachToBrowserTarget", "Target.attachToTarget"):
            self._roots += 1
            result = {"sessionId": f"{self._roots:032X}"}
        elif message["method"] == "Browser.getVersion":
            result = {"product": "Fake/1"}
        elif message["method"] == "Target.getTargetInfo":
            result = {"targetInfo": {"targetId": "BROWSER"}}
        elif message["method"] == "Target.getTargets":
            result = {"targetInfos": []}
        elif message["method"] == "Target.createTarget":
            result = {"targetId": f"page-{len(self.methods)}"}
        reply: dict[str, Any] = {"id": message["id"], "result": result}
        if "sessionId" in message:
            reply["sessionId"] = message["sessionId"]
        self._answers.send(json.dumps(reply, separators=(",", ":")).encode() + b"\0")

    def close(self) -> None:
        """End the browser."""
        loop = asyncio.get_running_loop()
        if self._commands.fileno() >= 0:
            loop.remove_reader(self._commands)
        for end in (self.gateway_writes, self.gateway_reads, self._commands, self._answers):
            end.close()


class FakeSupervisor:
    """Listens on the socket of a data directory; one gateway at a time."""

    def __init__(self, path: Path) -> None:
        self.commands: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._path = path
        self._connection: socket.socket | None = None

    async def accept(self, **hello: Any) -> None:
        """Take the gateway's connection and greet it."""
        self._connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        self._connection.setblocking(False)
        asyncio.get_running_loop().add_reader(self._connection, self._receive)
        self.send({"event": "hello", "version": "0", "warnings": [], **hello})
        assert (await self.next())["cmd"] == "hello"

    def _receive(self) -> None:
        assert self._connection is not None
        data = self._connection.recv(1 << 16)
        if data:
            self.commands.put_nowait(json.loads(data))
        else:
            asyncio.get_running_loop().remove_reader(self._connection)

    async def next(self) -> dict[str, Any]:
        """The next command of the gateway."""
        async with asyncio.timeout(10):
            return await self.commands.get()

    def send(self, event: Any, browser: FakeBrowser | None = None) -> None:
        """One event; with a browser, its descriptors."""
        assert self._connection is not None
        ends = [] if browser is None else [browser.gateway_writes.fileno(), browser.gateway_reads.fileno()]
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        socket.send_fds(self._connection, [data], ends)

    def up(self, browser: FakeBrowser, project: str = "p", pid: int = 1, started_at: str = "2026-01-01T00:00:00+00:00") -> None:
        """A browser is up."""
        event = {"event": "up", "project": project, "pid": pid, "started_at": started_at, "window": f"[{project}]", "sandbox": True, "warnings": ["w"]}
        self.send(event, browser)

    def down(self, reason: str = "stopped", project: str = "p", message: str = "") -> None:
        """A browser has ended."""
        self.send({"event": "down", "project": project, "reason": reason, "exit_code": 0, "message": message})

    def lose(self) -> None:
        """End the connection, as a supervisor that dies."""
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._connection)
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Stop listening."""
        self.lose()
        self._listener.close()
        self._path.unlink(missing_ok=True)

"""A timed MCP client over stdio for any server, with the deadline after which a call counts as hanging."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.support.mcp_client import LEGACY, STREAM_LIMIT, Answer

HANG_SECONDS = 20.0
START_SECONDS = 60.0


class Timed(Answer):
    """An answer with what it cost: ``ms`` as the client saw it, ``size`` in bytes on the wire, ``hang`` when none came in time."""

    def __init__(self, message: dict[str, Any], ms: float = 0.0, size: int = 0, hang: bool = False) -> None:
        super().__init__(message)
        self.ms, self.size, self.hang = ms, size, hang


def failed(text: str, ms: float = 0.0, hang: bool = False) -> Timed:
    """An answer that the client makes up when the server gave none."""
    return Timed({"result": {"isError": True, "content": [{"type": "text", "text": text}]}}, ms, hang=hang)


class Server:
    """A server process in a process group of its own. `start` spawns it; `handshake` and `list_tools` give the times since then."""

    def __init__(self, process: asyncio.subprocess.Process, root: Path, started: float) -> None:
        self.process, self.root, self.started = process, root, started
        self.tools: dict[str, dict[str, Any]] = {}
        self.definitions: list[dict[str, Any]] = []
        self._last = 0
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], int]]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, argv: list[str], env: dict[str, str], root: Path) -> Server:
        """Spawn the server in ``root``, which is also the root it is told when it asks for one."""
        started = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *argv,
            env=env,
            cwd=root,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=STREAM_LIMIT,
            start_new_session=True,
        )
        return cls(process, root, started)

    def _since_start(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    async def handshake(self) -> float:
        """Initialize; gives the milliseconds from the start of the process to the answer."""
        hello = {"protocolVersion": LEGACY, "capabilities": {"roots": {}}, "clientInfo": {"name": "bench", "version": "1"}}
        await self.request("initialize", hello, START_SECONDS)
        ms = self._since_start()
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return ms

    async def list_tools(self) -> float:
        """Read every page of the list; gives the milliseconds from the start of the process to the last answer."""
        cursor: str | None = None
        while True:
            answer, _ = await self.request("tools/list", {"cursor": cursor} if cursor else {}, START_SECONDS)
            self.definitions += answer["result"]["tools"]
            cursor = answer["result"].get("nextCursor")
            if not cursor:
                break
        self.tools = {tool["name"]: tool["inputSchema"].get("properties", {}) for tool in self.definitions}
        return self._since_start()

    async def request(self, method: str, params: dict[str, Any], timeout: float) -> tuple[dict[str, Any], int]:
        """One request: the whole answer and its size. Raises TimeoutError, or ConnectionError when the server is gone."""
        self._last += 1
        number = self._last
        future: asyncio.Future[tuple[dict[str, Any], int]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        async with asyncio.timeout(timeout):
            return await future

    async def tool(self, name: str, arguments: dict[str, Any]) -> Timed:
        """Call a tool; a call without an answer comes back as a failed one."""
        began = time.perf_counter()
        try:
            message, size = await self.request("tools/call", {"name": name, "arguments": arguments}, HANG_SECONDS)
        except TimeoutError:
            return failed("(no answer)", (time.perf_counter() - began) * 1000, hang=True)
        except ConnectionError as error:
            return failed(f"(the server is gone: {error})")
        return Timed(message, (time.perf_counter() - began) * 1000, size)

    def _send(self, message: dict[str, Any]) -> None:
        if self._reader.done():
            raise ConnectionError("it has ended")
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "method" in message:
                if "id" in message:
                    result = {"roots": [{"uri": self.root.as_uri(), "name": "bench"}]} if message["method"] == "roots/list" else {}
                    self._send_late({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif (future := self._waiting.pop(message.get("id"), None)) and not future.done():
                future.set_result((message, len(line)))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionError("it closed its output"))

    def _send_late(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        if not self.process.stdin.is_closing():
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def close(self) -> None:
        """Close stdin and, if it stays, kill the server's group."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            async with asyncio.timeout(8):
                await self.process.wait()
        except TimeoutError:
            os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()
        await self._reader

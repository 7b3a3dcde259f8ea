"""An MCP client over stdio, small enough to see every byte: raw requests, both eras' envelopes, and a tool call's answer."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

from . import proc
from .stack import LAUNCHER

LEGACY = "2025-06-18"
TIMEOUT = 60.0
STREAM_LIMIT = 256 * 1024 * 1024
REF = re.compile(r"\[(?:[^\]]*, ?)?ref=(\w+)")


class Answer:
    """The answer to one tool call."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message
        result = message.get("result", {})
        content = result.get("content", [])
        self.error = "error" in message or bool(result.get("isError"))
        self.text = "\n".join(part["text"] for part in content if part["type"] == "text") if "error" not in message else json.dumps(message["error"])
        self.images = [base64.b64decode(part["data"]) for part in content if part["type"] == "image"]

    @property
    def code(self) -> str | None:
        """The error code at the start of the text."""
        found = re.match(r"\[([A-Z_]+)\] ", self.text)
        return found.group(1) if self.error and found else None

    @property
    def data(self) -> Any:
        """The JSON value of the text."""
        return json.loads(self.text)

    def says(self, pattern: str) -> bool:
        """Whether the text matches a pattern, in any case."""
        return re.search(pattern, self.text, re.I) is not None

    def ref(self, name: str, role: str | None = None) -> str | None:
        """The ref of the snapshot line whose quoted name is ``name``."""
        for line in self.text.split("\n"):
            found = REF.search(line)
            names = re.findall(r'"((?:[^"\\]|\\.)*)"', line) + re.findall(r':\s+"?([^"\[\]]*?)"?\s*$', line)
            if found and name in names and (role is None or role in line):
                return found.group(1)
        return None

    def refs(self) -> list[str]:
        """Every ref in the text."""
        return REF.findall(self.text)

    def __repr__(self) -> str:
        return f"<{'error ' if self.error else ''}{self.text[:600]!r}>"


class McpClient:
    """A server process and a legacy-era connection to it. Use `start`, then `close`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid = process.pid
        self.tools: dict[str, dict[str, Any]] = {}
        self.info: dict[str, Any] = {}
        self.noise: list[bytes] = []
        self.errors = bytearray()
        self.offers: dict[str, dict[str, Any]] = {}
        """Requests of the server that this client answers, with their results; all others are refused."""
        self._last = 0
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]

    @classmethod
    async def spawn(cls, *arguments: str, env: dict[str, str], cwd: Path, prefix: tuple[str, ...] = ()) -> McpClient:
        """Start ``telebrowser <arguments>`` without any handshake."""
        process = await asyncio.create_subprocess_exec(
            *prefix,
            LAUNCHER,
            *arguments,
            env=env,
            cwd=cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=STREAM_LIMIT,
            start_new_session=True,
        )
        return cls(process)

    @classmethod
    async def start(cls, *arguments: str, env: dict[str, str], cwd: Path, prefix: tuple[str, ...] = ()) -> McpClient:
        """Start ``telebrowser <arguments>``, shake hands and read the list of tools."""
        client = await cls.spawn(*arguments, env=env, cwd=cwd, prefix=prefix)
        try:
            await client.handshake()
        except BaseException:
            await client.kill()
            raise
        return client

    async def handshake(self, **capabilities: Any) -> None:
        """The handshake of the legacy era."""
        hello = {"protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": {"name": "tests", "version": "1"}}
        answer = await self.request("initialize", hello)
        assert "result" in answer, f"{answer}; stderr: {self.stderr}"
        self.info = answer["result"]
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await self.list_tools()

    async def list_tools(self) -> None:
        """Read the list of tools into `tools`."""
        listed = await self.request("tools/list", {})
        self.tools = {tool["name"]: tool for tool in listed["result"]["tools"]}

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            future = self._waiting.pop(message.get("id"), None) if "method" not in message else None
            if future and not future.done():
                future.set_result(message)
            elif "method" in message and "id" in message:
                told: dict[str, Any] = {"error": {"code": -32601, "message": "not offered"}}
                if message["method"] in self.offers:
                    told = {"result": self.offers[message["method"]]}
                await self.send({"jsonrpc": "2.0", "id": message["id"], **told})
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionError(f"the server ended; stderr: {self.stderr}"))

    async def _read_errors(self) -> None:
        assert self.process.stderr
        while block := await self.process.stderr.read(65536):
            self.errors += block

    @property
    def stderr(self) -> str:
        """What the server wrote to stderr so far."""
        return self.errors.decode("utf-8", "replace")

    async def send(self, message: dict[str, Any]) -> None:
        """Send one JSON-RPC message."""
        await self.send_raw(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    async def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def request(self, method: str, params: dict[str, Any], timeout: float = TIMEOUT) -> dict[str, Any]:
        """One request and its answer, result or error."""
        self._last += 1
        number = self._last
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout):
                answer: dict[str, Any] = await future
        except TimeoutError:
            raise AssertionError(f"no answer to {method} {str(params)[:200]} in {timeout} s; stderr: {self.stderr[-1500:]}") from None
        return answer

    async def call(self, tool: str, timeout: float = TIMEOUT, **arguments: Any) -> Answer:
        """Call a tool; ``timeout`` is the test's own, not the tool's."""
        return Answer(await self.request("tools/call", {"name": tool, "arguments": arguments}, timeout))

    async def ok(self, tool: str, timeout: float = TIMEOUT, **arguments: Any) -> Answer:
        """Call a tool that must not fail."""
        answer = await self.call(tool, timeout, **arguments)
        assert not answer.error, f"{tool} {arguments}: {answer}"
        return answer

    async def close(self, seconds: float = 10) -> int:
        """Close stdin and wait for the exit status."""
        if self.process.returncode is None and self.process.stdin:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            await self.kill()
            raise AssertionError(f"still running {seconds} s after its stdin was closed; stderr: {self.stderr[-1500:]}") from None
        await asyncio.gather(*self._readers)
        return int(self.process.returncode or 0)

    async def kill(self) -> None:
        """SIGKILL the launcher alone, and wait for it."""
        if self.process.returncode is None and proc.process(self.pid):
            os.kill(self.pid, signal.SIGKILL)
        await self.process.wait()
        for reader in self._readers:
            try:
                async with asyncio.timeout(5):
                    await reader
            except (TimeoutError, ConnectionError):
                reader.cancel()

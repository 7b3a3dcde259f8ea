"""A small MCP client over a child process's stdio, with a deadline on every answer. For the live check only."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from .report import Failure

PROTOCOL = "2025-06-18"
EXIT_SECONDS = 5.0
ERROR_BYTES = 4096


class McpProcess:
    """`telebrowser mcp` as a client sees it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], advice: str) -> None:
        self._advice = advice
        self._process = subprocess.Popen(command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._buffer = b""
        self._last = 0

    def initialize(self, seconds: float) -> dict[str, Any]:
        """Shake hands; the server's answer."""
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "telebrowser doctor", "version": __version__}}
        result = self.request("initialize", hello, seconds)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def tool(self, name: str, seconds: float, **arguments: Any) -> list[dict[str, Any]]:
        """The content of a tool's answer. Raises `Failure` with the tool's own error."""
        result = self.request("tools/call", {"name": name, "arguments": arguments}, seconds)
        content = [part for part in result.get("content") or () if isinstance(part, dict)]
        if result.get("isError"):
            raise Failure(text_of(content)[:500] or "an error without a text", self._advice)
        return content

    def request(self, method: str, params: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The result of one request. Raises `Failure`."""
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        deadline = time.monotonic() + seconds
        while True:
            message = self._read(deadline, f"no answer to {method} within {seconds:.0f} seconds")
            if message.get("id") != self._last or "method" in message:
                continue
            if "error" in message:
                raise Failure(str((message["error"] or {}).get("message"))[:500], self._advice)
            result = message.get("result")
            return result if isinstance(result, dict) else {}

    def close(self) -> None:
        """Close stdin; the process must end by itself in five seconds. Raises `Failure` otherwise."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            code = self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failure(f"it still ran {EXIT_SECONDS:.0f} seconds after its stdin was closed", "Please report this.") from None
        if code != 0:
            raise Failure(f"it ended with exit code {code}", self._advice)

    def dispose(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failure(self._ended(), self._advice) from None

    def _read(self, deadline: float, late: str) -> dict[str, Any]:
        assert self._process.stdout
        while b"\n" not in self._buffer:
            ready = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]
            if not ready:
                raise Failure(late, self._advice)
            data = os.read(self._process.stdout.fileno(), 1 << 20)
            if not data:
                raise Failure(self._ended(), self._advice)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            raise Failure("stdout carries something that is not JSON-RPC", "Please report this.") from None
        return message if isinstance(message, dict) else {}

    def _ended(self) -> str:
        """Why the process ended: what it said on stderr."""
        assert self._process.stderr
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_SECONDS)
        if self._process.returncode is None:
            return "it closed its stdout"
        said = self._process.stderr.read(ERROR_BYTES).decode(errors="replace").strip().splitlines()
        return said[-1] if said else f"it ended with exit code {self._process.returncode}"


def text_of(content: Sequence[Mapping[str, Any]]) -> str:
    """The text parts of a tool's answer."""
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")

"""An upstream MCP server of the handshake era that does what real ones do and what they should not.

Two pages of tools, unknown fields, progress, list_changed, elicitation, sampling, cancellation; a tool whose name is ours; on
demand garbage, a crash, silence, a child of its own. Run: ``python fake_upstream.py [OPTION…]``; the options:

``record=FILE``  every line it reads, with what it was started with, appended to FILE
``bare``         tools only: no resources, no prompts
``stubborn``     goes on after the end of stdin, and ignores SIGTERM
``broken``       ends at once with status 7 and a last word
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

Message = dict[str, Any]

GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}, "xFuture": {"deep": [1]}},
    "serverInfo": {"name": "fake", "version": "9", "xUnknown": 1},
    "instructions": "upstream says hi",
    "_meta": {"k": 1},
}
ASKED: dict[str, Message] = {
    "ask": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}, "xUnknown": 1}},
    "sample": {
        "method": "sampling/createMessage",
        "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 5, "xUnknown": 1},
    },
}
BARE = {**GREETING, "capabilities": {"tools": {}}}


def tool(name: str) -> Message:
    """A tool with fields that no SDK knows."""
    schema = {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#", "xDeep": {"y": None}}
    annotations = {"readOnlyHint": True, "x-vendor": 1}
    return {
        "name": name,
        "title": f"T {name}",
        "description": "d é ✓",
        "inputSchema": schema,
        "annotations": annotations,
        "_meta": {"k": 1},
        "xUnknown": {"a": 1.0},
    }


class FakeUpstream:
    """What it answers to each message; `bare` serves tools only."""

    def __init__(self, *, bare: bool = False) -> None:
        self.bare = bare
        self.asked: dict[Any, Any] = {}
        self.cancelled: list[Any] = []

    def handle(self, message: Message) -> list[Message]:
        """The messages that follow on one of the client."""
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method is None:
            answer = message.get("result", message.get("error"))
            return [self.said(self.asked.pop(number), json.dumps(answer))]
        if number is None:
            if method == "notifications/cancelled":
                self.cancelled.append(params["requestId"])
            return []
        if method == "initialize":
            return [{"id": number, "result": BARE if self.bare else GREETING}]
        if method == "tools/list":
            page = {"tools": [tool("b")]} if params.get("cursor") else {"tools": [tool("a"), tool("browser_info")], "nextCursor": "p2"}
            return [{"id": number, "result": {**page, "xPage": True}}]
        if method == "tools/call":
            return self.call(number, params)
        if method == "ping":
            return [{"id": number, "result": {}}]
        if not self.bare and method == "resources/list":
            return [{"id": number, "result": {"resources": [{"uri": "fake://one", "name": "one", "xUnknown": 1}]}}]
        if not self.bare and method == "resources/read":
            return [{"id": number, "result": {"contents": [{"uri": params["uri"], "text": "fake text", "xUnknown": 1}]}}]
        if not self.bare and method == "prompts/list":
            return [{"id": number, "result": {"prompts": [{"name": "fake-prompt", "xUnknown": 1}]}}]
        return [{"id": number, "error": {"code": -32601, "message": "Method not found", "data": {"x": 1}}}]

    def call(self, number: Any, params: Message) -> list[Message]:
        """A tool call."""
        name, token = params["name"], (params.get("_meta") or {}).get("progressToken")
        before: list[Message] = []
        if token is not None:
            before.append({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "total": 2, "xUnknown": 1}})
        if name == "b":
            before.append({"method": "notifications/tools/list_changed"})
        if name in ("ask", "sample"):
            self.asked[1] = number
            return [*before, {"id": 1, **ASKED[name]}]
        if name == "hang":
            return before
        if name == "missing":
            return [*before, {"id": number, "error": {"code": -32602, "message": "no such tool", "data": {"xUnknown": 1}}}]
        return [*before, self.said(number, f"called {name}")]

    @staticmethod
    def said(number: Any, text: str) -> Message:
        """The answer of a tool."""
        return {
            "id": number,
            "result": {"content": [{"type": "text", "text": text, "xExtra": True}], "isError": False, "structuredContent": {"n": 1}, "xMore": None},
        }


def line(message: Message) -> str:
    """A message as this server writes it: with blanks, so that a line that was written anew shows."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)


def main(options: list[str]) -> None:
    """Serve stdin until its end."""
    server = FakeUpstream(bare="bare" in options)
    record = next((option.removeprefix("record=") for option in options if option.startswith("record=")), os.devnull)
    if "broken" in options:
        print("this one does not start", file=sys.stderr)
        sys.exit(7)
    if "stubborn" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(record, "a", encoding="utf-8") as file:
        print(json.dumps({"pid": os.getpid(), "argv": sys.argv}), file=file, flush=True)
        for text in sys.stdin:
            message = json.loads(text)
            print(text.rstrip("\n"), file=file, flush=True)
            name = (message.get("params") or {}).get("name") if message.get("method") == "tools/call" else None
            if name == "crash":
                print("about to crash", file=sys.stderr, flush=True)
                os._exit(3)
            if name == "garbage":
                print("this is no JSON", flush=True)
            if name == "large":
                print(line(server.said(message["id"], "x" * 10_000_000)), flush=True)
                continue
            if name == "child":
                away = (message["params"].get("arguments") or {}).get("away") is True
                child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, start_new_session=away)
                print(line(server.said(message["id"], str(child.pid))), flush=True)
                continue
            for answer in server.handle(message):
                print(line(answer), flush=True)
    while "stubborn" in options:
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])

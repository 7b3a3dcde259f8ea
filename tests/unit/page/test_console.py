"""The console buffer: levels, how values are shown, the ring."""

from __future__ import annotations

from typing import Any

from telebrowser.page import console
from telebrowser.page.console import ConsoleBuffer


def call(kind: str, *args: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "args": list(args), "timestamp": 1.0}


def test_levels_and_values() -> None:
    buffer = ConsoleBuffer()
    buffer.api_called(call("log", {"type": "string", "value": "a"}, {"type": "number", "value": 3}))
    buffer.api_called(call("warning", {"type": "bigint", "unserializableValue": "3n"}))
    buffer.api_called(call("error", {"description": "Object", "preview": {"properties": [{"name": "a", "value": "1"}]}}))
    details = {"text": "Uncaught", "url": "http://a/x.js", "lineNumber": 4, "exception": {"description": "Error: no"}}
    buffer.exception_thrown({"timestamp": 2.0, "exceptionDetails": details})
    assert [(message["level"], message["text"]) for message in buffer.read("all")] == [
        ("log", "a 3"),
        ("warning", "3n"),
        ("error", "Object {a: 1}"),
        ("error", "Error: no"),
    ]
    assert buffer.read("error")[1]["source"] == "http://a/x.js:5"
    assert [message["text"] for message in buffer.read("warning")] == ["3n"]


def test_the_oldest_fall_out_and_are_counted() -> None:
    buffer = ConsoleBuffer()
    for number in range(console.CAPACITY + 5):
        buffer.api_called(call("log", {"value": number}))
    assert buffer.dropped == 5
    assert buffer.read("all")[0]["text"] == "5"
    buffer.clear()
    assert buffer.read("all") == []
    assert buffer.dropped == 0


def test_a_huge_message_is_cut() -> None:
    buffer = ConsoleBuffer()
    buffer.api_called(call("log", {"value": "x" * 100_000}))
    assert len(buffer.read("all")[0]["text"]) == console.MAX_MESSAGE

"""What comes in over the wire: messages, and the JSON-RPC errors for everything else."""

from __future__ import annotations

import json

import pytest
from mcp.shared.message import SessionMessage

from telebrowser.mcp.endpoint import parse
from telebrowser.mcp.text import clean


def test_a_message() -> None:
    assert isinstance(parse('{"jsonrpc":"2.0","id":1,"method":"ping"}'), SessionMessage)


def test_a_lone_surrogate_is_replaced_not_refused() -> None:
    message = parse('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"text":"\\ud800"}}}')
    assert isinstance(message, SessionMessage)
    assert "\ufffd" in message.message.model_dump_json()


@pytest.mark.parametrize(
    ("text", "code", "number"),
    [
        ("{", -32700, None),
        ("", -32700, None),
        ("[" * 100_000, -32700, None),
        ("[]", -32600, None),
        ("3", -32600, None),
        ('{"id":7}', -32600, 7),
        ('{"id":"a","method":3}', -32600, "a"),
        ('{"id":true,"method":3}', -32600, None),
        ('{"id":[1],"method":3}', -32600, None),
    ],
)
def test_errors(text: str, code: int, number: object) -> None:
    answer = parse(text)
    assert isinstance(answer, str)
    body = json.loads(answer)
    assert body["error"]["code"] == code
    assert body["id"] == number


def test_clean_keeps_pairs() -> None:
    assert clean("a\ud83d\ude00 \ud800 é") == "a😀 \ufffd é"

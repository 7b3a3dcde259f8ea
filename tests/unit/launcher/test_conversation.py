"""What the pump does with JSON-RPC, without any socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from telebrowser.launcher.conversation import (
    DOWN,
    FIRST_PATIENCE,
    OPEN,
    RECONNECT_PATIENCE,
    REPLAY_ID,
    REPLAYING,
    Conversation,
)
from telebrowser.launcher.lines import TooLong
from telebrowser.launcher.messages import CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Talk:
    """A conversation, and both ends of it as lists of messages."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.now = 0.0

    def client(self, *messages: dict[str, Any]) -> None:
        for message in messages:
            self.conversation.client_line(json.dumps(message).encode(), self.now)

    def engine(self, *messages: dict[str, Any]) -> None:
        for message in messages:
            self.conversation.engine_message(json.dumps(message).encode())

    def line(self, line: bytes | TooLong) -> None:
        self.conversation.client_line(line, self.now)

    def to_client(self) -> list[Any]:
        taken = [json.loads(line) for line in self.conversation.to_client]
        self.conversation.to_client.clear()
        return taken

    def to_engine(self) -> list[Any]:
        taken = [json.loads(line) for line in self.conversation.to_engine]
        self.conversation.to_engine.clear()
        return taken

    def shake(self) -> None:
        """The handshake of the older era, done."""
        self.conversation.link_opened()
        self.client(HELLO)
        self.engine({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}})
        self.client(READY)
        self.to_client()
        self.to_engine()


@pytest.fixture
def talk() -> Talk:
    return Talk()


def request(number: Any, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    """A request of the client."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answer(number: Any, **result: Any) -> dict[str, Any]:
    """An answer of the engine."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def test_everything_passes_unchanged_while_the_link_is_open(talk: Talk) -> None:
    talk.conversation.link_opened()
    odd = {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "t", "_meta": {"vendor/key": [1, None]}}, "more": "日"}
    talk.client(odd, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
    assert talk.to_engine() == [odd, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}]
    assert not talk.conversation.idle
    back = {"jsonrpc": "2.0", "id": "x", "result": {"unknown": {"a": 1}}}
    talk.engine({"jsonrpc": "2.0", "method": "notifications/message", "params": {"x": 1}}, back)
    assert talk.to_client() == [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"x": 1}}, back]
    assert talk.conversation.idle


def test_the_bytes_of_a_line_are_not_touched(talk: Talk) -> None:
    talk.conversation.link_opened()
    line = b'{"id" : 1.0,  "method":"x", "jsonrpc":"2.0", "params":{"a":1e3,"b":"\\u00e9"} }'
    talk.line(line + b"\r")
    assert list(talk.conversation.to_engine) == [line]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"nonsense", PARSE_ERROR),
        (b"\xff\xfe\x00", PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        ('{"id":1,"method":"x"}'.encode("utf-16-le"), PARSE_ERROR),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST),
        (b"3", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST),
    ],
)
def test_bad_lines_are_answered_and_the_next_goes_on(talk: Talk, line: bytes, code: int) -> None:
    talk.conversation.link_opened()
    talk.line(line)
    (error,) = talk.to_client()
    assert (error["jsonrpc"], error["id"], error["error"]["code"]) == ("2.0", None, code) and "\n" not in error["error"]["message"]
    assert talk.to_engine() == []
    talk.client(request(1))
    assert talk.to_engine() == [request(1)]


def test_blank_lines_are_nothing(talk: Talk) -> None:
    for line in (b"", b"\r", b"  \t"):
        talk.line(line)
    assert talk.to_client() == [] and talk.to_engine() == []


def test_a_line_that_is_too_long_is_answered_to_its_id(talk: Talk) -> None:
    talk.line(TooLong(1 << 30, b'{"jsonrpc":"2.0","id":5,"method":"x"', b"}"))
    (error,) = talk.to_client()
    assert error["id"] == 5 and error["error"]["code"] == INVALID_REQUEST and "100 MiB" in error["error"]["message"]


def test_requests_before_the_first_link_wait_a_little_and_are_sent_in_order(talk: Talk) -> None:
    talk.client(HELLO, request(1, "tools/list"))
    assert talk.to_engine() == [] and talk.conversation.deadline == FIRST_PATIENCE
    talk.conversation.link_opened()
    assert talk.to_engine() == [HELLO, request(1, "tools/list")]


def test_without_a_gateway_initialize_gets_an_error_and_a_later_one_works(talk: Talk) -> None:
    talk.client(HELLO)
    talk.conversation.link_failed("the gateway at http://127.0.0.1:5858 does not answer; start it with `telebrowser up`", 0.1)
    assert talk.to_client() == []
    talk.conversation.tick(FIRST_PATIENCE)
    (error,) = talk.to_client()
    assert error["id"] == 0 and error["error"]["code"] == CONNECTION_CLOSED
    assert "http://127.0.0.1:5858" in error["error"]["message"] and "telebrowser up" in error["error"]["message"]
    assert talk.conversation.idle
    talk.conversation.link_opened()
    assert talk.to_engine() == [] and talk.conversation.phase == OPEN, "an initialize that failed is not replayed"
    talk.client({**HELLO, "id": 1})
    assert talk.to_engine() == [{**HELLO, "id": 1}]


def test_a_refusal_is_told_at_once(talk: Talk) -> None:
    talk.client(HELLO, request(1))
    talk.conversation.link_failed("the token is not accepted", 0.1, final=True)
    assert [error["id"] for error in talk.to_client()] == [0, 1] and talk.conversation.idle


def test_a_break_answers_what_ran_and_replays_the_handshake(talk: Talk) -> None:
    talk.shake()
    talk.client(request(1, name="browser_click"), request(2, name="browser_type"))
    talk.engine(answer(1))
    talk.to_client()
    talk.to_engine()
    talk.conversation.link_lost("it closed the connection", 10.0)
    (error,) = talk.to_client()
    assert error["id"] == 2 and error["error"]["code"] == CONNECTION_CLOSED
    for part in ("tools/call browser_type", "it closed the connection", "may or may not", "state", "retry"):
        assert part in error["error"]["message"]
    talk.conversation.link_opened()
    assert talk.conversation.phase == REPLAYING
    talk.client(request(3))
    assert talk.to_engine() == [{**HELLO, "id": REPLAY_ID}]
    talk.engine(answer(REPLAY_ID, protocolVersion="2025-11-25"))
    assert talk.to_client() == [], "the replayed answer is swallowed"
    assert talk.to_engine() == [READY, request(3)] and talk.conversation.phase == OPEN
    talk.engine(answer(3))
    assert talk.to_client() == [answer(3)]


def test_the_newer_era_replays_nothing(talk: Talk) -> None:
    talk.conversation.link_opened()
    talk.client(request(1, "server/discover"))
    talk.engine(answer(1))
    talk.to_engine()
    talk.conversation.link_lost("gone", 1.0)
    talk.conversation.link_opened()
    assert talk.conversation.phase == OPEN and talk.to_engine() == []


def test_requests_without_an_effect_are_sent_again(talk: Talk) -> None:
    talk.shake()
    talk.client(request(1, "tools/list"), request(2), request(3, "ping"))
    talk.to_engine()
    talk.conversation.link_lost("gone", 1.0)
    assert [error["id"] for error in talk.to_client()] == [2]
    talk.client(request(4))
    talk.conversation.link_opened()
    talk.engine(answer(REPLAY_ID))
    assert [message.get("id") for message in talk.to_engine()] == [REPLAY_ID, None, 1, 3, 4]


def test_an_initialize_that_was_running_is_sent_again_not_replayed(talk: Talk) -> None:
    talk.conversation.link_opened()
    talk.client(HELLO)
    talk.to_engine()
    talk.conversation.link_lost("gone", 1.0)
    assert talk.to_client() == []
    talk.conversation.link_opened()
    assert talk.to_engine() == [HELLO] and talk.conversation.phase == OPEN
    talk.engine(answer(0))
    assert talk.to_client() == [answer(0)]


def test_a_failed_initialize_is_not_replayed(talk: Talk) -> None:
    talk.conversation.link_opened()
    talk.client(HELLO)
    talk.engine({"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "no"}})
    talk.to_engine()
    talk.conversation.link_lost("gone", 1.0)
    talk.conversation.link_opened()
    assert talk.to_engine() == [] and talk.conversation.phase == OPEN


def test_requests_wait_a_minute_for_the_gateway_to_come_back(talk: Talk) -> None:
    talk.shake()
    talk.conversation.link_lost("gone", 100.0)
    talk.now = 101.0
    talk.client(request(1, name="browser_click"))
    talk.conversation.link_failed("connection refused", 102.0)
    talk.conversation.tick(100.0 + RECONNECT_PATIENCE - 0.1)
    assert talk.to_client() == []
    talk.conversation.tick(100.0 + RECONNECT_PATIENCE)
    (error,) = talk.to_client()
    assert error["id"] == 1 and "was not sent: connection refused" in error["error"]["message"]
    talk.now = 500.0
    talk.client(request(2))
    talk.conversation.tick(500.0 + FIRST_PATIENCE - 0.1)
    assert talk.to_client() == []
    talk.conversation.tick(500.0 + FIRST_PATIENCE)
    assert [error["id"] for error in talk.to_client()] == [2]


def test_a_refused_replay_drops_the_link_and_a_later_one_heals(talk: Talk) -> None:
    talk.shake()
    talk.conversation.link_lost("gone", 0.0)
    talk.conversation.link_opened()
    talk.engine({"jsonrpc": "2.0", "id": REPLAY_ID, "error": {"code": -32602, "message": "old\nversion"}})
    assert talk.conversation.broken == "it refused to resume: old version" and talk.to_client() == []
    talk.conversation.link_failed("refused", 1.0)
    assert talk.conversation.phase == DOWN
    talk.conversation.link_opened()
    assert talk.conversation.broken is None
    talk.engine(answer(REPLAY_ID))
    assert talk.conversation.phase == OPEN


def test_cancelling_a_request_that_waits_means_it_is_never_sent(talk: Talk) -> None:
    talk.client(request(1), request(2), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    talk.conversation.link_opened()
    assert talk.to_engine() == [request(2)] and talk.to_client() == []


def test_questions_of_the_engine_end_with_the_link(talk: Talk) -> None:
    talk.shake()
    ask = {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": {}}
    talk.engine(ask)
    assert talk.to_client() == [ask]
    talk.client(answer(9, action="accept"))
    assert talk.to_engine() == [answer(9, action="accept")]
    talk.engine({**ask, "id": 10})
    talk.to_client()
    talk.conversation.link_lost("gone", 1.0)
    (note,) = talk.to_client()
    assert note["method"] == "notifications/cancelled" and note["params"]["requestId"] == 10
    talk.client(answer(10, action="accept"), answer(77))
    talk.conversation.link_opened()
    talk.engine(answer(REPLAY_ID))
    assert [message.get("id") for message in talk.to_engine()] == [REPLAY_ID, None], "an answer that nobody asked for goes nowhere"


def test_answers_stay_one_line_and_json_rpc(talk: Talk) -> None:
    talk.conversation.link_opened()
    talk.conversation.engine_message(b'{\n "jsonrpc": "2.0",\n "id": 1,\n "result": {}\n}')
    talk.engine({"error": {"code": -32600, "message": "too large"}})
    lines = list(talk.conversation.to_client)
    assert all(b"\n" not in line for line in lines)
    assert [json.loads(line) for line in lines] == [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "too large"}},
    ]


def test_an_engine_that_does_not_speak_json_rpc_is_dropped(talk: Talk) -> None:
    talk.conversation.link_opened()
    talk.conversation.engine_message(b"<html>")
    assert talk.conversation.broken and talk.to_client() == []

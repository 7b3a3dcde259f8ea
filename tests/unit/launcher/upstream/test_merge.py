"""What passes through the merge unchanged, to the byte, and the few things that are changed: golden lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from telebrowser.launcher.lines import TooLong
from telebrowser.launcher.upstream.merge import Merge
from tests.resources.fake_upstream import ASKED, FakeUpstream, line, tool

HELLO = '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {"x": 1}}}'
READY = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
OURS = {"name": "browser_info", "description": "ours"}
OUR_GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": False}, "resources": {}, "prompts": {}, "completions": {}, "experimental": {}},
    "serverInfo": {"name": "telebrowser", "version": "1"},
    "instructions": "we say hi",
}
ROWS: dict[str, Any] = {
    "tools/list": {"tools": [OURS]},
    "resources/list": {"resources": [{"uri": "telebrowser://usage", "name": "usage"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "telebrowser://downloads{?limit}"}]},
    "prompts/list": {"prompts": [{"name": "browser-handoff-review"}]},
    "initialize": OUR_GREETING,
}


class World:
    """A merge between a client that is the test, the fake upstream server, and an engine of fixed answers."""

    def __init__(self, *, bare: bool = False, upstream: bool = True, engine: bool = True) -> None:
        self.merge = Merge("fake")
        self.server = FakeUpstream(bare=bare)
        self.upstream, self.engine = upstream, engine
        self.to_upstream: list[str] = []
        self.to_engine: list[dict[str, Any]] = []

    def run(self, *lines: str) -> list[str]:
        """Lines of the client; gives what it gets, once all have said what they have to say."""
        for text in lines:
            self.merge.client_line(text.encode())
            self.settle()
        return self.got()

    def settle(self) -> None:
        merge = self.merge
        while (merge.to_upstream and self.upstream) or (merge.to_engine and self.engine):
            while merge.to_upstream and self.upstream:
                text = merge.to_upstream.popleft().decode()
                self.to_upstream.append(text)
                for answer in self.server.handle(json.loads(text)):
                    merge.upstream_line(line(answer).encode())
            while merge.to_engine and self.engine:
                message = json.loads(merge.to_engine.popleft())
                self.to_engine.append(message)
                if "method" in message and "id" in message:
                    merge.engine_line(json.dumps(self.answer(message)).encode())

    @staticmethod
    def answer(message: dict[str, Any]) -> dict[str, Any]:
        """The engine's answer."""
        result = ROWS.get(message["method"], {"did": message["method"], "with": message.get("params")})
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def got(self) -> list[str]:
        """What the client has got since."""
        lines = [text.decode() for text in self.merge.to_client]
        self.merge.to_client.clear()
        return lines

    def shake(self) -> World:
        """The handshake; nothing of it is left to see."""
        self.run(HELLO, READY)
        self.to_upstream.clear()
        self.to_engine.clear()
        return self


@pytest.fixture
def world() -> World:
    """After the handshake."""
    return World().shake()


def request(number: Any, method: str, **params: Any) -> str:
    """A request as a client that likes blanks writes it."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params, "xEnvelope": {"kept": True}}, ensure_ascii=False)


def call(number: Any, name: str, **more: Any) -> str:
    return request(number, "tools/call", name=name, arguments={}, **more)


# The greeting


def test_the_greeting_is_theirs_with_our_abilities_and_instructions() -> None:
    world = World()
    (text,) = world.run(HELLO)
    result = json.loads(text)["result"]
    assert json.loads(text)["id"] == 0
    assert result == {
        "protocolVersion": "2025-06-18",
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "prompts": {},
            "logging": {},
            "xFuture": {"deep": [1]},
            "completions": {},
        },
        "serverInfo": {"name": "fake", "version": "9", "xUnknown": 1},
        "instructions": "upstream says hi\n\nwe say hi",
        "_meta": {"k": 1},
    }
    assert world.to_upstream == [HELLO], "the client's own bytes"
    (ours,) = world.to_engine
    assert ours["params"] == {"protocolVersion": "2025-06-18", "capabilities": {"x": 1}}, "the version that they chose, the client's abilities"


def test_a_server_of_tools_only_gets_our_context() -> None:
    (text,) = World(bare=True).run(HELLO)
    assert json.loads(text)["result"]["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}


def test_initialized_goes_to_both() -> None:
    world = World()
    world.run(HELLO, READY)
    assert world.to_upstream[-1] == READY and world.to_engine[-1] == json.loads(READY)


def test_a_modern_client_that_is_refused_falls_back() -> None:
    world = World()
    assert world.run(request("d", "server/discover")) == [line({"id": "d", "error": {"code": -32601, "message": "Method not found", "data": {"x": 1}}})]
    assert not world.to_engine
    assert "result" in json.loads(world.run(HELLO)[0])


# Listings


def test_pages_stay_pages_and_ours_follow_the_last_one_and_win(world: World) -> None:
    first, second = world.run(request(1, "tools/list"), request(2, "tools/list", cursor="p2"))
    assert json.loads(first)["result"] == {"tools": [tool("a")], "nextCursor": "p2", "xPage": True}
    assert json.loads(second)["result"] == {"tools": [tool("b"), OURS], "xPage": True}
    assert world.to_upstream == [request(1, "tools/list"), request(2, "tools/list", cursor="p2")]


def test_a_page_that_does_not_change_is_passed_on_as_it_is() -> None:
    world = World().shake()
    ROWS_OF_NONE = {"tools": []}
    world.answer = lambda message: {"jsonrpc": "2.0", "id": message["id"], "result": ROWS_OF_NONE}  # type: ignore[method-assign]
    expected = world.server.handle({"id": 1, "method": "tools/list"})[0]
    assert world.run(request(1, "tools/list")) == [line(expected)]


@pytest.mark.parametrize(
    ("method", "field", "theirs"),
    [
        ("resources/list", "resources", [{"uri": "fake://one", "name": "one", "xUnknown": 1}]),
        ("prompts/list", "prompts", [{"name": "fake-prompt", "xUnknown": 1}]),
        ("resources/templates/list", "resourceTemplates", []),
    ],
)
@pytest.mark.parametrize("bare", [False, True])
def test_context_of_both_sides(method: str, field: str, theirs: list[Any], bare: bool) -> None:
    world = World(bare=bare).shake()
    (text,) = world.run(request("x", method))
    assert json.loads(text)["id"] == "x"
    assert json.loads(text)["result"] == {field: ([] if bare else theirs) + ROWS[method][field]}
    assert bool(world.to_upstream) != bare, "it is not asked for what it says it has not"


def test_our_listing_is_asked_for_in_the_clients_era_without_its_progress_token(world: World) -> None:
    world.run(request(1, "tools/list", _meta={"progressToken": 5, "io.modelcontextprotocol/protocolVersion": "2026-07-28"}))
    (asked,) = world.to_engine
    assert asked["params"] == {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def test_without_an_answer_of_the_engine_the_last_known_rows_stand(world: World) -> None:
    world.run(request(1, "prompts/list"))
    world.answer = lambda message: {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "away"}}  # type: ignore[method-assign]
    assert json.loads(world.run(request(2, "prompts/list"))[0])["result"]["prompts"][-1] == {"name": "browser-handoff-review"}
    assert json.loads(world.run(request(3, "resources/list"))[0])["result"]["resources"] == [{"uri": "fake://one", "name": "one", "xUnknown": 1}]


# Calls


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (call(1, "a"), [FakeUpstream.said(1, "called a")]),
        (call("s", "a"), [FakeUpstream.said("s", "called a")]),
        (
            call(2, "a", _meta={"progressToken": "tok", "xMeta": 1}),
            [
                {"method": "notifications/progress", "params": {"progressToken": "tok", "progress": 1, "total": 2, "xUnknown": 1}},
                FakeUpstream.said(2, "called a"),
            ],
        ),
        (call(3, "b"), [{"method": "notifications/tools/list_changed"}, FakeUpstream.said(3, "called b")]),
        (call(4, "missing"), [{"id": 4, "error": {"code": -32602, "message": "no such tool", "data": {"xUnknown": 1}}}]),
        (request(5, "resources/read", uri="fake://one"), [{"id": 5, "result": {"contents": [{"uri": "fake://one", "text": "fake text", "xUnknown": 1}]}}]),
        (request(6, "vendor/future", deep=[{"x": None}]), [{"id": 6, "error": {"code": -32601, "message": "Method not found", "data": {"x": 1}}}]),
        (request(7, "ping"), [{"id": 7, "result": {}}]),
    ],
)
def test_what_is_theirs_passes_as_the_very_bytes(world: World, text: str, answers: list[Any]) -> None:
    assert world.run(text) == [line(answer) for answer in answers]
    assert world.to_upstream == [text]


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (call(1, "browser_info"), "tools/call"),
        (request(2, "resources/read", uri="telebrowser://status"), "resources/read"),
        (request(3, "prompts/get", name="browser-handoff-review"), "prompts/get"),
        (request(4, "completion/complete", ref={"type": "ref/prompt", "name": "browser-handoff-review"}), "completion/complete"),
        (request(5, "completion/complete", ref={"type": "ref/resource", "uri": "telebrowser://downloads{?limit}"}), "completion/complete"),
    ],
)
def test_what_is_ours_goes_to_the_engine_as_the_very_bytes_without_a_listing_before(world: World, text: str, method: str) -> None:
    (answer,) = world.run(text)
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": json.loads(text)["id"], "result": {"did": method, "with": json.loads(text)["params"]}}
    assert world.to_engine[-1] == json.loads(text) and not world.to_upstream


@pytest.mark.parametrize(
    "text",
    [
        request(1, "prompts/get", name="fake-prompt"),
        request(2, "completion/complete", ref={"type": "ref/prompt", "name": "fake-prompt"}),
        request(3, "completion/complete", ref="odd"),
        request(4, "resources/read", uri=["odd"]),
        '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}',
        '{"jsonrpc":"2.0","id":6,"method":"completion/complete"}',
    ],
)
def test_odd_and_foreign_ones_are_theirs(world: World, text: str) -> None:
    world.upstream = False
    world.run(text)
    assert [sent.decode() for sent in world.merge.to_upstream] == [text]


# Requests to the client


@pytest.mark.parametrize("name", ["ask", "sample"])
def test_their_requests_to_the_client_pass_with_their_ids(world: World, name: str) -> None:
    (asked,) = world.run(call(1, name))
    assert asked == line({"id": 1, **ASKED[name]})
    reply = '{"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "xUnknown": 1}}'
    assert world.run(reply) == [line(FakeUpstream.said(1, '{"action": "accept", "xUnknown": 1}'))]
    assert world.to_upstream[-1] == reply


def test_the_engines_requests_have_ids_of_their_own(world: World) -> None:
    world.run(call(1, "ask"))
    world.merge.engine_line(b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url"}}')
    (asked,) = world.got()
    assert json.loads(asked) == {"jsonrpc": "2.0", "id": "telebrowser-1", "method": "elicitation/create", "params": {"mode": "url"}}
    world.engine = False
    assert world.run('{"jsonrpc":"2.0","id":"telebrowser-1","result":{"action":"accept"}}') == []
    assert json.loads(world.merge.to_engine.pop()) == {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}
    assert world.run('{"jsonrpc":"2.0","id":"telebrowser-1","result":{}}') == [] and not world.merge.to_engine, "only once"


def test_the_engine_takes_a_request_back_under_the_id_that_the_client_knows(world: World) -> None:
    world.merge.engine_line(b'{"jsonrpc":"2.0","id":7,"method":"roots/list"}')
    world.merge.engine_line(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}')
    assert [json.loads(text).get("params", {}).get("requestId") for text in world.got()] == [None, "telebrowser-1"]


def test_notifications_of_the_engine_pass(world: World) -> None:
    note = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":3}}'
    world.merge.engine_line(note.encode())
    assert world.got() == [note]


# Cancellation


def cancelled(number: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "no longer"}})


def test_cancelling_what_is_theirs(world: World) -> None:
    assert world.run(call(1, "hang"), cancelled(1)) == []
    assert world.server.cancelled == [1] and world.merge.idle and world.to_upstream[-1] == cancelled(1)
    world.merge.upstream_line(line(FakeUpstream.said(1, "late")).encode())
    assert world.got() == [], "nobody waits for it"


def test_cancelling_what_is_ours(world: World) -> None:
    world.run(request(1, "tools/list"))
    world.engine = False
    world.run(call(2, "browser_info"), cancelled(2))
    assert [json.loads(text)["method"] for text in world.merge.to_engine] == ["tools/call", "notifications/cancelled"]
    assert world.server.cancelled == [] and world.merge.idle


def test_cancelling_what_was_not_sent_yet(world: World) -> None:
    world.engine = False
    world.run(call(1, "a"), cancelled(1))
    world.engine = True
    world.settle()
    assert world.to_upstream == [] and world.got() == [] and world.merge.idle


# The upstream server's end


def test_a_crash_answers_what_was_running_and_it_is_started_again_with_the_clients_handshake(world: World) -> None:
    world.run(request(0, "tools/list"))
    world.upstream = False
    (ours,) = world.run(call(1, "a"), request(2, "tools/list"), call(3, "browser_info"))
    assert json.loads(ours)["id"] == 3
    world.merge.upstream_ended("ended with status 3", again=True)
    (answer,) = world.got()
    error = json.loads(answer)["error"]
    assert json.loads(answer)["id"] == 1, "the listing waits"
    assert (
        error["code"] == -32000
        and "fake ended with status 3 while tools/call a was running" in error["message"]
        and "may not have taken effect" in error["message"]
    )
    world.run(call(4, "a"))
    assert not world.merge.to_upstream, "it does not run yet"
    world.upstream, world.server = True, FakeUpstream()
    world.to_upstream.clear()
    world.merge.upstream_started()
    world.settle()
    assert [json.loads(text)["id"] for text in world.got()] == [2, 4]
    assert json.loads(world.to_upstream[0])["params"] == json.loads(HELLO)["params"] and world.to_upstream[1] == READY
    assert world.to_upstream[2:] == [request(2, "tools/list"), call(4, "a")]


def test_after_its_last_end_ours_stay(world: World) -> None:
    world.upstream = False
    world.run(call(1, "a"), request(2, "tools/list"))
    world.merge.upstream_ended("ended with status 3", again=False)
    answers = {json.loads(text)["id"]: json.loads(text) for text in world.got()}
    assert "error" in answers[1] and answers[2]["result"] == {"tools": [OURS]}
    (refused,) = world.run(call(3, "a"))
    assert "was not sent: the upstream server fake ended with status 3" in json.loads(refused)["error"]["message"]
    assert json.loads(world.run(request(4, "tools/list"))[0])["result"] == {"tools": [OURS]}
    assert json.loads(world.run(call(5, "browser_info"))[0])["result"]["did"] == "tools/call"
    assert world.merge.idle and len(world.merge.complaints) == 1


def test_one_that_ends_before_it_has_greeted() -> None:
    world = World(upstream=False)
    world.run(HELLO)
    world.merge.upstream_ended("ended with status 7 (no Node here)", again=True)
    assert world.got() == []
    world.merge.upstream_started()
    world.merge.upstream_ended("ended with status 7 (no Node here)", again=False)
    (text,) = world.got()
    assert json.loads(text)["id"] == 0 and "no Node here" in json.loads(text)["error"]["message"]


def test_what_it_asked_the_client_is_taken_back_when_it_ends(world: World) -> None:
    world.run(call(9, "ask"))
    world.merge.upstream_ended("was killed by signal 9", again=True)
    notes = [json.loads(text) for text in world.got() if "method" in json.loads(text)]
    assert [(note["method"], note["params"]["requestId"]) for note in notes] == [("notifications/cancelled", 1)]
    assert world.run('{"jsonrpc":"2.0","id":1,"result":{}}') == [] and not world.merge.to_upstream


def test_a_new_one_that_dies_while_it_resumes(world: World) -> None:
    world.upstream = False
    world.merge.upstream_ended("ended with status 1", again=True)
    world.merge.upstream_started()
    world.run(call(1, "a"))
    world.merge.upstream_ended("ended with status 1", again=False)
    world.settle()
    assert [json.loads(text)["id"] for text in world.got()] == [1] and world.merge.idle


# Bad lines


@pytest.mark.parametrize(
    ("text", "code"), [("{", -32700), ("[]", -32600), ('{"id":1}', -32600), ('{"id":[],"method":"x"}', -32600), ("\udcff", -32700), ("NaN", -32700)]
)
def test_bad_lines_of_the_client_are_answered_and_go_nowhere(world: World, text: str, code: int) -> None:
    world.merge.client_line(text.encode("utf-8", "surrogateescape"))
    (answer,) = world.got()
    assert json.loads(answer)["error"]["code"] == code
    assert not world.merge.to_upstream and not world.merge.to_engine


@pytest.mark.parametrize("text", ["this is no JSON", "[]", "{", '{"id":1}'])
def test_bad_lines_of_the_server_are_told_on_stderr_only(world: World, text: str) -> None:
    world.merge.upstream_line(text.encode())
    assert world.got() == [] and "not JSON-RPC" in world.merge.complaints.pop()


def test_an_answer_over_the_limit_is_an_error_for_its_request(world: World) -> None:
    world.upstream = False
    world.run(call(1, "a"))
    world.merge.upstream_line(TooLong(200 << 20, b'{"jsonrpc":"2.0","id":1,"result":{"x":"', b'"}}'))
    (text,) = world.got()
    assert json.loads(text)["id"] == 1 and str(200 << 20) in json.loads(text)["error"]["message"]


def test_blank_lines_are_nothing(world: World) -> None:
    assert world.run("", "  ", "\r") == [] and not world.to_upstream
    world.merge.upstream_line(b" \r")
    assert world.got() == [] and not world.merge.complaints


def test_an_answer_that_nobody_asked_for_goes_nowhere(world: World) -> None:
    assert world.run('{"jsonrpc":"2.0","id":99,"result":{}}') == [] and not world.to_upstream and not world.to_engine
    world.merge.upstream_line(b'{"jsonrpc":"2.0","id":98,"result":{}}')
    world.merge.engine_line(b'{"jsonrpc":"2.0","id":97,"result":{}}')
    assert world.got() == []


def test_a_greeting_that_the_engine_cannot_join_is_an_error() -> None:
    world = World()
    world.answer = lambda message: {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "the gateway does not answer"}}  # type: ignore[method-assign]
    assert json.loads(world.run(HELLO)[0]) == {"jsonrpc": "2.0", "id": 0, "error": {"code": -32000, "message": "the gateway does not answer"}}

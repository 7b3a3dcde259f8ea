"""Reading and writing messages: what is one call, what is refused, and where messages of the browser belong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telebrowser.gateway import wire

SID = "0123456789ABCDEF0123456789ABCDEF"


@pytest.mark.parametrize(
    "raw",
    [
        b'{"id":1,"method":"A.b"}',
        b'{"method":"A.b","id":1,"params":{}}',
        b'{"id":1,"m\\u0065thod":"A.b","params":{}}',
        b' { "params" : {} , "id" : 1 , "method" : "A.b" , "sessionId" : "" } ',
    ],
)
def test_one_call_in_any_spelling(raw: bytes) -> None:
    request = wire.decode_request(raw)
    assert (request.id, request.method, request.sessionId) == (1, "A.b", "")
    assert wire.call(request.id, request.method, bytes(request.params), SID) == b'{"id":1,"method":"A.b","params":{},"sessionId":"%b"}' % SID.encode()


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", -32700),
        (b"nonsense", -32700),
        (b"{", -32700),
        (b'{"id":1,"method":"A.b"}{"id":2,"method":"A.b"}', -32700),
        (b'{"id":1,"method":"A.b","params":{"x":"\0"}}', -32700),
        (b'{"id":1,"method":"A.b","params":{"x":"\0{\\"id\\":2}"}}', -32700),
        (b'{"id":1,"method":"A.b"} // comment', -32700),
        (b'{"id":1,"method":"\xff"}', -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"id":"1","method":"A.b"}', -32600),
        (b'{"id":1.5,"method":"A.b"}', -32600),
        (b'{"id":-1,"method":"A.b"}', -32600),
        (b'{"id":2147483648,"method":"A.b"}', -32600),
        (b'{"id":1}', -32600),
        (b'{"id":1,"method":7}', -32600),
        (b'{"method":"A.b"}', -32600),
        (b'{"id":1,"method":"A.b","sessionId":7}', -32600),
        (b'{"id":1,"method":"A.b","extra":1}', -32600),
        (b'{"id":null,"method":"A.b"}', -32600),
    ],
)
def test_what_is_no_call(raw: bytes, code: int) -> None:
    with pytest.raises(wire.ProtocolError) as error:
        wire.decode_request(raw)
    assert error.value.code == code


def test_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_MESSAGE", 50)
    with pytest.raises(wire.ProtocolError) as error:
        wire.decode_request(b'{"id":1,"method":"A.b","params":{"pad":"' + b"x" * 50 + b'"}}')
    assert error.value.code == -32600


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.integers(0, wire.MAX_ID), st.dictionaries(st.text(), JSON))
def test_what_is_sent_on_is_what_was_meant(ident: int, params: dict[str, object]) -> None:
    raw = json.dumps({"id": ident, "method": "A.b", "params": params}).encode()
    request = wire.decode_request(raw)
    sent = wire.call(request.id, request.method, bytes(request.params), SID)
    assert b"\0" not in sent
    assert json.loads(sent) == {"id": ident, "method": "A.b", "params": params, "sessionId": SID}


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    try:
        wire.decode_request(raw)
    except wire.ProtocolError as error:
        assert error.code in (-32700, -32600)


def test_where_messages_of_the_browser_belong() -> None:
    event = b'{"method":"Page.loadEventFired","params":{"x":1},"sessionId":"%b"}' % SID.encode()
    assert wire.session_of(event) == SID and wire.event_name(event) == "Page.loadEventFired"
    assert wire.without_session(event) == b'{"method":"Page.loadEventFired","params":{"x":1}}'
    reply = b'{"id":7,"result":{},"sessionId":"%b"}' % SID.encode()
    assert wire.session_of(reply) == SID and wire.event_name(reply) == "" and wire.own_reply_id(reply) is None
    assert wire.own_reply_id(b'{"id":-12,"result":{}}') == -12
    assert wire.session_of(b'{"id":7,"result":{}}') == "" and wire.session_of(b"") == ""


@given(st.text())
def test_a_page_cannot_forge_where_its_message_belongs(text: str) -> None:
    """Inside a JSON string quotes are escaped, and a nested object ends in two braces."""
    forged = f'{text}","sessionId":"{SID}"}}'
    for value in (forged, {"a": forged}, {"sessionId": SID}, [{"x": 1, "sessionId": SID}], {"x": 1, "sessionId": SID[:-1]}, {"x": 1, "sessionId": SID[:-2]}):
        raw = json.dumps({"id": 7, "result": {"value": value}}, separators=(",", ":")).encode()
        assert wire.session_of(raw) == ""


def test_ids_of_the_gateway_are_negative_and_never_used_twice() -> None:
    ids = [wire.fresh_id() for _ in range(1000)]
    assert len(set(ids)) == 1000 and max(ids) < 0


@pytest.mark.parametrize(
    "raw", [b'{"id":1,"method":"A.b","params":{"a":"\xff"}}', b'{"id":1,"method":"A.b","params":{"a":"\xc0\x80"}}', b'{"id":1,"method":"\xed\xa0\x80"}']
)
def test_what_is_not_utf_8_goes_no_further(raw: bytes) -> None:
    """The decoder does not look into params; half a character or a NUL in disguise must not reach another reader."""
    with pytest.raises(wire.ProtocolError, match="UTF-8"):
        wire.decode_request(raw)

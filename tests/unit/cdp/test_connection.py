"""Calls, errors, sessions and events of the CDP client. The browser is played by the test, at the transport's border."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from telebrowser.cdp.connection import CdpError, ConnectionLost, SessionGone
from tests.unit.cdp.played import connected


async def test_answers_find_their_calls_in_any_order() -> None:
    transport, connection = connected()
    first = connection.root.start("A.a", x=1)
    second = connection.session("S").start("B.b")
    assert transport.sent == [{"id": 1, "method": "A.a", "params": {"x": 1}}, {"id": 2, "method": "B.b", "params": {}, "sessionId": "S"}]
    transport.say(id=2, result={"b": 2}, sessionId="S")
    transport.say(id=1, error={"code": -32000, "message": "no"})
    transport.say(id=99, result={})
    assert await second == {"b": 2}
    with pytest.raises(CdpError, match=r"A\.a: no"):
        await first


async def test_a_call_ends_at_its_deadline() -> None:
    _, connection = connected()
    with pytest.raises(TimeoutError):
        await connection.root.call("A.a", timeout=0.02)


async def test_a_detached_session_fails_its_calls_at_once_and_those_that_follow() -> None:
    transport, connection = connected()
    session = connection.session("S")
    waiting = session.start("A.a")
    transport.say(method="Target.detachedFromTarget", params={"sessionId": "S"})
    with pytest.raises(SessionGone):
        await waiting
    with pytest.raises(SessionGone):
        await session.start("A.b")
    assert connection.session("S") is not session


async def test_the_end_of_the_stream_fails_everything() -> None:
    transport, connection = connected()
    told: list[str] = []
    connection.on_closed = told.append
    waiting = connection.root.start("A.a")
    transport.on_close("the browser crashed")
    with pytest.raises(ConnectionLost, match="crashed"):
        await waiting
    with pytest.raises(ConnectionLost):
        await connection.root.start("A.b")
    assert told == ["the browser crashed"]


async def test_events_go_to_their_session_only() -> None:
    transport, connection = connected()
    seen: list[tuple[str, Any]] = []
    connection.root.on("E.e", lambda params: seen.append(("root", params)))
    remove = connection.session("S").on("E.e", lambda params: seen.append(("S", params)))
    transport.say(method="E.e", params={"n": 1})
    transport.say(method="E.e", params={"n": 2}, sessionId="S")
    transport.say(method="E.e", params={"n": 3}, sessionId="OTHER")
    remove()
    transport.say(method="E.e", params={"n": 4}, sessionId="S")
    assert seen == [("root", {"n": 1}), ("S", {"n": 2})]


async def test_an_answer_after_the_deadline_is_dropped() -> None:
    transport, connection = connected()
    with pytest.raises(TimeoutError):
        await connection.root.call("A.a", timeout=0.01)
    transport.say(id=1, result={})


async def test_lone_surrogates_travel_as_escapes() -> None:
    transport, connection = connected()
    connection.root.forget("A.a", text="\ud800")
    assert transport.sent[0]["params"] == {"text": "\ud800"}
    await asyncio.sleep(0)


async def test_sessions_below_a_detached_one_end_with_it() -> None:
    transport, connection = connected()
    transport.say(method="Target.attachedToTarget", params={"sessionId": "A"})
    transport.say(method="Target.attachedToTarget", params={"sessionId": "B"}, sessionId="A")
    inner = connection.session("B")
    waiting = inner.start("A.a")
    transport.say(method="Target.detachedFromTarget", params={"sessionId": "A"})
    with pytest.raises(SessionGone):
        await waiting
    assert inner.detached


async def test_an_abandoned_session_fails_what_waits_and_can_be_used_again() -> None:
    transport, connection = connected()
    session = connection.session("S")
    waiting = session.start("A.a")
    connection.abandon("S")
    with pytest.raises(SessionGone):
        await waiting
    again = session.start("A.b")
    transport.say(id=2, result={"ok": True}, sessionId="S")
    assert await again == {"ok": True}

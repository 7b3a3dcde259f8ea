"""Random traffic, valid and mangled, in both directions: the filter never fails, forwards nothing foreign and loses nothing of its own.

`make fuzz` runs it for longer: FUZZ_EXAMPLES is the number of conversations, of `MESSAGES` messages each.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from telebrowser.gateway.actions import Action, Activated, Adopt, Drop, End, Operation, Resumed, ToBrowser, ToClient
from telebrowser.gateway.filter import SessionFilter
from telebrowser.gateway.guard import FileGuard
from telebrowser.gateway.methods import PASSED_EVENTS, Verdict, rule

from .traffic import GUESSED, OWN, ROOT_ID, SECRET, Choices, World, browser_message, client_message, info

MESSAGES = 80
DEFAULT_EXAMPLES = 250
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", DEFAULT_EXAMPLES))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=EXAMPLES == DEFAULT_EXAMPLES,
    suppress_health_check=list(HealthCheck),
)


def strict(raw: bytes) -> dict[str, Any]:
    """A message as the other side reads it: UTF-8, and one JSON object that says each thing once."""
    shallow: list[list[str]] = []
    message = json.loads(raw.decode(), object_pairs_hook=lambda found: shallow.append([name for name, _ in found]) or dict(found))
    assert isinstance(message, dict) and len(shallow[-1]) == len({*shallow[-1]})
    return message


class Conversation:
    """One filter, and the model of what it must do."""

    def __init__(self, choices: Choices, page: bool) -> None:
        self.choices = choices
        self.world = World()
        self.home = "D0" * 16 if page else ROOT_ID
        self.filter = SessionFilter(ROOT_ID, self.world, FileGuard((Path("/nonexistent"),)), (OWN[0], self.home) if page else None)
        self.page = page
        self.sessions: dict[str, bool] = {}
        """Session of the client → whether it is a root."""
        self.parents: dict[str, str] = {}
        self.stale: list[str] = []
        self.made = 0

    def step(self) -> None:
        if self.choices.one_in(10):
            self.world.last = not self.world.last
        if self.choices.one_in(2):
            self.from_client()
        else:
            self.from_browser()
        known = {session.upstream for session in self.filter.sessions.values()}
        assert known == {self.home, *self.sessions}, "the model and the filter know the same sessions"

    # client to browser

    def from_client(self) -> None:
        raw = client_message(self.choices, tuple(self.sessions), tuple(self.stale))
        actions = self.filter.from_client(raw)
        assert actions, "every message is answered or passed on"
        for action in actions:
            self.check(action, from_client=True)
        assert sum(isinstance(action, ToBrowser | Operation) for action in actions) <= 1

    def check(self, action: Action, *, from_client: bool) -> None:
        if isinstance(action, ToBrowser):
            self.check_sent(action.data, from_client)
        elif isinstance(action, ToClient):
            assert SECRET.encode() not in action.data, "nothing foreign is told"
            told = strict(action.data).get("sessionId", "")
            assert told == "" or told in self.sessions or told in self.stale
        elif isinstance(action, Operation):
            assert not [name for name in (SECRET, *GUESSED) if name in json.dumps(action.params.get("targetId", ""))]
            assert action.session == "" or action.session in self.sessions
        elif isinstance(action, Activated | Resumed):
            assert action.target in self.world.targets
        elif isinstance(action, Adopt):
            assert action.session not in GUESSED
        else:
            assert isinstance(action, Drop | End)

    def check_sent(self, data: bytes, from_client: bool) -> None:
        assert b"\0" not in data
        sent = strict(data)
        assert list(sent) == ["id", "method", "params", "sessionId"] and isinstance(sent["params"], dict | list | str | int | float | None)
        if not from_client:
            assert sent["id"] < 0 and sent["method"] in ("Runtime.runIfWaitingForDebugger", "Target.detachFromTarget")
            return
        assert 0 <= sent["id"] < 2**31
        assert sent["sessionId"] == self.home or sent["sessionId"] in self.sessions, "only to own sessions"
        at_root = self.sessions.get(sent["sessionId"], not self.page)
        verdict = rule(sent["method"], at_root).verdict
        assert verdict in (Verdict.ALLOW, Verdict.OWN, Verdict.REWRITE), sent
        if sent["method"].startswith("Target."):
            named = [sent["params"].get("targetId"), sent["params"].get("sessionId")]
            assert all(name is None or name in self.world.targets or name in self.sessions for name in named), sent
            assert sent["method"] != "Target.attachToTarget" or sent["params"]["flatten"] is True
        if sent["method"] in ("Page.navigate", "Network.loadNetworkResource"):
            assert sent["params"]["url"].strip().partition(":")[0] in ("http", "https", "data", "about", "")
        assert sent["method"] not in ("DOM.setFileInputFiles",) or sent["params"]["files"] == []

    # browser to client

    def from_browser(self) -> None:
        self.made += 1
        fresh = f"{self.made:032X}"
        upstream = self.choices.of((self.home, *self.sessions, *self.stale[-2:]))
        if self.page and self.choices.one_in(8):
            upstream = ROOT_ID
        message = browser_message(self.choices, tuple(self.sessions), fresh)
        raw = json.dumps({**message, "sessionId": upstream}, separators=(",", ":")).encode()
        live = upstream == self.home or upstream in self.sessions
        at_root = self.sessions.get(upstream, not self.page)
        known = {*self.sessions}
        actions = self.filter.from_browser(raw, upstream)
        for action in actions:
            if isinstance(action, Adopt):
                self.sessions[action.session] = message["params"]["targetInfo"]["type"] == "browser"
                self.parents[action.session] = upstream
            if isinstance(action, Drop):
                self.sessions.pop(action.session)
                self.stale.append(action.session)
        assert all(self.parents[name] in {self.home, *self.sessions} for name in self.sessions), "sessions go with the one that they hang on"
        for action in actions:
            self.check(action, from_client=False)
        details = message.get("params")
        gone = isinstance(details, dict) and details.get("sessionId") in known and not (self.page and upstream == ROOT_ID)
        told = [strict(action.data) for action in actions if isinstance(action, ToClient)]
        expected = {**message, **({} if upstream == self.home else {"sessionId": upstream})}
        if live and "id" in message:
            assert told == [expected], "no answer is lost or changed"
        elif live and not at_root and str(message.get("method", "")).encode() in PASSED_EVENTS:
            assert told == [expected], "no event is lost or changed"
        elif live and message.get("method") == "Target.attachedToTarget" and message.get("params", {}).get("targetInfo", {}).get("targetId") in OWN:
            assert told == [expected] and fresh in self.sessions, "own targets are told"
        elif live and message.get("method") == "Target.detachedFromTarget" and gone:
            assert told == [expected], "the end of an own session is told"
        elif not live:
            assert not told


@FUZZ
@given(data=st.binary(min_size=200, max_size=2500), page=st.booleans())
def test_random_traffic(data: bytes, page: bool) -> None:
    conversation = Conversation(Choices(data), page)
    for _ in range(MESSAGES):
        conversation.step()


def test_as_many_messages_as_promised() -> None:
    assert EXAMPLES * MESSAGES >= 20_000 or "FUZZ_EXAMPLES" in os.environ


@pytest.mark.parametrize("page", [False, True])
def test_the_model_sees_a_leak(page: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that believes that every target is its own is found out."""
    monkeypatch.setattr(SessionFilter, "_belongs", lambda self, info, parent: True)
    conversation = Conversation(Choices(b""), page)
    raw = json.dumps(
        {"method": "Target.attachedToTarget", "params": {"sessionId": "1" * 32, "targetInfo": info(SECRET, "page")}, "sessionId": conversation.home}
    )
    (*_, told) = conversation.filter.from_browser(raw.replace(" ", "").encode(), conversation.home)
    with pytest.raises(AssertionError, match="foreign"):
        conversation.check(told, from_client=False)

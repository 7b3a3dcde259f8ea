"""The state machine: each handoff ends once, one is in front on each desktop, one person controls it. By random walks and by name."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from telebrowser.errors import TelebrowserError
from telebrowser.gateway.handoff.machine import (
    CANCELLED,
    DONE,
    ENDS,
    EXPIRED,
    FAILED,
    MAX_OPEN,
    Begun,
    Desk,
    Effect,
    Ended,
    Handoff,
    InFront,
    NoController,
)

from .samples import sample

PROJECTS, DESKTOPS, PEOPLE = ("a", "b", "c"), {"a": "shared", "b": "shared", "c": "own"}, ("ann", "bob")


class Walk(RuleBasedStateMachine):
    """Agents ask, people take, release and end, time passes. A model beside it keeps only what the promises need."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.now = 1000.0
        self.number = 0
        self.first_end: dict[str, Handoff] = {}
        self.front: dict[str, str] = {}
        self.granted: dict[str, tuple[str, str]] = {}

    def take_in(self, effects: list[Effect]) -> None:
        """What the service would do with them."""
        for effect in effects:
            handoff = effect.handoff
            if isinstance(effect, InFront):
                assert handoff.is_open
                self.front[handoff.desktop] = handoff.id
            elif isinstance(effect, NoController):
                assert self.granted.pop(handoff.desktop, (handoff.id, ""))[0] == handoff.id
            elif isinstance(effect, Ended):
                assert handoff.id not in self.first_end, "it ended twice"
                self.first_end[handoff.id] = handoff
                if self.granted.get(handoff.desktop, ("", ""))[0] == handoff.id:
                    del self.granted[handoff.desktop]
                if self.front.get(handoff.desktop) == handoff.id:
                    del self.front[handoff.desktop]

    def some(self, data: Any) -> str:
        return str(data.draw(st.sampled_from([handoff.id for handoff in self.desk.all()])))

    @rule(project=st.sampled_from(PROJECTS), page=st.integers(1, 12), life=st.integers(1, 50))
    def ask(self, project: str, page: int, life: int) -> None:
        self.number += 1
        target, before = f"{project}-{page}", self.desk.open_of(project)
        new = sample(self.number, project=project, target=target, desktop=DESKTOPS[project], asked_at=self.now, deadline=self.now + life)
        try:
            effects = self.desk.ask(new)
        except TelebrowserError as error:
            assert error.code == "HANDOFF_OPEN"
            assert len(before) >= MAX_OPEN or any(handoff.target == target for handoff in before)
            assert self.desk.get(new.id) is None
            return
        assert len(before) < MAX_OPEN and all(handoff.target != target for handoff in before)
        assert isinstance(effects[0], Begun)
        self.take_in(effects)

    @precondition(lambda self: self.desk.all())
    @rule(data=st.data(), state=st.sampled_from(ENDS))
    def end(self, data: Any, state: Any) -> None:
        ident = self.some(data)
        was_open = self.desk.get(ident).is_open  # type: ignore[union-attr]
        effects = self.desk.end(ident, state, via="person", note="n", now=self.now)
        assert bool(effects) == was_open
        self.take_in(effects)

    @precondition(lambda self: self.desk.all())
    @rule(data=st.data(), who=st.sampled_from(PEOPLE), force=st.booleans())
    def take(self, data: Any, who: str, force: bool) -> None:
        ident = self.some(data)
        handoff = self.desk.get(ident)
        assert handoff is not None
        holder = self.granted.get(handoff.desktop)
        try:
            self.take_in(self.desk.take(ident, who, force=force))
        except TelebrowserError as error:
            assert (error.code == "NOT_FOUND") == (not handoff.is_open)
            assert error.code == "NOT_FOUND" or (holder is not None and holder[1] != who and not force)
            return
        assert handoff.desktop not in self.granted or self.granted[handoff.desktop] == (ident, who)
        self.granted[handoff.desktop] = (ident, who)
        assert self.front[handoff.desktop] == ident

    @precondition(lambda self: self.desk.all())
    @rule(data=st.data(), who=st.sampled_from(PEOPLE))
    def release(self, data: Any, who: str) -> None:
        self.take_in(self.desk.release(self.some(data), who))

    @rule(seconds=st.integers(0, 20))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.take_in(self.desk.expire(self.now))
        assert all(handoff.deadline > self.now for handoff in self.desk.all() if handoff.is_open)

    @precondition(lambda self: self.first_end)
    @rule(data=st.data())
    def settle_and_forget(self, data: Any) -> None:
        ident = data.draw(st.sampled_from(sorted(self.first_end)))
        if self.desk.get(ident) is not None:
            self.first_end[ident] = self.desk.update(ident, settled=True, url="https://shop.example/")
            if data.draw(st.booleans()):
                self.desk.forget(ident)

    @invariant()
    def an_end_is_for_good(self) -> None:
        for ident, ended in self.first_end.items():
            assert self.desk.get(ident) in (ended, None)

    @invariant()
    def one_is_in_front_and_the_others_wait_in_order(self) -> None:
        for desktop in set(DESKTOPS.values()):
            queue = self.desk.queue(desktop)
            assert self.front.get(desktop) == (queue[0].id if queue else None)
            assert [self.desk.position(handoff) for handoff in queue] == list(range(len(queue)))
            assert len({handoff.turn for handoff in queue}) == len(queue)

    @invariant()
    def at_most_one_person_controls_a_desktop_and_its_front(self) -> None:
        for desktop in set(DESKTOPS.values()):
            assert self.desk.controller(desktop) == self.granted.get(desktop)
            if desktop in self.granted:
                assert self.granted[desktop][0] == self.front[desktop]


Walk.TestCase.settings = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "20000")) // 200, stateful_step_count=40, deadline=None)
TestWalk = Walk.TestCase


def test_an_end_brings_the_next_one_to_the_front() -> None:
    desk = Desk()
    first, second = sample(1), sample(2)
    assert [type(effect) for effect in desk.ask(first)] == [Begun, InFront]
    assert [type(effect) for effect in desk.ask(second)] == [Begun]
    effects = desk.end(first.id, DONE, via="person", note="there you are", now=1500.0)
    assert [(type(effect), effect.handoff.id) for effect in effects] == [(Ended, first.id), (InFront, second.id)]
    ended = desk.get(first.id)
    assert ended is not None and (ended.state, ended.note, ended.ended_at, ended.settled) == (DONE, "there you are", 1500.0, False)
    assert desk.end(first.id, FAILED, via="person", now=1600.0) == []


def test_a_second_person_must_say_that_they_take_over() -> None:
    desk = Desk()
    desk.ask(sample(1))
    desk.ask(sample(2, project="bank"))
    assert desk.take(sample(1).id, "ann") == []
    for ident in (sample(1).id, sample(2).id):
        with pytest.raises(TelebrowserError, match="Somebody else is at the screen"):
            desk.take(ident, "bob")
    effects = desk.take(sample(2).id, "bob", force=True)
    assert [(type(effect), effect.handoff.id) for effect in effects] == [(NoController, sample(1).id), (InFront, sample(2).id)]
    assert [handoff.id for handoff in desk.queue("shared")] == [sample(2).id, sample(1).id]
    assert desk.release(sample(1).id, "ann") == [] and desk.controller("shared") == (sample(2).id, "bob")


def test_expiry_at_the_very_second() -> None:
    desk = Desk()
    desk.ask(sample(1, deadline=2000.0))
    assert desk.expire(1999.9) == []
    (effect,) = desk.expire(2000.0)
    assert (effect.handoff.state, effect.handoff.via) == (EXPIRED, "deadline")


def test_what_was_known_before_a_restart_goes_on() -> None:
    before = Desk()
    for number in (1, 2, 3):
        before.ask(sample(number))
    before.take(sample(3).id, "ann")
    before.end(sample(1).id, CANCELLED, via="agent", now=1.0)
    after = Desk(before.all())
    assert [handoff.id for handoff in after.queue("shared")] == [sample(3).id, sample(2).id]
    assert after.controller("shared") is None, "rights are not taken over"


def test_transitions_have_a_method_of_their_own() -> None:
    desk = Desk()
    desk.ask(sample(1))
    with pytest.raises(AssertionError):
        desk.update(sample(1).id, state=DONE)

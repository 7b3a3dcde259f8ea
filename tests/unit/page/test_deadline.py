"""Deadlines only ever shrink, and never to nothing."""

from __future__ import annotations

from telebrowser.page.deadline import LEAST, Deadline


def test_left_is_bounded_on_both_sides() -> None:
    deadline = Deadline(10)
    assert 9 < deadline.left() <= 10
    assert deadline.left(2) == 2
    assert Deadline(-5).left() == LEAST


def test_passed_with_a_margin() -> None:
    assert not Deadline(10).passed()
    assert Deadline(10).passed(11)
    assert Deadline(-1).passed()


def test_sooner_never_outlives_its_origin() -> None:
    deadline = Deadline(10)
    assert deadline.sooner(3).left() <= 3
    assert deadline.sooner(100, margin=1).left() <= 9
    assert Deadline(-1).sooner(5).passed()

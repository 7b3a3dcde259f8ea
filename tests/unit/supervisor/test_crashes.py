"""Three crashes in a minute, by a clock of the test's own."""

from __future__ import annotations

from telebrowser.supervisor.crashes import Crashes


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_third_crash_within_a_minute_leaves_it_down() -> None:
    clock = Clock()
    crashes = Crashes(clock)
    assert crashes.record("p") is False
    clock.now += 29
    assert crashes.record("p") is False
    clock.now += 30
    assert crashes.record("p") is True
    assert crashes.blocked("p") and not crashes.blocked("q")


def test_slow_crashes_do_not() -> None:
    clock = Clock()
    crashes = Crashes(clock)
    for _ in range(10):
        assert crashes.record("p") is False
        clock.now += 31


def test_a_minute_later_it_may_be_tried_again_and_one_more_crash_counts_alone() -> None:
    clock = Clock()
    crashes = Crashes(clock)
    for _ in range(3):
        crashes.record("p")
    clock.now += 59
    assert crashes.blocked("p")
    clock.now += 1
    assert not crashes.blocked("p")
    assert crashes.record("p") is False


def test_reset() -> None:
    crashes = Crashes(Clock())
    for _ in range(3):
        crashes.record("p")
    crashes.reset("p")
    crashes.reset("never seen")
    assert not crashes.blocked("p")
    assert crashes.record("p") is False

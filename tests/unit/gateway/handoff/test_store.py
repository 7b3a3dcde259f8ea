"""Handoffs on disk: what is written is read back, what is broken costs nothing else, and no address keeps its secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telebrowser.errors import ConfigError
from telebrowser.gateway.handoff.machine import DONE, ENDS, OPEN, Condition, Handoff
from telebrowser.gateway.handoff.store import Store, decode, encode, plain

from .samples import sample

TEXT = st.text(max_size=20)
TIME = st.floats(0, 4e9, allow_nan=False)
HANDOFFS = st.builds(
    Handoff,
    id=TEXT,
    project=TEXT,
    session=TEXT,
    target=TEXT,
    reason=TEXT,
    desktop=TEXT,
    asked_at=TIME,
    deadline=TIME,
    agent=TEXT,
    condition=st.none() | st.builds(Condition, st.none() | TEXT, st.none() | TEXT, st.none() | TEXT),
    state=st.sampled_from((OPEN, *ENDS)),
    turn=st.integers(-5, 5),
    seen_at=st.none() | TIME,
    note=TEXT,
    settled=st.booleans(),
)


@given(HANDOFFS)
def test_what_is_written_is_read_back(handoff: Handoff) -> None:
    assert decode(json.loads(json.dumps(encode(handoff)))) == handoff


@pytest.mark.parametrize("change", [{"state": "finished"}, {"turn": "1"}, {"turn": True}, {"settled": 1}, {"id": None}, {"asked_at": "today"}])
def test_what_is_no_handoff_is_none(change: dict[str, Any]) -> None:
    assert decode(encode(sample()) | change) is None


def test_a_missing_field_without_a_default_makes_none_and_an_unknown_one_is_passed_over() -> None:
    value = encode(sample())
    assert decode({**value, "colour": "red"}) == sample()
    del value["reason"]
    assert decode(value) is None


def test_broken_files_are_left_alone_and_the_others_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path / "handoffs")
    store.prepare()
    assert store.save(sample(1)) and store.save(sample(2, state=DONE))
    broken = tmp_path / "handoffs" / "hbroken.json"
    broken.write_text('{"id": "h')
    foreign = tmp_path / "handoffs" / "hother.json"
    foreign.write_text(json.dumps(encode(sample(3))))
    assert store.load() == [sample(1), sample(2, state=DONE)]
    assert broken.exists() and foreign.exists() and "hbroken.json" in caplog.text
    store.remove(sample(1).id)
    store.remove(sample(1).id)
    assert store.load() == [sample(2, state=DONE)]
    assert (tmp_path / "handoffs" / f"{sample(2).id}.json").stat().st_mode & 0o077 == 0


def test_a_disk_that_takes_nothing_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path / "absent")
    assert [store.save(sample(1)), store.save(sample(1))] == [False, False]
    assert caplog.text.count("cannot be saved") == 1


def test_a_folder_that_cannot_be_made_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="handoffs"):
        Store(tmp_path / "file" / "handoffs").prepare()


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://me:pw@shop.example:8443/done?code=1#token=2", "https://shop.example:8443/done"),
        ("about:blank", "about:"),
        ("data:text/html,secret", "data:"),
        ("https://[broken", ""),
        ("", ""),
    ],
)
def test_addresses_lose_what_may_be_a_secret(url: str, kept: str) -> None:
    assert plain(url) == kept
    assert encode(sample(url=url))["url"] == kept

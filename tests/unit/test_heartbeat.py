"""When a gateway knows that the browsers' container has left it in a dead network, and when it must not think so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from telebrowser import heartbeat
from telebrowser.datadir import DataDir, write_json
from telebrowser.heartbeat import FRESH_SECONDS, Heart, Place, Watch


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    made = DataDir(tmp_path / "d")
    made.prepare()
    return made


def tell(data: DataDir, *, boot: str | None = None, network: object = 1, age: float = 0) -> None:
    """A heartbeat of another supervisor."""
    own = heartbeat.here()
    assert own is not None
    write_json(data.heartbeat, {"boot": boot or own.boot, "network": network})
    stamp = os.stat(data.heartbeat).st_mtime - age
    os.utime(data.heartbeat, (stamp, stamp))


def test_in_one_network_nothing_is_wrong(data: DataDir) -> None:
    heart, watch = Heart(data), Watch(data)
    heart.begin()
    assert [watch.look() for _ in range(4)] == [None] * 4
    assert data.heartbeat.stat().st_mode & 0o777 == 0o600


def test_the_second_mismatch_is_certain(data: DataDir) -> None:
    own = heartbeat.here()
    assert own is not None
    tell(data)
    watch = Watch(data)
    assert watch.look() is None
    reason = watch.look()
    assert reason is not None and "network 1 " in reason and str(own.network) in reason and "TELEBROWSER_SHARED_NETWORK=0" in reason
    assert "\n" not in reason


def test_mismatches_must_follow_each_other(data: DataDir) -> None:
    own = heartbeat.here()
    assert own is not None
    watch = Watch(data)
    for _ in range(3):
        tell(data)
        assert watch.look() is None
        tell(data, network=own.network)
        assert watch.look() is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"age": FRESH_SECONDS + 1},
        {"age": -FRESH_SECONDS - 1},
        {"boot": "another start of the machine"},
        {"network": "1"},
        {"network": None},
    ],
)
def test_what_says_nothing(data: DataDir, wrong: dict[str, object]) -> None:
    tell(data, **wrong)  # type: ignore[arg-type]
    watch = Watch(data)
    assert [watch.look() for _ in range(4)] == [None] * 4


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe"])
def test_a_broken_file_says_nothing(data: DataDir, content: bytes) -> None:
    data.heartbeat.write_bytes(content)
    watch = Watch(data)
    assert [watch.look() for _ in range(3)] == [None] * 3


def test_no_file_and_no_place_say_nothing(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [Watch(data).look() for _ in range(3)] == [None] * 3
    monkeypatch.setattr(heartbeat, "BOOT_ID", "/nonexistent")
    assert heartbeat.here() is None
    tell_nothing = Heart(data)
    tell_nothing.begin()
    assert not data.heartbeat.exists()


def test_a_beat_renews_and_the_end_removes(data: DataDir) -> None:
    heart = Heart(data)
    tell(data, age=100)
    heart.begin()
    first = data.heartbeat.stat()
    os.utime(data.heartbeat, (1, 1))
    heart.beat()
    again = data.heartbeat.stat()
    assert again.st_ino == first.st_ino and again.st_mtime > first.st_mtime - 1
    data.heartbeat.unlink()
    heart.beat()
    assert data.heartbeat.exists()
    heart.end()
    heart.end()
    assert not data.heartbeat.exists()


def test_a_disk_that_takes_nothing_is_not_its_business(tmp_path: Path) -> None:
    heart = Heart(DataDir(tmp_path / "nowhere"))
    heart.begin()
    heart.beat()
    heart.end()


def test_a_place_is_told_as_it_is(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "here", lambda: Place("b", 7))
    Heart(data).begin()
    assert data.heartbeat.read_text() == '{"boot":"b","network":7}\n'

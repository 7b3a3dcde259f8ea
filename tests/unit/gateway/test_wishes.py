"""What is wanted of the supervisor stands in files, and the supervisor is told to look."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from telebrowser.datadir import DataDir
from telebrowser.errors import TelebrowserError
from telebrowser.gateway.wishes import Wishes


class Supervisor:
    """Stands for the connection: only what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, command: dict[str, Any]) -> bool:
        self.sent.append(command)
        return True


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    made = DataDir(tmp_path / "data")
    made.prepare()
    return made


@pytest.fixture
def supervisor() -> Supervisor:
    return Supervisor()


@pytest.fixture
def wishes(data: DataDir, supervisor: Supervisor) -> Wishes:
    return Wishes("blog", data, supervisor)  # type: ignore[arg-type]


def test_a_browser_is_wanted_until_it_is_not(data: DataDir, supervisor: Supervisor, wishes: Wishes) -> None:
    wishes.want()
    assert data.want_file("blog").exists()
    wishes.unwant()
    assert not data.want_file("blog").exists()
    wishes.unwant()
    assert supervisor.sent == [{"cmd": "look"}] * 3


def test_a_window_is_asked_for_by_name(data: DataDir, supervisor: Supervisor, wishes: Wishes) -> None:
    wishes.raise_window()
    assert data.raise_file.read_text() == "blog"
    assert supervisor.sent == [{"cmd": "look"}]


def test_a_wish_that_cannot_be_noted_is_said(data: DataDir, supervisor: Supervisor, wishes: Wishes, caplog: pytest.LogCaptureFixture) -> None:
    data.want.rmdir()
    with pytest.raises(TelebrowserError, match="No such file") as refused:
        wishes.want()
    assert refused.value.code == "INTERNAL"
    data.raise_file.parent.rename(data.root / "elsewhere")
    with caplog.at_level(logging.WARNING):
        wishes.raise_window()
    assert "cannot ask for the window to be raised" in caplog.text
    assert supervisor.sent == []

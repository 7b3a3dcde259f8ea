"""Dialogs are answered at once, or left to the person whose they are."""

from __future__ import annotations

from typing import Any

import pytest

from telebrowser.page.dialogs import Dialogs


class Session:
    """Stands for a page session: what is told to it, and what it was asked to do."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}
        self.sent: list[dict[str, Any]] = []

    def on(self, event: str, handler: Any) -> None:
        self.handlers[event] = handler

    def forget(self, method: str, **params: Any) -> None:
        assert method == "Page.handleJavaScriptDialog"
        self.sent.append(params)

    def opens(self, kind: str, **more: Any) -> None:
        self.handlers["Page.javascriptDialogOpening"]({"type": kind, "message": "hello", **more})

    def closes(self) -> None:
        self.handlers["Page.javascriptDialogClosed"]({})


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def told() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def dialogs(session: Session, told: list[dict[str, Any]]) -> Dialogs:
    made = Dialogs(told.append)
    made.listen(session)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(("kind", "accept"), [("alert", True), ("beforeunload", True), ("confirm", False), ("prompt", False)])
def test_each_kind_is_answered_at_once(session: Session, told: list[dict[str, Any]], dialogs: Dialogs, kind: str, accept: bool) -> None:
    session.opens(kind)
    assert session.sent == [{"accept": accept}]
    assert [(each["type"], each["message"], each["answered"]) for each in told] == [(kind, "hello", "accepted" if accept else "dismissed")]
    assert dialogs.persons is None


def test_a_plan_is_for_one_dialog_and_not_for_a_beforeunload(session: Session, dialogs: Dialogs) -> None:
    dialogs.plan = (True, "text")
    session.opens("beforeunload")
    session.opens("prompt", defaultPrompt="other")
    session.opens("prompt", defaultPrompt="other")
    assert session.sent == [{"accept": True}, {"accept": True, "promptText": "text"}, {"accept": False}]


def test_an_accepted_prompt_without_a_text_keeps_its_own(session: Session, dialogs: Dialogs) -> None:
    dialogs.plan = (True, "")
    session.opens("prompt", defaultPrompt="own")
    assert session.sent == [{"accept": True, "promptText": "own"}]


def test_a_persons_dialog_waits_for_them(session: Session, told: list[dict[str, Any]], dialogs: Dialogs) -> None:
    dialogs.hand_over(True)
    session.opens("confirm")
    assert (session.sent, told, dialogs.persons) == ([], [], "confirm")
    session.closes()
    assert dialogs.persons is None
    dialogs.hand_over(False)
    assert session.sent == []


def test_one_that_is_open_when_the_tab_comes_back_is_answered(session: Session, told: list[dict[str, Any]], dialogs: Dialogs) -> None:
    dialogs.hand_over(True)
    session.opens("confirm")
    dialogs.hand_over(False)
    assert session.sent == [{"accept": False}]
    assert told[0]["answered"] == "dismissed"
    assert dialogs.persons is None

"""The dialogs of one tab: answered at once, as armed or by their kind, or left to the person whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cdp.connection import Session


class Dialogs:
    """Nothing ever waits for a dialog but a person who was asked to the tab. ``tell`` takes what each answer is to say of one."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self.plan: tuple[bool, str] | None = None
        """How the next one is to be answered: whether to accept, and the text for a prompt. A beforeunload does not use it up."""
        self.handed = False
        """A person is asked to this tab: its dialogs are theirs."""
        self._open: tuple[Session, dict[str, Any]] | None = None

    def listen(self, session: Session) -> None:
        """Answer the dialogs of one more session of the tab."""
        session.on("Page.javascriptDialogOpening", lambda params: self._opening(session, params))
        session.on("Page.javascriptDialogClosed", self._closed)

    @property
    def persons(self) -> str | None:
        """The kind of the dialog that is left to a person and keeps the page from answering."""
        return None if self._open is None else str(self._open[1]["type"])

    def hand_over(self, handed: bool) -> None:
        """Leave them to a person, or take them back; one that is open then is answered."""
        self.handed = handed
        if not handed and self._open is not None:
            session, params = self._open
            self._open = None
            self._answer(session, params)

    def _opening(self, session: Session, params: dict[str, Any]) -> None:
        if self.handed:
            self._open = (session, params)
        else:
            self._answer(session, params)

    def _closed(self, _params: dict[str, Any]) -> None:
        self._open = None

    def _answer(self, session: Session, params: dict[str, Any]) -> None:
        kind = params["type"]
        accept, text = (kind in ("alert", "beforeunload"), "")
        if self.plan is not None and kind != "beforeunload":
            accept, text = self.plan
            self.plan = None
        answer: dict[str, Any] = {"accept": accept}
        if kind == "prompt" and accept:
            answer["promptText"] = text or params.get("defaultPrompt", "")
        session.forget("Page.handleJavaScriptDialog", **answer)
        dialog: dict[str, Any] = {"type": kind, "message": params["message"], "answered": "accepted" if accept else "dismissed"}
        if kind == "beforeunload":
            dialog["note"] = "the page asked to stay (beforeunload); leaving was confirmed"
        elif not accept:
            dialog["note"] = 'to accept it, call browser_dialog with action "accept", then repeat the action'
        self._tell(dialog)

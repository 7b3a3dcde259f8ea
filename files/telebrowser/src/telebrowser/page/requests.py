"""What the network tells of one tab: how its document was got, and which requests of its scripts are under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cdp.connection import Session
from .effects import Watch

BLOCKED = "net::ERR_BLOCKED_BY_CLIENT"
BACKGROUND = frozenset({"XHR", "Fetch"})


class Requests:
    """Follows the page session. ``watches`` are the tab's; ``blocked`` takes the address of a frame whose request was stopped."""

    def __init__(self, main_frame: str, watches: list[Watch], blocked: Callable[[str], None]) -> None:
        self._main_frame = main_frame
        self._watches = watches
        self._blocked = blocked
        self._documents: dict[str, tuple[str, bool]] = {}
        self.status = 0
        """The HTTP status of the main document."""
        self.remote = ""
        """The address that its server was reached at."""
        self.redirects = 0
        """How many there were on the way to it."""
        self.failure = ""
        """Why the main document did not come, in Chromium's words."""

    def listen(self, session: Session) -> None:
        """Follow the page session."""
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.responseReceived", self._response)
        session.on("Network.loadingFinished", self._ended)
        session.on("Network.loadingFailed", self._failed)

    def started(self) -> None:
        """A navigation of the main frame has started."""
        self.redirects = 0

    def committed(self) -> None:
        """The main frame shows a new document."""
        self._documents.clear()

    def _is_main(self, params: dict[str, Any]) -> bool:
        return bool(params.get("frameId") == self._main_frame)

    def _sent(self, params: dict[str, Any]) -> None:
        if params.get("type") == "Document":
            self._documents[params["requestId"]] = (params["request"]["url"], self._is_main(params))
            if self._is_main(params) and "redirectResponse" in params:
                self.redirects += 1
        if params.get("type") in BACKGROUND:
            for watch in self._watches:
                watch.requests.add(params["requestId"])

    def _response(self, params: dict[str, Any]) -> None:
        if params.get("type") == "Document" and self._is_main(params):
            self.status = params["response"].get("status", 0)
            self.remote = params["response"].get("remoteIPAddress", "")

    def _ended(self, params: dict[str, Any]) -> None:
        for watch in self._watches:
            if params["requestId"] in watch.requests:
                watch.requests.discard(params["requestId"])
                watch.touch()

    def _failed(self, params: dict[str, Any]) -> None:
        self._ended(params)
        if params.get("type") != "Document":
            return
        url, main = self._documents.get(params["requestId"], ("", False))
        if main:
            self.failure = params.get("errorText", "")
        elif params.get("errorText") == BLOCKED:
            self._blocked(url)

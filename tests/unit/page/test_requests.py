"""What the network events of a tab are made into."""

from __future__ import annotations

from typing import Any

import pytest

from telebrowser.page.effects import Watch
from telebrowser.page.requests import BLOCKED, Requests


class Page:
    """Stands for a page session that tells of requests, with the tab ``main``."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}
        self.watch = Watch()
        self.blocked: list[str] = []
        self.requests = Requests("main", [self.watch], self.blocked.append)
        self.requests.listen(self)  # type: ignore[arg-type]

    def on(self, event: str, handler: Any) -> None:
        self.handlers[event] = handler

    def tells(self, event: str, number: str, kind: str, frame: str = "main", **more: Any) -> None:
        self.handlers["Network." + event]({"requestId": number, "type": kind, "frameId": frame, **more})

    def sends(self, number: str, kind: str, frame: str = "main", **more: Any) -> None:
        self.tells("requestWillBeSent", number, kind, frame, request={"url": "https://example.com/" + number}, **more)


@pytest.fixture
def page() -> Page:
    return Page()


def test_the_main_documents_answer_is_kept_and_no_frames(page: Page) -> None:
    page.tells("responseReceived", "1", "Document", response={"status": 404, "remoteIPAddress": "192.0.2.1"})
    page.tells("responseReceived", "2", "Document", "inner", response={"status": 200, "remoteIPAddress": "192.0.2.2"})
    page.tells("responseReceived", "3", "Script", response={"status": 500})
    assert (page.requests.status, page.requests.remote) == (404, "192.0.2.1")


def test_redirects_of_the_main_document_are_counted_anew_for_each_navigation(page: Page) -> None:
    page.requests.started()
    page.sends("1", "Document")
    page.sends("1", "Document", redirectResponse={})
    page.sends("1", "Document", redirectResponse={})
    page.sends("2", "Document", "inner", redirectResponse={})
    assert page.requests.redirects == 2
    page.requests.started()
    assert page.requests.redirects == 0


@pytest.mark.parametrize("end", ["loadingFinished", "loadingFailed"])
def test_a_scripts_requests_are_watched_until_their_end(page: Page, end: str) -> None:
    page.sends("1", "Fetch")
    page.sends("2", "XHR")
    page.sends("3", "Image")
    assert page.watch.requests == {"1", "2"}
    page.tells(end, "1", "Fetch")
    assert page.watch.requests == {"2"}


def test_why_the_main_document_failed_is_kept_and_a_blocked_frame_is_told(page: Page) -> None:
    page.sends("1", "Document")
    page.sends("2", "Document", "inner")
    page.sends("3", "Document", "inner")
    page.tells("loadingFailed", "2", "Document", "inner", errorText=BLOCKED)
    page.tells("loadingFailed", "3", "Document", "inner", errorText="net::ERR_FAILED")
    assert (page.blocked, page.requests.failure) == (["https://example.com/2"], "")
    page.tells("loadingFailed", "1", "Document", errorText="net::ERR_CONNECTION_REFUSED")
    assert page.requests.failure == "net::ERR_CONNECTION_REFUSED"

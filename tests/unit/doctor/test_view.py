"""What doctor says of what people see."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from telebrowser import config
from telebrowser.doctor import machine
from telebrowser.doctor.report import Failure, Note
from telebrowser.doctor.service import Service
from tests.support.stack import free_port


class Refusing(BaseHTTPRequestHandler):
    """The pages for people, to somebody without a link."""

    def do_GET(self) -> None:
        self.send_error(403)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def service(**people: str | None) -> Service:
    made = Service(config.load(config.LAUNCHER, environ={}))
    made.status = {"people": {"view": "vnc", "setting": "auto", "displays": "shared", **people}}
    return made


def test_what_is_shown_and_where(url: str) -> None:
    assert service(url=url).view() == f"vnc at {url}"
    assert service(url=url, view="screencast").view() == f"screencast at {url}"


def test_a_desktop_that_is_not_shown(url: str) -> None:
    with pytest.raises(Note, match="no desktop is shown now"):
        service(url=url, view="screencast", setting="vnc").view()
    # Displays of their own are there while their browsers are.
    assert service(url=url, view="screencast", setting="vnc", displays="per-project").view()


def test_pages_that_do_not_answer_or_are_not_served() -> None:
    with pytest.raises(Failure, match="does not answer"):
        service(url=f"http://127.0.0.1:{free_port()}").view()
    with pytest.raises(Note, match="no pages for people"):
        service(url=None).view()
    with pytest.raises(Failure, match="not asked"):
        Service(config.load(config.LAUNCHER, environ={})).view()


def test_what_the_view_needs_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = config.load(config.SUPERVISOR, config.ENGINE, environ={"TELEBROWSER_VIEW": "vnc"})
    assert [name for name, _ in machine.display_checks(settings)] == ["Xvnc", "noVNC"]
    monkeypatch.setattr("telebrowser.novnc.NOVNC", tmp_path)
    with pytest.raises(Failure, match="not in"):
        machine.novnc()

"""Stacks that serve the pages for people."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.conftest import scratch_dir
from tests.e2e.desktop import SELKIES, VNC, Kind
from tests.support import proc, selkies
from tests.support.stack import Stack, free_port


@pytest.fixture(scope="module")
def own() -> Iterator[Stack]:
    """A stack that serves the pages for people."""
    root = scratch_dir("people")
    port = free_port()
    running = Stack(
        root, TELEBROWSER_PEOPLE_PORT=str(port), TELEBROWSER_VIEW="screencast", TELEBROWSER_TRUSTED_PROXIES="127.0.0.1", TELEBROWSER_REMOTE_USERS="ann"
    )
    running.people = f"http://127.0.0.1:{port}"  # type: ignore[attr-defined]
    try:
        yield running.start()
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def base(own: Stack) -> str:
    """Where the pages are."""
    return str(own.people)  # type: ignore[attr-defined]


VIEWS = {"vnc": (VNC, {"TELEBROWSER_VIEW": "vnc"}), "selkies": (SELKIES, selkies.SETTINGS)}


@pytest.fixture(scope="module", params=VIEWS)
def shown(request: pytest.FixtureRequest) -> Iterator[tuple[Stack, Kind]]:
    """A stack whose desktop can be seen, and how."""
    kind, settings = VIEWS[request.param]
    root = scratch_dir("shown")
    running = Stack(root, TELEBROWSER_PEOPLE_PORT=str(free_port()), **settings)
    try:
        running.start()
        proc.until((running.data / "run" / "view.json").exists, "the view is announced", 60)
        yield running, kind
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)

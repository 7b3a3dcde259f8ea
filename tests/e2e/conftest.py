"""A stack that serves the pages for people, and a person with a browser of their own."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.conftest import scratch_dir
from tests.e2e.person import Person
from tests.support.chromium import Chromium
from tests.support.stack import Stack, free_port
from tests.support.truth import NoAnswer


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


@pytest.fixture
async def person(chromium: Chromium, truths: Callable[..., Any]) -> AsyncIterator[Person]:
    """A tab in a browser that has never been here."""
    truth = await truths(chromium.ws)
    context = (await truth.call("Target.createBrowserContext"))["browserContextId"]
    made = await truth.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})
    yield Person(truth, made["targetId"])
    # Chromium may not answer while a page in it decodes moving pictures. It is the person's browser, not ours; the next person has another context.
    with contextlib.suppress(NoAnswer):
        await truth.call("Target.disposeBrowserContext", {"browserContextId": context})

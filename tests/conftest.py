"""Shared fixtures: a page server, a stack and a plain Chromium for the whole run, and an agent per test."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.person import Person
from tests.support import proc
from tests.support.agent import Agent
from tests.support.chromium import Chromium
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import NoAnswer, Picture, Truth, look

PROJECT = "cases"


def pytest_configure() -> None:
    """A shell without job control starts what it puts into the background with SIGINT ignored, which every child would inherit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def scratch_dir(name: str) -> Path:
    """A short-named temporary directory: Unix socket paths have little room."""
    return Path(tempfile.mkdtemp(prefix=f"tb-{name}-", dir="/tmp"))


@pytest.fixture(scope="session")
def pages() -> Iterator[Pages]:
    """The page server."""
    server = Pages()
    yield server
    server.close()


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """A stack for the whole run; tests take projects or sessions of their own in it."""
    root = scratch_dir("stack")
    running = Stack(root)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def new_stack() -> Iterator[Callable[..., Stack]]:
    """Makes stacks of a test's own, not started; they are stopped, and must be gone, at its end."""
    made: list[Stack] = []

    def make(**settings: Any) -> Stack:
        made.append(Stack(scratch_dir("own"), **settings))
        return made[-1]

    yield make
    try:
        for one in made:
            one.stop()
    finally:
        for one in made:
            proc.kill_all(proc.mentioning(str(one.root)))
            shutil.rmtree(one.root, ignore_errors=True)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A plain Chromium with a debug port, for `--cdp-url` and to decode images."""
    root = scratch_dir("chromium")
    browser = Chromium(root)
    yield browser
    browser.close()


@pytest.fixture
def home() -> Iterator[Path]:
    """A home directory of the test's own, with a short path for what is made below it."""
    path = scratch_dir("h")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def clients() -> AsyncIterator[Callable[..., Any]]:
    """Starts MCP clients; those still running at the end of the test are closed."""
    made: list[McpClient] = []

    async def start(*arguments: str, env: dict[str, str], cwd: Path, **more: Any) -> McpClient:
        made.append(await McpClient.start(*arguments, env=env, cwd=cwd, **more))
        return made[-1]

    yield start
    for client in made:
        await client.close()


@pytest.fixture
async def truths() -> AsyncIterator[Callable[..., Any]]:
    """Opens independent CDP connections, closed at the end of the test."""
    made: list[Truth] = []

    async def connect(url: str) -> Truth:
        made.append(await Truth.connect(url))
        return made[-1]

    yield connect
    for truth in made:
        await truth.close()


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


def standalone_env(home: Path, **more: str) -> dict[str, str]:
    """The environment of a standalone launcher: its home and temporary directory are the test's own."""
    temp = home / "tmp"
    temp.mkdir(exist_ok=True)
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(temp), "OUTPUT_DIR": str(home / "shots"), "LOG_LEVEL": "debug", **more}


@pytest.fixture(params=["gateway", "standalone"])
async def agent(request: pytest.FixtureRequest, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> AsyncIterator[Agent]:
    """An agent of a session of its own, through the gateway and attached to a browser."""
    if request.param == "gateway":
        stack: Stack = request.getfixturevalue("stack")
        client = await clients("mcp", "--project", PROJECT, env=stack.env(), cwd=home)
        truth = await truths(stack.ws(PROJECT))
        files = stack.data / "projects" / PROJECT
    else:
        browser: Chromium = request.getfixturevalue("chromium")
        client = await clients("mcp", "--standalone", "--cdp-url", browser.http, env=standalone_env(home, ENABLE_EVAL_JS="1"), cwd=home)
        truth = await truths(browser.ws)
        files = home
    yield Agent(client, truth, pages, request.param, files)


@pytest.fixture
async def picture(chromium: Chromium) -> AsyncIterator[Callable[..., Any]]:
    """Decodes an image in a tab of the plain Chromium."""
    truth = await Truth.connect(chromium.ws)
    target = (await truth.call("Target.createTarget", {"url": "about:blank"}))["targetId"]

    async def decode(data: bytes, points: list[tuple[float, float]] | None = None) -> Picture:
        return await look(truth, target, data, points)

    yield decode
    await truth.call("Target.closeTarget", {"targetId": target})
    await truth.close()

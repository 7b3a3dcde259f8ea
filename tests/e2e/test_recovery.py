"""What a person sees while a part of the stack, the line or a browser fails, and how long it takes until they can go on. `-s` shows the figures."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import websockets

from tests.conftest import scratch_dir
from tests.e2e.handed import Handed, hand, open_view
from tests.e2e.person import Person
from tests.support import proc
from tests.support.chromium import Chromium
from tests.support.hosts import Host
from tests.support.pages import Pages
from tests.support.stack import Stack, free_port, request
from tests.support.truth import Truth

PROJECT = "recovers"
LOGIN = """<!doctype html><title>login</title><input id=field style="position:absolute;left:20px;top:20px;width:300px;height:40px">
<script>document.cookie = 'login=yes; max-age=86400; path=/';
setInterval(() => { document.body.style.background = Date.now() % 2000 < 1000 ? '#fff' : '#ffe' }, 200)</script>"""
VIEW = "document.querySelector('iframe')?.contentDocument"
LOST = "The connection is lost; trying again …"


@contextlib.contextmanager
def running(**settings: str) -> Iterator[Stack]:
    """A stack of a test's own, with pages for people."""
    root = scratch_dir("recovers")
    port = free_port()
    stack = Stack(root, TELEBROWSER_VIEW="screencast", **{"TELEBROWSER_PEOPLE_PORT": str(port), **settings})
    try:
        yield stack.start()
    finally:
        stack.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def stack() -> Iterator[Stack]:
    with running() as made:
        yield made


@pytest.fixture
async def handed(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> AsyncIterator[Handed]:
    async with hand(stack, PROJECT, truths) as made:
        await made.show(pages.add("recovers.html", LOGIN))
        yield made


async def at_work(handed: Handed, person: Person) -> None:
    """The person sees the page and has begun to type; their own page is marked, so that a reload would be noticed."""
    await handed.enter(person)
    await open_view(person)
    await person.eval("window.unharmed = true")
    await handed.press(person, "#field")
    await handed.page("document.activeElement.id", "field")
    await write(person, "ann")
    await handed.page("field.value", "ann")


async def write(person: Person, text: str) -> None:
    session = await person.truth.attach(person.target)
    await person.truth.call("Input.insertText", {"text": text}, session)
    await person.truth.detach(session)


async def sees_again(person: Person) -> None:
    """Pictures come again: the view is there, and nothing says that it is lost."""
    said = f"{VIEW}?.querySelector('#said')?.textContent === ''"
    await person.shows(f"{said} && {VIEW}.defaultView.shownWidth() > 1 && !{VIEW}.querySelector('.lost')", True)


def told(what: str, **figures: float) -> None:
    print(f"\n{what}: " + ", ".join(f"{name.replace('_', ' ')} {value:.1f} s" for name, value in figures.items()))


async def test_the_gateway_is_killed(stack: Stack, handed: Handed, person: Person, truths: Callable[..., Any]) -> None:
    """The page finds the new one by itself and has the view again; handoff, browser and what was typed are as they were."""
    await at_work(handed, person)
    pid = stack.browser_pid(PROJECT)
    await asyncio.to_thread(stack.signal, "gateway", signal.SIGKILL)
    stack.wait("gateway")
    killed = time.monotonic()
    await person.shows("document.querySelector('#said').textContent", LOST)
    said = time.monotonic()
    await asyncio.to_thread(stack.start_gateway)
    answers = time.monotonic()
    await sees_again(person)
    told("gateway killed", page_says_so_after=said - killed, gateway_answers_after=answers - said, picture_after=time.monotonic() - answers)
    assert await person.eval("unharmed") is True
    assert stack.browser_pid(PROJECT) == pid
    assert stack.http("GET", f"handoffs/{handed.id}", PROJECT).json["state"] == "open"
    handed.truth = await truths(stack.ws(PROJECT))
    handed.session = await handed.truth.attach(handed.target)
    await handed.page("field.value", "ann")
    await handed.press(person, "#field")
    await write(person, "e")
    await handed.page("field.value", "anne")
    await person.press("button[formaction$='/done']")
    await person.heading("Done")


@pytest.fixture
async def elsewhere(pages: Pages, truths: Callable[..., Any]) -> AsyncIterator[tuple[Host, Person, Handed]]:
    """A person on a machine of their own, at work on a handoff by the network."""
    host = Host(77, [])
    root = scratch_dir("far")
    try:
        port = free_port()
        with running(TELEBROWSER_PEOPLE_PORT=str(port), TELEBROWSER_BIND="0.0.0.0", TELEBROWSER_PEOPLE_URL=f"http://{host.address}:{port}") as stack:
            browser = await asyncio.to_thread(Chromium, root, prefix=host.prefix)
            try:
                line = await asyncio.to_thread(host.connect, urlsplit(browser.ws).port or 0)
                truth = Truth(await websockets.connect(browser.ws, sock=line, max_size=None, compression=None, ping_interval=None, proxy=None))
                person = Person(truth, (await truth.targets())[0]["targetId"])
                async with hand(stack, PROJECT, truths) as handed:
                    await handed.show(pages.add("recovers.html", LOGIN))
                    yield host, person, handed
                await truth.close()
            finally:
                await asyncio.to_thread(browser.close)
    finally:
        host.close()


@pytest.mark.parametrize("way", ["silent for 70 s", "unplugged for 20 s"])
async def test_the_line_is_cut(elsewhere: tuple[Host, Person, Handed], way: str) -> None:
    """Page and view say so, and go on by themselves."""
    host, person, handed = elsewhere
    await at_work(handed, person)
    began = time.monotonic()
    with contextlib.ExitStack() as cut:
        if way.startswith("silent"):
            cut.enter_context(host.lost())
        else:
            host.link("down")
            cut.callback(host.link, "up")
        await person.shows("document.querySelector('#said').textContent", LOST)
        await person.shows(f"{VIEW}.querySelector('#said').textContent", LOST)
        said = time.monotonic()
        await asyncio.sleep(max(0.0, began + (70 if way.startswith("silent") else 20) - time.monotonic()))
    back = time.monotonic()
    await sees_again(person)
    seen = time.monotonic()
    await person.shows("document.querySelector('#said').textContent", "")
    told(f"line {way}", page_and_view_say_so_after=said - began, picture_after=seen - back, all_well_after=time.monotonic() - back)
    assert await person.eval("unharmed") is True
    await handed.press(person, "#field")
    await write(person, "e")
    await handed.page("field.value", "anne")
    assert await person.eval("document.querySelector('[data-control=own]') !== null"), "the control was kept"


async def test_the_window_manager_is_killed(stack: Stack, handed: Handed, person: Person) -> None:
    """The person notices nothing, and the windows are managed again."""
    await at_work(handed, person)
    former = [row for row in proc.mentioning(str(stack.root)) if "openbox" in row.cmdline.split()[0]]
    assert len(former) == 1, former
    os.kill(former[0].pid, signal.SIGKILL)
    killed = time.monotonic()
    await write(person, "e")
    await handed.page("field.value", "anne")
    typed = time.monotonic()

    def again() -> bool:
        rows = [row for row in proc.mentioning(str(stack.root)) if "openbox" in row.cmdline.split()[0]]
        return bool(rows) and rows[0].pid != former[0].pid

    await asyncio.to_thread(proc.until, again, "another window manager runs", 20)
    told("window manager killed", typed_after=typed - killed, another_runs_after=time.monotonic() - killed)
    assert (await asyncio.to_thread(stack.http, "POST", "focus", PROJECT)).status == 200
    assert stack.http("GET", f"handoffs/{handed.id}", PROJECT).json["state"] == "open"


async def test_the_persons_browser_is_killed(stack: Stack, handed: Handed, person: Person) -> None:
    """The handoff waits; the person comes back by a new link and takes over from who they were."""
    root = scratch_dir("person")
    browser = await asyncio.to_thread(Chromium, root)
    first = await Truth.connect(browser.ws)
    await at_work(handed, Person(first, (await first.targets())[0]["targetId"]))
    await asyncio.to_thread(browser.close)
    killed = time.monotonic()
    await first.close()
    assert stack.http("GET", f"handoffs/{handed.id}", PROJECT).json["state"] == "open"
    await handed.enter(person, await handed.another_link())
    await person.press("#take")
    await person.shows("document.querySelector('#take').textContent", "Take over")
    await open_view(person)
    told("person's browser killed", another_one_sees_the_page_after=time.monotonic() - killed)
    await handed.press(person, "#field")
    await write(person, "e")
    await handed.page("field.value", "anne")


async def test_the_agent_is_killed(stack: Stack, pages: Pages, person: Person, home: Any, clients: Callable[..., Any], truths: Callable[..., Any]) -> None:
    """The step is still wanted: the tab stays for the person, past the time that sessions get, and what they did is on disk when they say Done."""
    url = pages.add("recovers.html", LOGIN)
    agent = await clients("mcp", "--project", PROJECT, env=stack.env(), cwd=home)
    await agent.ok("browser_navigate", url=url)
    call = asyncio.create_task(agent.call("browser_handoff", 120, reason="Sign in at the shop", wait_seconds=100))
    row = (
        await asyncio.to_thread(
            proc.until, lambda: [row for row in stack.http("GET", "handoffs", PROJECT).json["handoffs"] if row["state"] == "open"], "it is open"
        )
    )[0]
    truth = await truths(stack.ws(PROJECT))
    link = (await asyncio.to_thread(stack.http, "POST", "open", PROJECT, b"{}")).json["url"]
    handed = Handed(stack, PROJECT, {**row, "link": link}, truth, await truth.attach(row["target"]))
    await at_work(handed, person)
    await agent.kill()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await asyncio.to_thread(
        proc.until, lambda: not [each for each in stack.status(PROJECT)["sessions"] if each["connections"]], "the agent's connections have ended"
    )
    # Twice the time for which a session without a client is kept here.
    await asyncio.sleep(4)
    await write(person, "e")
    await handed.page("field.value", "anne")
    await person.press("button[formaction$='/done']")
    await person.heading("Done")
    ended = stack.http("GET", f"handoffs/{handed.id}", PROJECT).json
    assert (ended["state"], ended["cookies_saved"]) == ("done", True)
    left = await truth.until_targets(lambda found: handed.target not in [info["targetId"] for info in found])
    assert handed.target not in [info["targetId"] for info in left], "nobody needs the tab any more"


async def test_the_supervisor_is_killed(stack: Stack, handed: Handed, person: Person, pages: Pages) -> None:
    """Its browsers close in order: the person is told, nobody waits, and the login is there when the next one has started."""
    await at_work(handed, person)
    stack.signal("supervisor", signal.SIGKILL)
    stack.wait("supervisor")
    killed = time.monotonic()
    await person.heading("Over")
    over = time.monotonic()
    ended = stack.http("GET", f"handoffs/{handed.id}", PROJECT).json
    assert (ended["state"], ended["via"]) == ("failed", "browser")
    await asyncio.to_thread(stack.start_supervisor)
    await asyncio.to_thread(stack.http, "POST", "start", PROJECT)
    await asyncio.to_thread(proc.until, lambda: stack.status(PROJECT)["state"] == "up", "the browser runs again", 40)
    told("supervisor killed", person_is_told_after=over - killed, browser_runs_again_after=time.monotonic() - over)
    truth = await Truth.connect(stack.ws(PROJECT))
    target = (await truth.targets())[0]["targetId"]
    session = await truth.attach(target)
    await truth.call("Page.navigate", {"url": f"{pages.base}/who"}, session)
    assert await truth.wait(target, "document.body?.innerText.includes('login=yes')", True) is True
    await truth.close()
    assert request(f"{stack.url}/healthz").status == 200

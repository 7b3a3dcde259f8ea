"""What a person at a whole desktop sees while a part of the stack fails, and how long it takes until they can go on. `-s` shows the figures."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
import websockets

from tests.conftest import scratch_dir
from tests.e2e.conftest import VIEWS
from tests.e2e.desktop import FRAME, VNC, Hands, Kind
from tests.e2e.handed import Handed, hand
from tests.e2e.person import Person
from tests.support import proc
from tests.support.chromium import Chromium
from tests.support.hosts import Host
from tests.support.pages import Pages
from tests.support.stack import Stack, free_port
from tests.support.truth import Truth

PROJECT = "recovers"
FIELD = '<!doctype html><title>field</title><input id=field style="position:absolute;left:20px;top:20px;width:300px;height:40px">'
SCREEN = {"width": 1700, "height": 1500, "deviceScaleFactor": 1, "mobile": False}
SOURCE = "document.querySelector('iframe')?.src"
SILENCE = 70.0


def told(what: str, **figures: float) -> None:
    print(f"\n{what}: " + ", ".join(f"{name.replace('_', ' ')} {value:.1f} s" for name, value in figures.items()))


async def at_work(handed: Handed, person: Person, kind: Kind) -> Hands:
    """The person sees the desktop and has begun to type into the page."""
    session = await person.truth.attach(person.target)
    await person.truth.call("Emulation.setDeviceMetricsOverride", SCREEN, session)
    await person.truth.call("Page.bringToFront", {}, session)
    await handed.enter(person)
    await person.press("#take")
    await person.shows(kind.shown, True)
    hands = Hands(person, session, handed.truth, kind.surface)
    await types(handed, hands, "ann")
    return hands


async def types(handed: Handed, hands: Hands, text: str) -> None:
    before = await handed.eval("field.value")
    await hands.click(handed.target, 100, 40)
    await handed.page("document.activeElement.id", "field")
    await hands.type(text)
    await handed.page("field.value", before + text)


async def test_the_gateway_is_killed(shown: tuple[Stack, Kind], person: Person, pages: Pages, truths: Callable[..., Any]) -> None:
    """The page finds the new one by itself and has the desktop again; handoff, browser and what was typed are as they were."""
    stack, kind = shown
    async with hand(stack, PROJECT, truths) as handed:
        await handed.show(pages.add("field.html", FIELD))
        hands = await at_work(handed, person, kind)
        pid, source = stack.browser_pid(PROJECT), await person.eval(SOURCE)
        await asyncio.to_thread(stack.signal, "gateway", signal.SIGKILL)
        stack.wait("gateway")
        await asyncio.to_thread(stack.start_gateway)
        answers = time.monotonic()
        await person.shows(f"{SOURCE} !== {source!r} && ({kind.shown})", True)
        told("gateway killed", picture_after_it_answers=time.monotonic() - answers)
        assert stack.browser_pid(PROJECT) == pid
        handed.truth = hands.truth = await truths(stack.ws(PROJECT))
        handed.session = await handed.truth.attach(handed.target)
        await types(handed, hands, "e")


async def test_the_view_server_is_killed(shown: tuple[Stack, Kind], person: Person, pages: Pages, truths: Callable[..., Any]) -> None:
    """Selkies comes back beside the browser. Xvnc is the display, with which the browser goes: both come back, and the handoff says that it failed."""
    stack, kind = shown
    async with hand(stack, PROJECT, truths) as handed:
        await handed.show(pages.add("field.html", FIELD))
        hands = await at_work(handed, person, kind)
        pid = stack.browser_pid(PROJECT)
        announcement = stack.data / "run" / "view.json"
        record = "display.json" if kind is VNC else "view.pid"
        os.kill(json.loads((stack.data / "run" / record).read_text())["pid"], signal.SIGKILL)
        killed = time.monotonic()
        if kind is not VNC:
            await asyncio.to_thread(proc.until, lambda: not announcement.exists(), "the announcement is withdrawn", 10)
            await asyncio.to_thread(proc.until, announcement.exists, "the view is announced again", 60)
            announced = time.monotonic()
            await person.press("#take")
            await person.shows(kind.shown, True)
            told("view killed", announced_again_after=announced - killed, then_picture_after=time.monotonic() - announced)
            assert stack.browser_pid(PROJECT) == pid
            await types(handed, hands, "e")
            return
        await person.heading("Over")
        said = time.monotonic()
        await asyncio.to_thread(proc.until, lambda: stack.status(PROJECT)["state"] == "up" and stack.browser_pid(PROJECT) != pid, "the browser runs again", 40)
        told("display killed", page_says_so_after=said - killed, browser_runs_again_after=time.monotonic() - killed)
    async with hand(stack, PROJECT, truths) as again:
        await again.show(pages.add("field.html", FIELD))
        await at_work(again, person, kind)


@pytest.mark.parametrize("name", VIEWS)
async def test_the_line_is_silent(name: str, pages: Pages, truths: Callable[..., Any]) -> None:
    """The person's machine hears nothing for more than a minute; then page and desktop go on by themselves."""
    kind, settings = VIEWS[name]
    host, root, home = Host(77, []), scratch_dir("line"), scratch_dir("far")
    port = free_port()
    url = f"http://{host.address}:{port}"
    stack = Stack(root, TELEBROWSER_PEOPLE_PORT=str(port), TELEBROWSER_BIND="0.0.0.0", TELEBROWSER_PEOPLE_URL=url, **settings)
    try:
        await asyncio.to_thread(stack.start)
        await asyncio.to_thread(proc.until, (stack.data / "run" / "view.json").exists, "the view is announced", 60)
        # People far away come by TLS, without which Selkies shows nothing; here nobody has a certificate.
        browser = await asyncio.to_thread(Chromium, home, f"--unsafely-treat-insecure-origin-as-secure={url}", prefix=host.prefix)
        try:
            line = await asyncio.to_thread(host.connect, urlsplit(browser.ws).port or 0)
            truth = Truth(await websockets.connect(browser.ws, sock=line, max_size=None, compression=None, ping_interval=None, proxy=None))
            person = Person(truth, (await truth.targets())[0]["targetId"])
            async with hand(stack, PROJECT, truths) as handed:
                await handed.show(pages.add("field.html", FIELD))
                await silent(host, handed, person, kind)
            await truth.close()
        finally:
            await asyncio.to_thread(browser.close)
    finally:
        await asyncio.to_thread(stack.stop)
        shutil.rmtree(root, ignore_errors=True)
        host.close()


async def silent(host: Host, handed: Handed, person: Person, kind: Kind) -> None:
    hands = await at_work(handed, person, kind)
    # The connection that hangs is given up with its page.
    await person.eval("document.querySelector('iframe').contentWindow.former = true")
    began = time.monotonic()
    with host.lost():
        await person.shows("document.querySelector('#said').textContent.startsWith('The connection is lost')", True)
        said = time.monotonic()
        await asyncio.sleep(began + SILENCE - time.monotonic())
    back = time.monotonic()
    await person.shows("document.querySelector('#said').textContent", "")
    well = time.monotonic()
    await person.shows(f"!{FRAME}?.former && ({kind.shown})", True)
    shown = time.monotonic()
    await types(handed, hands, "e")
    told(
        f"line silent for {SILENCE:.0f} s",
        page_says_so_after=said - began,
        page_is_well_after=well - back,
        desktop_is_there_after=shown - back,
        and_takes_keys_after=time.monotonic() - back,
    )
    assert await person.eval("document.querySelector('[data-control=own]') !== null"), "the control was kept"

"""The whole desktop by VNC: a second Chromium is the person, and does by real mouse and keyboard in the picture what the agent could not."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import scratch_dir
from tests.e2e.desktop import DRAWN, FRAME, VNC, allow_in_a_window, scenes, sign_in, turn_the_wheel
from tests.e2e.person import Person, gives_back
from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import Stack, free_port, request

PROJECT = "desk"
Begin = Callable[..., Any]


@pytest.fixture(scope="module")
def desk() -> Iterator[Stack]:
    """A stack whose desktop can be seen."""
    root = scratch_dir("vnc")
    running = Stack(root, TELEBROWSER_PEOPLE_PORT=str(free_port()), TELEBROWSER_VIEW="vnc")
    try:
        yield running.start()
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
async def begin(desk: Stack, person: Person, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> AsyncIterator[Begin]:
    async with scenes(desk, VNC, person, pages, home, clients, truths) as start:
        yield start


async def test_a_login_with_a_code_survives_sigkill(desk: Stack, person: Person, begin: Begin) -> None:
    scene, hands = await begin("login")
    await sign_in(scene, hands)
    await person.picture("vnc", height=1200, width=1300)
    await gives_back(person, desk, PROJECT, scene.agent, scene.call, scene.sites.base)
    assert "s3cret" not in desk.output("gateway") and "123456" not in desk.output("gateway") + desk.output("supervisor")


async def test_a_window_that_closes_itself(begin: Begin) -> None:
    await allow_in_a_window(*await begin("opener"))


async def test_a_puzzle_that_is_dragged(begin: Begin) -> None:
    scene, hands = await begin("puzzle")
    await hands.drag(scene.target, 50, 50, 250)
    await scene.page("document.title", "solved")


async def test_the_wheel_turns_the_page(begin: Begin) -> None:
    await turn_the_wheel(*await begin("login"))


@pytest.mark.parametrize("text", ["Ann <>/|~@\\{}", "äöüßÄÖÜ", "éèàçñåøæêáíóúëâîôûïãõìòùœŠžŁčř¿€"])
async def test_what_is_typed_arrives(begin: Begin, text: str) -> None:
    """However fast it is: a password has them, too."""
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await hands.type(text)
    await scene.page("user.value", text)


async def test_an_emoji_can_only_be_pasted(begin: Begin) -> None:
    """Chromium knows no key of X for it."""
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await hands.type("a😀b")
    await scene.page("user.value", "ab")


@pytest.mark.parametrize("text", ["日本語", "😀 äß", "x" * 10_000])
async def test_what_is_pasted_arrives(begin: Begin, person: Person, text: str) -> None:
    """By the panel, which is also the way for composed text."""
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await person.eval(
        f"(d=>{{d.querySelector('#text').click();d.querySelector('#words').value={json.dumps(text)};d.querySelector('#send').click()}})({FRAME}.document)"
    )
    await scene.page("user.value", text)


@pytest.mark.parametrize("text", ["größe", "x" * 10_000])
async def test_the_persons_own_paste_key(begin: Begin, person: Person, text: str) -> None:
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await person.eval(
        f"(()=>{{const w={FRAME},d=new w.DataTransfer();d.setData('text/plain',{json.dumps(text)});"
        "w.document.querySelector('#stage canvas').dispatchEvent(new w.ClipboardEvent('paste',{clipboardData:d,cancelable:true,bubbles:true}))})()"
    )
    await scene.page("user.value", text)


async def test_escape_then_tab_leads_out(begin: Begin, person: Person) -> None:
    """For who has no mouse; a tab alone goes to the browser, as all keys do."""
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    tab = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    escape = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
    inside = f"{FRAME}.document.activeElement === {FRAME}.document.querySelector('#stage canvas')"
    for key, stays in ((tab, True), (escape, True), (tab, False)):
        for kind in ("rawKeyDown", "keyUp"):
            await hands.send("Input.dispatchKeyEvent", type=kind, **key)
        await scene.page("document.activeElement.id", "word")
        await person.shows(f"document.activeElement.tagName === 'IFRAME' && {inside}", stays)


async def test_a_watcher_cannot_act_and_a_withdrawn_view_shows_nothing(desk: Stack, person: Person, begin: Begin) -> None:
    scene, hands = await begin("login", "#watch")
    assert await person.eval(f"{FRAME}.document.querySelector('#text')") is None
    await hands.click(scene.target, 100, 40)
    await hands.type("x")
    # One who makes the page send it all the same.
    sent = await person.eval(
        f"(async()=>{{const w={FRAME},u=new w.URL('socket',w.location.href);u.protocol='ws:';const s=new w.WebSocket(u);s.binaryType='arraybuffer';"
        "await new Promise(d=>s.onopen=d);const say=a=>s.send(new Uint8Array(a));"
        "say([...'RFB 003.008\\n'].map(c=>c.charCodeAt(0)));say([1]);say([1]);"
        "say([4,1,0,0,0,0,0,0x78]);say([4,0,0,0,0,0,0,0x78]);say([5,1,0,100,0,200]);say([5,0,0,100,0,200]);"
        "say([3,0,0,0,0,0,0,16,0,16]);"
        "await new Promise((d,f)=>{let n=0;s.onmessage=e=>{n+=e.data.byteLength;if(n>100)d()};s.onclose=()=>f('closed')});s.close();return true})()"
    )
    assert sent is True
    address = await person.eval(f"{FRAME}.location.href")
    assert (await asyncio.to_thread(request, address)).status == 200
    await asyncio.to_thread(desk.http, "POST", f"handoffs/{scene.handoff['id']}", PROJECT, b'{"state": "cancelled"}')
    await person.heading("No longer needed")
    for path in ("", "novnc/core/rfb.js", "socket"):
        assert (await asyncio.to_thread(request, address + path)).status == 403
    await scene.page("document.activeElement.id + user.value", "")
    assert (await scene.call).data["state"] == "cancelled"


async def test_two_people_one_controls(desk: Stack, person: Person, begin: Begin) -> None:
    scene, hands = await begin("login")
    second = (await asyncio.to_thread(desk.launcher, "open", "--project", PROJECT)).stdout.strip()
    context = (await person.truth.call("Target.createBrowserContext"))["browserContextId"]
    other = Person(person.truth, (await person.truth.call("Target.createTarget", {"url": "about:blank", "browserContextId": context}))["targetId"])
    await other.goto(second)
    await other.press("button")
    await other.heading("Sign in")
    await other.press("#take")
    await other.shows("document.querySelector('#take').textContent", "Take over")
    await other.press("#take")
    await other.shows(DRAWN, True)
    await person.shows("document.querySelector('iframe')", None)
    await person.truth.call("Target.disposeBrowserContext", {"browserContextId": context})
    assert hands.session and scene.handoff["id"]


async def test_the_view_comes_back_after_its_server_was_killed(desk: Stack, person: Person, begin: Begin) -> None:
    """The display goes with it, and browsers with that: the handoff ends as its page is gone, the next one is shown again."""
    scene, _ = await begin("login")
    pid = desk.browser_pid(PROJECT)
    record = json.loads((desk.data / "run" / "display.json").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    answer = await scene.call
    assert answer.data["state"] == "failed", answer
    await asyncio.to_thread(proc.until, lambda: desk.status(PROJECT)["state"] == "up" and desk.status(PROJECT)["pid"] != pid, "the browser is started anew", 40)
    scene, hands = await begin("puzzle")
    await hands.drag(scene.target, 50, 50, 250)
    await scene.page("document.title", "solved")


@pytest.fixture(scope="module")
def apart() -> Iterator[Stack]:
    """A stack with a display a project."""
    root = scratch_dir("apart")
    running = Stack(root, TELEBROWSER_PEOPLE_PORT=str(free_port()), TELEBROWSER_VIEW="vnc", TELEBROWSER_DISPLAYS="per-project")
    try:
        yield running.start()
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


async def test_people_work_in_two_projects_at_once(
    apart: Stack, person: Person, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    """Each has its own display: neither waits for the other, and each shows its own project's window."""
    async with scenes(apart, VNC, person, pages, home, clients, truths) as begin:
        one, _ = await begin("login", project="one")
        context = (await person.truth.call("Target.createBrowserContext"))["browserContextId"]
        other = Person(person.truth, (await person.truth.call("Target.createTarget", {"url": "about:blank", "browserContextId": context}))["targetId"])
        async with scenes(apart, VNC, other, pages, home, clients, truths) as begin_other:
            two, hands = await begin_other("puzzle", project="two")
            documents = [row for name in ("one", "two") for row in apart.http("GET", "handoffs", name).json["handoffs"]]
            assert [(row["project"], row["position"]) for row in documents] == [("one", 0), ("two", 0)], documents
            await hands.drag(two.target, 50, 50, 250)
            await two.page("document.title", "solved")
            await person.shows(DRAWN, True)
            await one.page("user.value", "")
        await person.truth.call("Target.disposeBrowserContext", {"browserContextId": context})

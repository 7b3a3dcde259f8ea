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
from tests.e2e import clipboard
from tests.e2e.desktop import (
    DRAWN,
    FRAME,
    PHONE,
    TABLET,
    VNC,
    allow_in_a_window,
    press_long,
    scenes,
    scroll_with_two_fingers,
    sign_in,
    solve_the_puzzle,
    solve_with_a_finger,
    spread_two_fingers,
    turn_the_wheel,
    type_with_caps_lock,
)
from tests.e2e.person import Person, gives_back
from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import Stack, free_port, request

PROJECT = "desk"
# noVNC takes a tap that follows one beside it within a second for its second half, at the place of the first.
NO_DOUBLE_TAP = 1.1
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
    await gives_back(person, desk, PROJECT, scene.agent, scene.call, scene.sites.base)
    assert "s3cret" not in desk.output("gateway") and "123456" not in desk.output("gateway") + desk.output("supervisor")


async def test_a_window_that_closes_itself(begin: Begin) -> None:
    await allow_in_a_window(*await begin("opener"))


async def test_a_puzzle_that_is_dragged(begin: Begin) -> None:
    await solve_the_puzzle(*await begin("puzzle"))


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


@pytest.mark.parametrize("text", ["größe 😀 日本語", "s3cret-" * 1_430])
async def test_the_persons_own_paste_key(desk: Stack, begin: Begin, text: str) -> None:
    """What they copied elsewhere, 10 KB of it; their browser need not be asked."""
    scene, hands = await begin("login")
    await clipboard.copy(hands, text)
    await clipboard.into_the_field(scene, hands)
    await hands.with_control("v")
    await scene.page("user.value", text)
    assert "s3cret-" not in desk.output("gateway") + desk.output("supervisor") + (desk.data / "run" / "display.log").read_text()


async def test_what_is_copied_there_can_be_pasted_here(begin: Begin, person: Person) -> None:
    scene, hands = await begin("login")
    await clipboard.may_read(person, "denied")
    await clipboard.copy_there(scene, hands, "Größe 😀 日本語 vom Bildschirm")
    await person.shows(f"{FRAME}.document.querySelector('#words').value", "Größe 😀 日本語 vom Bildschirm")
    await clipboard.may_read(person, "granted")
    await person.shows("navigator.clipboard.readText()", "Größe 😀 日本語 vom Bildschirm")


@pytest.mark.parametrize(
    ("page", "work"), [("puzzle", solve_with_a_finger), ("login", scroll_with_two_fingers), ("login", spread_two_fingers), ("login", press_long)]
)
async def test_what_fingers_do(begin: Begin, page: str, work: Callable[..., Any]) -> None:
    await work(*await begin(page, screen=TABLET))


async def test_a_sign_in_on_a_phone(begin: Begin, person: Person) -> None:
    """A phone's keyboard opens in *Text …*, by which all is typed there."""
    scene, hands = await begin("login", screen=PHONE)

    async def fill(top: int, field: str, text: str) -> None:
        await hands.tap(scene.target, 100, top)
        await scene.page("document.activeElement.id", field)
        await hands.tap_on("#text")
        await person.shows(f"{FRAME}.document.activeElement.id", "words")
        await hands.send("Input.insertText", text=text)
        await hands.tap_on("#send")

    await fill(40, "user", "ann")
    await scene.page("user.value", "ann")
    await asyncio.sleep(NO_DOUBLE_TAP)
    await fill(100, "word", "s3cret")
    await scene.page("word.value", "s3cret")
    await asyncio.sleep(NO_DOUBLE_TAP)
    await hands.tap(scene.target, 100, 160)
    await scene.page("document.title", "code")
    await asyncio.sleep(NO_DOUBLE_TAP)
    await fill(40, "code", "123456")
    await scene.page("document.title", "signed in")


async def test_the_panel_keeps_nothing_that_was_sent(begin: Begin, person: Person) -> None:
    """It may have been a password; and who leaves the panel by Escape sends nothing."""
    scene, hands = await begin("login")
    words = f"{FRAME}.document.querySelector('#words')"
    await clipboard.into_the_field(scene, hands)
    await person.eval(f"{FRAME}.document.querySelector('#text').click()")
    await hands.send("Input.insertText", text="s3cret")
    await person.eval(f"{FRAME}.document.querySelector('#send').click()")
    await scene.page("user.value", "s3cret")
    await person.eval(f"{FRAME}.document.querySelector('#text').click()")
    await person.shows(f"{words}.value", "")
    await hands.send("Input.insertText", text="not this")
    await hands.key("Escape", "Escape", 27)
    await person.shows(f"{FRAME}.document.querySelector('#box').open", False)
    await hands.type("!")
    await scene.page("user.value", "s3cret!")


async def test_a_finger_moves_the_picture_in_real_size(begin: Begin, person: Person) -> None:
    """On a phone; a tap presses there as ever."""
    scene, hands = await begin("login", screen=PHONE)
    await scene.page("(window.onpointerdown=e=>{document.title=e.screenX},document.title)", "login")
    await hands.tap_on("#size")
    corner = (
        "(()=>{const f=document.querySelector('iframe'),a=f.getBoundingClientRect(),c=f.contentWindow.document.querySelector('#stage canvas');"
        "const b=c.getBoundingClientRect();return c.width<400&&b.width===c.width&&[a.x+f.clientLeft+b.x,a.y+f.clientTop+b.y]})()"
    )
    await person.shows(f"!!{corner}", True)
    x, y = await person.eval(corner)
    await hands.tap_at(x + 250, y + 250)
    await scene.page("Math.abs(document.title-250)<2", True)
    await hands.touch("touchStart", (x + 250, y + 150))
    await hands.glide([(x + 250, y + 150)], [(x + 50, y + 150)])
    await hands.touch("touchEnd")
    await hands.tap_at(x + 250, y + 250)
    await scene.page("Math.abs(document.title-450)<2", True)


async def test_caps_lock(begin: Begin) -> None:
    await type_with_caps_lock(*await begin("login"))


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

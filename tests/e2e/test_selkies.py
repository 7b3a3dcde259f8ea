"""The whole desktop by Selkies: a second Chromium is the person, and does by real mouse and keyboard in the picture what the agent could not."""

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

from telebrowser.gateway.view.desktop import AWAY, INSECURE
from tests.conftest import scratch_dir
from tests.e2e import clipboard
from tests.e2e.desktop import (
    FRAME,
    PHONE,
    SELKIES,
    SHOWN,
    TABLET,
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
from tests.support.chromium import Chromium
from tests.support.pages import Pages
from tests.support.selkies import SETTINGS
from tests.support.stack import Stack, free_port, request

PROJECT = "desk"
NAME = "asks.example"
INSTEAD = "document.querySelector('#instead').textContent"


@pytest.fixture(scope="module")
def desk() -> Iterator[Stack]:
    """A stack whose desktop can be seen."""
    root = scratch_dir("selkies")
    running = Stack(root, TELEBROWSER_PEOPLE_PORT=str(free_port()), TELEBROWSER_HOSTS=NAME, **SETTINGS)
    try:
        running.start()
        proc.until((running.data / "run" / "view.json").exists, "the view is announced", 60)
        yield running
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
async def begin(
    desk: Stack, person: Person, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> AsyncIterator[Callable[..., Any]]:
    async with scenes(desk, SELKIES, person, pages, home, clients, truths) as start:
        yield start


async def test_a_login_with_a_code_survives_sigkill(desk: Stack, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login")
    await sign_in(scene, hands)
    await gives_back(person, desk, PROJECT, scene.agent, scene.call, scene.sites.base)
    written = {part: desk.output(part) for part in ("gateway", "supervisor")} | {"view": (desk.data / "run" / "view.log").read_text()}
    assert not [part for part, text in written.items() if "s3cret" in text or "123456" in text]


async def test_a_window_that_closes_itself(begin: Callable[..., Any]) -> None:
    await allow_in_a_window(*await begin("opener"))


async def test_a_puzzle_that_is_dragged(begin: Callable[..., Any]) -> None:
    await solve_the_puzzle(*await begin("puzzle"))


async def test_the_wheel_turns_the_page(begin: Callable[..., Any]) -> None:
    await turn_the_wheel(*await begin("login"))


@pytest.mark.parametrize("text", ["Az09 <>/|~@", "äöüßÄÖÜ", "é€ñ中"])
async def test_what_is_typed_key_by_key_arrives(begin: Callable[..., Any], text: str) -> None:
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await hands.type(text)
    await scene.page("user.value", text)


@pytest.mark.parametrize(("text", "arrives"), [("日本語", "日本語"), ("😀", "😀")])
async def test_what_is_composed_arrives(begin: Callable[..., Any], text: str, arrives: str) -> None:
    scene, hands = await begin("login")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    # Selkies makes a key for each letter that is new to the display, and on a busy machine the first of them can be lost; known letters are not.
    await hands.send("Input.insertText", text=text)
    await scene.page(f"user.value.endsWith({arrives[-1]!r})", True)
    await scene.page("user.value=''", "")
    await hands.send("Input.insertText", text=text)
    await scene.page("user.value", arrives)


async def test_caps_lock(begin: Callable[..., Any]) -> None:
    await type_with_caps_lock(*await begin("login"))


@pytest.mark.parametrize(
    ("page", "work"), [("puzzle", solve_with_a_finger), ("login", scroll_with_two_fingers), ("login", spread_two_fingers), ("login", press_long)]
)
async def test_what_fingers_do(begin: Callable[..., Any], page: str, work: Callable[..., Any]) -> None:
    await work(*await begin(page, screen=TABLET))


async def test_a_sign_in_on_a_phone(person: Person, begin: Callable[..., Any]) -> None:
    """Selkies' button opens a phone's keyboard; what that corrects is corrected there, too."""
    scene, hands = await begin("login", screen=PHONE)

    async def fill(top: int, field: str, text: str) -> None:
        await hands.tap(scene.target, 100, top)
        await scene.page("document.activeElement.id", field)
        await hands.tap_on(".virtual-keyboard-button")
        await person.shows(f"{FRAME}.document.activeElement.id", "keyboard-input-assist")
        await hands.send("Input.insertText", text=text)

    await fill(40, "user", "anne")
    await scene.page("user.value", "anne")
    await hands.key("Backspace", "Backspace", 8)
    await scene.page("user.value", "ann")
    await fill(100, "word", "s3cret")
    await scene.page("word.value", "s3cret")
    await hands.tap(scene.target, 100, 160)
    await scene.page("document.title", "code")
    await fill(40, "code", "123456")
    await scene.page("document.title", "signed in")


@pytest.mark.parametrize("text", ["größe 😀 日本語", "s3cret-" * 1_430])
async def test_the_persons_own_paste_key(desk: Stack, person: Person, begin: Callable[..., Any], text: str) -> None:
    """What they copied elsewhere, 10 KB of it, when they let the page see their clipboard."""
    scene, hands = await begin("login")
    await clipboard.may_read(person, "granted")
    await clipboard.copy(hands, text)
    await clipboard.into_the_field(scene, hands)
    await clipboard.is_there(scene, text)
    await hands.with_control("v")
    await scene.page("user.value", text)
    assert "s3cret-" not in desk.output("gateway") + desk.output("supervisor") + (desk.data / "run" / "view.log").read_text()


async def test_who_does_not_show_their_clipboard_pastes_what_the_desktop_holds(person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login")
    await clipboard.may_read(person, "granted")
    await clipboard.copy_there(scene, hands, "of the desktop")
    await person.shows("navigator.clipboard.readText()", "of the desktop")
    await clipboard.may_read(person, "denied")
    await clipboard.copy(hands, "of the person's own")
    await scene.page("user.value=''", "")
    await clipboard.into_the_field(scene, hands)
    await hands.with_control("v")
    await scene.page("user.value", "of the desktop")


async def test_who_does_not_show_their_clipboard_pastes_by_the_panel(person: Person, begin: Callable[..., Any]) -> None:
    """It opens at the left edge, and sends what was written when it is left."""
    scene, hands = await begin("login")
    await clipboard.may_read(person, "denied")
    await clipboard.copy(hands, "of the person's own")
    panel = f"{FRAME}.document.querySelector('.sidebar').getBoundingClientRect()"
    await hands.click_on(".toggle-handle")
    await person.shows(f"{panel}.left", 0)
    await hands.click_on(".sidebar-section-header[aria-controls='clipboard-content']")
    await person.shows(f"!!{FRAME}.document.querySelector('#dashboardClipboardTextarea')?.checkVisibility()", True)
    await hands.click_on("#dashboardClipboardTextarea")
    await person.shows(f"{FRAME}.document.activeElement.id", "dashboardClipboardTextarea")
    await hands.with_control("a")
    await hands.send("Input.insertText", text="größe 😀 日本語")
    await hands.click_on(".toggle-handle")
    await person.shows(f"{panel}.right<=0", True)
    await clipboard.into_the_field(scene, hands)
    await clipboard.is_there(scene, "größe 😀 日本語")
    await hands.with_control("v")
    await scene.page("user.value", "größe 😀 日本語")


async def test_what_is_copied_there_can_be_pasted_here(person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login")
    await clipboard.may_read(person, "denied")
    await clipboard.copy_there(scene, hands, "Größe 😀 日本語 vom Bildschirm")
    await clipboard.may_read(person, "granted")
    await person.shows("navigator.clipboard.readText()", "Größe 😀 日本語 vom Bildschirm")


async def test_a_watcher_cannot_act_and_a_withdrawn_view_shows_nothing(desk: Stack, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login", "#watch")
    address = await person.eval(f"{FRAME}.location.href")
    assert address.endswith("/index.html#shared")
    await hands.click(scene.target, 100, 40)
    # Not by what Selkies' page leaves out, and not by what it would send as a controller.
    x, y = (await scene.truth.eval(scene.target, "[screenX+100,screenY+outerHeight-innerHeight+40]"))[:2]
    for message in (f"m,{x},{y},0,0", f"m,{x},{y},1,0", f"m,{x},{y},0,0", "co,end,typed", "kd,97", "ku,97", "cmd,true"):
        await person.eval(f"{FRAME}.selkiesTransport.send({json.dumps(message)})")
    assert (await asyncio.to_thread(request, address.partition("#")[0])).status == 200
    await asyncio.to_thread(desk.http, "POST", f"handoffs/{scene.handoff['id']}", PROJECT, b'{"state": "cancelled"}')
    await person.heading("No longer needed")
    assert (await asyncio.to_thread(request, address.partition("#")[0])).status == 403
    await scene.page("[document.activeElement.id,user.value].join()", ",")
    assert (await scene.call).data["state"] == "cancelled"


async def test_what_may_be_asked_of_the_view(desk: Stack, person: Person, begin: Callable[..., Any]) -> None:
    """Selkies' own interface stays closed, also to who controls; so does the view to pages of other sites."""
    await begin("login")
    base = (await person.eval(f"{FRAME}.location.href")).rstrip("/")
    for path in ("api/tokens", "api/sessions", "api/screenshot", "api/recording", "api/files/", "api/switch", "api/metrics", "../../", "src/selkies-core.js"):
        assert (await asyncio.to_thread(request, f"{base}/{path}")).status in (403, 404), path
    page = await asyncio.to_thread(request, base + "/")
    assert page.status == 200 and "script-src 'self';" in page.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"] and page.headers["x-frame-options"] == "SAMEORIGIN"
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    asked = {name.replace("-", "_"): value for name, value in upgrade.items()}
    assert (await asyncio.to_thread(request, f"{base}/api/websockets", Origin="http://evil.example", **asked)).status == 403
    assert (await asyncio.to_thread(request, f"{base[:-3]}xyz/api/websockets", **asked)).status == 403


async def test_a_view_that_dies_comes_back_and_meanwhile_the_tab_is_shown(desk: Stack, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login")
    record = desk.data / "run" / "view.pid"
    pid = json.loads(record.read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(proc.until, lambda: not (desk.data / "run" / "view.json").exists(), "the announcement is withdrawn", 10)
    assert await person.eval(INSTEAD) == ""
    await person.press("#take")
    await person.shows(f"{FRAME}?.shownWidth?.() > 1", True)
    await person.shows(INSTEAD, AWAY)
    await asyncio.to_thread(proc.until, (desk.data / "run" / "view.json").exists, "the view is back", 60)
    assert await person.eval(INSTEAD) == AWAY
    await person.press("#take")
    await person.shows(SHOWN, True)
    assert await person.eval(INSTEAD) == ""
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")


async def test_without_tls_the_tab_is_shown(desk: Stack, truths: Callable[..., Any], tmp_path: Path) -> None:
    """Browsers have no decoder for the desktop at an address that they do not take for a safe one; its page would stay empty."""
    asked = (await asyncio.to_thread(desk.http, "POST", "s/agent/handoff", PROJECT, b'{"reason": "Sign in"}')).json
    theirs = await asyncio.to_thread(Chromium, tmp_path / "theirs", f"--host-resolver-rules=MAP {NAME} 127.0.0.1")
    try:
        truth = await truths(theirs.ws)
        person = Person(truth, (await truth.targets())[0]["targetId"])
        await person.goto(asked["link"].replace("127.0.0.1", NAME))
        await person.press("button")
        await person.heading("Sign in")
        await person.shows("document.readyState", "complete")
        assert await person.eval("isSecureContext") is False
        await person.press("#take")
        await person.shows(f"{FRAME}?.shownWidth?.() > 1", True)
        await person.shows(INSTEAD, INSECURE)
    finally:
        await asyncio.to_thread(theirs.close)
        await asyncio.to_thread(desk.http, "POST", f"handoffs/{asked['id']}", PROJECT, b'{"state": "cancelled"}')

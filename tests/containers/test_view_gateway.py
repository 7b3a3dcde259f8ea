"""The container's desktop through the gateway: the credential of one handoff opens it, in the frame of the handoff's page."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.e2e.desktop import FRAME, SELKIES, Hands, Scene, allow_in_a_window, sign_in, solve_the_puzzle, turn_the_wheel
from tests.e2e.person import Person, gives_back
from tests.e2e.sites import SITES
from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import request, token

from .deployment import PUID, Deployment
from .engine import require_engine

PROJECT = "desk"


@pytest.fixture(scope="module")
def desk() -> Iterator[Deployment]:
    """A deployment as the roles make it, whose desktop can be seen."""
    require_engine()
    made = Deployment()
    try:
        made.start()
        proc.until((made.data / "run" / "view.json").exists, "the view is announced", 60)
        yield made
    finally:
        made.remove()


@pytest.fixture
async def begin(desk: Deployment, person: Person, pages: Pages, truths: Callable[..., Any]) -> AsyncIterator[Callable[..., Any]]:
    made: list[Scene] = []
    for name, body in SITES.items():
        pages.add(f"{name}.html", body)

    async def start(way: str = "#take", page: str = "login") -> tuple[Scene, Hands]:
        agent = await desk.agent(PROJECT)
        await agent.ok("browser_navigate", url=f"{pages.base}/{page}.html")
        call = asyncio.create_task(agent.call("browser_handoff", 120, reason="Sign in", wait_seconds=100))
        open_ones = await asyncio.to_thread(
            proc.until, lambda: [row for row in desk.http("GET", "handoffs", PROJECT).json["handoffs"] if row["state"] == "open"], "a handoff is open"
        )
        truth = await truths(f"ws://127.0.0.1:{desk.port}/t/{token(PROJECT)}/devtools/browser")
        made.append(scene := Scene(agent, truth, open_ones[0], call, pages))
        session = await person.truth.attach(person.target)
        await person.truth.call("Emulation.setDeviceMetricsOverride", {"width": 1700, "height": 1500, "deviceScaleFactor": 1, "mobile": False}, session)
        await person.truth.call("Page.bringToFront", {}, session)
        await person.goto((await asyncio.to_thread(desk.verb, "open", "--project", PROJECT)).stdout.strip())
        await person.press("button")
        await person.heading("Sign in")
        await person.press(way)
        await person.shows(SELKIES.shown, True)
        return scene, Hands(person, session, truth, SELKIES.surface)

    yield start
    for scene in made:
        await asyncio.to_thread(desk.verb, "handoffs", scene.handoff["id"], "--cancel", "--project", PROJECT)
        await scene.call
        await scene.agent.close()


def test_the_socket_is_closed_to_others(desk: Deployment) -> None:
    told = json.loads((desk.data / "run" / "view.json").read_text())
    assert told == {"backend": "selkies-labwc", "desktops": {"shared": {"socket": "/data/run/view.sock"}}}
    info = os.stat(desk.data / "run" / "view.sock")
    assert stat.S_ISSOCK(info.st_mode) and stat.S_IMODE(info.st_mode) == 0o600 and info.st_uid == PUID


async def test_who_has_control_clicks_and_types(desk: Deployment, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin()
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await hands.type("ann")
    await scene.page("user.value", "ann")
    # Whoever looks, and from however small a window: agents lay out their pages by it.
    await scene.page("[screen.width,screen.height,outerHeight].join()", "1600,900,900")
    address = await person.eval(f"{FRAME}.location.href")
    assert desk.view("/", credential=False).status == 401, "the view's own port asks for its password as before"
    await person.press("button[formaction$='/done']")
    await person.heading("Done")
    assert (await scene.call).data["state"] == "done"
    assert (await asyncio.to_thread(request, address)).status == 403


async def test_who_watches_moves_nothing(person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("#watch")
    await hands.click(scene.target, 100, 40)
    for message in ("m,100,130,0,0", "m,100,130,1,0", "m,100,130,0,0", "co,end,typed", "kd,97", "ku,97"):
        await person.eval(f"{FRAME}.selkiesTransport.send({json.dumps(message)})")
    await person.eval(f"{FRAME}.selkiesTransport.send('REQUEST_KEYFRAME')")
    await scene.page("[document.activeElement.id,user.value].join()", ",")


async def test_a_login_with_a_code_survives_sigkill(desk: Deployment, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin()
    await sign_in(scene, hands)
    await gives_back(person, desk, PROJECT, scene.agent, scene.call, scene.sites.base)


async def test_a_window_that_closes_itself(begin: Callable[..., Any]) -> None:
    await allow_in_a_window(*await begin(page="opener"))


async def test_a_puzzle_that_is_dragged(begin: Callable[..., Any]) -> None:
    await solve_the_puzzle(*await begin(page="puzzle"))


async def test_the_wheel_turns_the_page(begin: Callable[..., Any]) -> None:
    await turn_the_wheel(*await begin())


async def test_one_handoff_right_after_the_other(person: Person, begin: Callable[..., Any]) -> None:
    """To the view's server two who control at once are two people; the former is gone before the next one comes."""
    for letters in ("a", "an", "ann"):
        scene, hands = await begin()
        await hands.click(scene.target, 100, 40)
        await scene.page("document.activeElement.id", "user")
        await hands.type(letters)
        await scene.page("user.value", letters)
        await person.press("button[formaction$='/done']")
        await person.heading("Done")
        assert (await scene.call).data["state"] == "done"


async def test_a_window_of_another_project_never_takes_the_view(desk: Deployment, pages: Pages, begin: Callable[..., Any]) -> None:
    """A browser that starts, and its popup: each would have the keyboard, and is put behind what the person is at."""
    scene, hands = await begin()
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    again = "the one that was in front is raised again"
    before = desk.supervisor_log().count(again)
    other = await desk.agent("other")
    try:
        popup = "<title>other</title><button onclick=\"open('/who','','width=600,height=400')\">Pop</button>"
        await other.ok("browser_navigate", url=pages.add("other.html", popup))
        await asyncio.to_thread(proc.until, lambda: desk.supervisor_log().count(again) > before, "the started browser is put behind", 20)
        await hands.type("an")
        await scene.page("user.value", "an")
        await other.ok("browser_click", ref=(await other.ok("browser_snapshot")).ref("Pop"))
        await asyncio.to_thread(proc.until, lambda: desk.supervisor_log().count(again) > before + 1, "the popup is put behind", 20)
        await hands.type("n")
        await scene.page("user.value", "ann")
        await hands.click(scene.target, 100, 100)
        await scene.page("document.activeElement.id", "word")
    finally:
        await other.close()


@pytest.mark.parametrize(("text", "arrives"), [("<>/|~@ äöü", "<>/|~@ äöü"), ("日本語", "日本語"), ("\U0001f600", "\uf600")])
async def test_what_is_composed_arrives_but_for_emoji(begin: Callable[..., Any], text: str, arrives: str) -> None:
    """Beyond the basic plane Selkies cuts the number of a letter on Wayland; the docs say so."""
    scene, hands = await begin()
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await hands.send("Input.insertText", text=text)
    await scene.page("user.value", arrives)


async def test_after_a_crash_the_view_is_there_again(desk: Deployment, begin: Callable[..., Any]) -> None:
    announcement = desk.data / "run" / "view.json"
    desk.run("pkill", "-9", "-f", "/opt/telebrowser/view.py")
    await asyncio.to_thread(proc.until, lambda: not announcement.exists(), "the announcement is withdrawn", 60)
    await asyncio.to_thread(proc.until, announcement.exists, "the view is announced again", 90)
    await asyncio.to_thread(desk.wait_ready)
    scene, hands = await begin()
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    assert desk.run("pgrep", "-c", "-f", "/opt/telebrowser/view.py").strip() == "2", "the view and its relay, and none of those before"


async def test_a_bar_names_the_project(deploy: Callable[..., Deployment], truths: Callable[..., Any], pages: Pages) -> None:
    deployment = deploy(TELEBROWSER_PROJECT_BAR="yes").start()
    agent = await deployment.agent(PROJECT)
    await agent.ok("browser_navigate", url=pages.add("plain.html", "<title>plain</title>"))
    truth = await truths(f"ws://127.0.0.1:{deployment.port}/t/{token(PROJECT)}/devtools/browser")
    target = next(each["targetId"] for each in await truth.targets() if each["url"].endswith("plain.html"))
    assert await truth.wait(target, "screen.height-outerHeight>15&&screen.height-outerHeight<60", True) is True
    await agent.close()

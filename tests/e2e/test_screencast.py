"""The view without a desktop: a second Chromium is the person, and does by real input in the picture what the agent could not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.person import Person, gives_back
from tests.e2e.sites import SITES
from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack, request
from tests.support.truth import Truth

PROJECT = "seen"


class Hands:
    """The person's mouse and keyboard, in the picture of a page whose place in the person's own page is known."""

    def __init__(self, person: Person, session: str) -> None:
        self.person, self.session = person, session

    async def send(self, method: str, **params: Any) -> None:
        await self.person.truth.call(method, params, self.session)

    async def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the agent's page is in the person's window."""
        code = (
            "(()=>{const f=document.querySelector('iframe'),a=f.getBoundingClientRect(),w=f.contentWindow,c=w.document.getElementById('picture')"
            f".getBoundingClientRect(),s=c.width/w.shownWidth();return [a.x+f.clientLeft+c.x+{x}*s,a.y+f.clientTop+c.y+{y}*s]}})()"
        )
        found = await self.person.eval(code)
        return float(found[0]), float(found[1])

    async def mouse(self, kind: str, x: float, y: float, buttons: int) -> None:
        await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

    async def click(self, x: float, y: float) -> None:
        at = await self.place(x, y)
        await self.mouse("mousePressed", *at, 1)
        await self.mouse("mouseReleased", *at, 0)

    async def drag(self, x: float, y: float, to: float) -> None:
        start, end = await self.place(x, y), await self.place(to, y)
        await self.mouse("mousePressed", *start, 1)
        for step in range(1, 21):
            await self.mouse("mouseMoved", start[0] + (end[0] - start[0]) * step / 20, start[1], 1)
        await self.mouse("mouseReleased", *end, 0)

    async def type(self, text: str) -> None:
        for letter in text:
            code = {"key": letter, "windowsVirtualKeyCode": ord(letter.upper()) & 255}
            await self.send("Input.dispatchKeyEvent", type="keyDown", text=letter, **code)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **code)


class Scene:
    """An agent that waits, and the person who has opened the browser."""

    def __init__(self, agent: McpClient, truth: Truth, target: str, handoff: dict[str, Any], call: asyncio.Task[Any]) -> None:
        self.agent, self.truth, self.target, self.handoff, self.call = agent, truth, target, handoff, call

    async def page(self, code: str, value: Any) -> None:
        """What the agent's page shows."""
        assert await self.truth.wait(self.target, code, value) == value


@pytest.fixture
def sites(pages: Pages) -> Iterator[Pages]:
    for name, body in SITES.items():
        pages.add(f"{name}.html", body)
    yield pages


@pytest.fixture
async def begin(
    own: Stack,
    person: Person,
    sites: Pages,
    home: Path,
    clients: Callable[..., Any],
    truths: Callable[..., Any],
) -> AsyncIterator[Callable[..., Any]]:
    made: list[Scene] = []

    async def start(page: str, way: str = "#take") -> tuple[Scene, Hands]:
        agent = await clients("mcp", "--project", PROJECT, env=own.env(), cwd=home)
        await agent.ok("browser_navigate", url=f"{sites.base}/{page}.html")
        call = asyncio.create_task(agent.call("browser_handoff", 120, reason="Sign in", wait_seconds=100))
        open_ones = await asyncio.to_thread(
            proc.until, lambda: [row for row in own.http("GET", "handoffs", PROJECT).json["handoffs"] if row["state"] == "open"], "a handoff is open"
        )
        link = (await asyncio.to_thread(own.launcher, "open", "--project", PROJECT)).stdout.strip()
        scene = Scene(agent, await truths(own.ws(PROJECT)), open_ones[0]["target"], open_ones[0], call)
        made.append(scene)
        await person.goto(link)
        await person.press("button")
        await person.heading("Sign in")
        await person.press(way)
        await person.shows("document.querySelector('iframe')?.contentWindow.shownWidth?.() > 1", True)
        session = await person.truth.attach(person.target)
        await person.truth.call("Page.bringToFront", {}, session)
        return scene, Hands(person, session)

    yield start
    for scene in made:
        await asyncio.to_thread(own.http, "POST", f"handoffs/{scene.handoff['id']}", PROJECT, b'{"state": "cancelled"}')
        await scene.call


async def test_a_login_with_a_code_survives_sigkill(
    own: Stack,
    person: Person,
    begin: Callable[..., Any],
    sites: Pages,
) -> None:
    scene, hands = await begin("login")
    await hands.click(100, 40)
    await hands.type("ann")
    await hands.click(100, 100)
    await hands.type("s3cret")
    await hands.click(100, 160)
    await scene.page("document.title", "code")
    await hands.click(100, 40)
    await hands.type("123456")
    await scene.page("document.title", "signed in")
    await person.picture("screencast")
    await gives_back(person, own, PROJECT, scene.agent, scene.call, sites.base)
    assert "s3cret" not in own.output("gateway") and "123456" not in own.output("gateway")


async def test_a_window_that_closes_itself(begin: Callable[..., Any], person: Person) -> None:
    scene, hands = await begin("opener")
    await hands.click(100, 40)
    await person.shows("document.querySelector('iframe').contentDocument.querySelectorAll('#tabs button').length", 2)
    await person.shows("document.querySelector('iframe').contentDocument.querySelector('[aria-current=true]').textContent.includes('window')", True)
    await hands.click(100, 40)
    await scene.page("document.title", "by window")
    await person.shows("document.querySelector('iframe').contentDocument.querySelector('#tabs').hidden", True)


async def test_a_puzzle_that_is_dragged(begin: Callable[..., Any]) -> None:
    scene, hands = await begin("puzzle")
    await hands.drag(50, 50, 250)
    await scene.page("document.title", "solved")


async def test_dialogs_lists_and_files(begin: Callable[..., Any], person: Person, tmp_path: Path) -> None:
    scene, hands = await begin("login")
    view = "document.querySelector('iframe').contentDocument"
    await hands.click(100, 220)
    await person.shows(f"{view}.querySelector('#box').open && {view}.querySelector('#asks').textContent", "Sure?")
    await person.eval(f"{view}.querySelector('#yes').click()")
    await scene.page("document.title", "sure")
    await hands.click(100, 280)
    await person.shows(f"{view}.querySelector('#list').open && {view}.querySelector('#options').length", 3)
    await person.eval(f"{view}.querySelector('#options').selectedIndex = 2; {view}.querySelector('#list button').click()")
    await scene.page("document.title", "picked three")
    await hands.click(60, 340)
    await person.shows(f"{view}.querySelector('#chooser').open", True)
    await person.eval(
        f"(()=>{{const d={view},t=new d.defaultView.DataTransfer();t.items.add(new d.defaultView.File(['hello'],'a b.txt'));"
        "d.querySelector('#files').files=t.files;d.querySelector('#chooser button').click()})()"
    )
    await scene.page("document.title", "file a b.txt 5")


async def test_files_go_to_their_own_chooser_and_end_with_the_handoff(own: Stack, begin: Callable[..., Any], person: Person) -> None:
    """What was sent for a chooser that was given up is not given to the next one, and nothing stays on the disk."""
    scene, hands = await begin("login")
    view = "document.querySelector('iframe').contentDocument"
    await hands.click(60, 340)
    await person.shows(f"{view}.querySelector('#chooser').open", True)
    assert await person.eval(f"{view}.defaultView.fetch('files/given-up.txt', {{method: 'PUT', body: 'x'}}).then(answer => answer.status)") == 200
    await person.eval(f"{view}.querySelector('#chooser button[value=no]').click()")
    await hands.click(60, 340)
    await person.shows(f"{view}.querySelector('#chooser').open", True)
    await person.eval(
        f"(()=>{{const d={view},t=new d.defaultView.DataTransfer();t.items.add(new d.defaultView.File(['hello'],'meant.txt'));"
        "d.querySelector('#files').files=t.files;d.querySelector('#chooser button').click()})()"
    )
    await scene.page("document.title", "file meant.txt 5")
    uploads = own.data / "projects" / PROJECT / "uploads"
    kept = [path for path in uploads.iterdir() if path.name.startswith(f"view-{scene.handoff['id']}-")]
    assert sorted(file.name for path in kept for file in path.iterdir()) == ["given-up.txt", "meant.txt"]
    await person.press("button[formaction$='/done']")
    await person.heading("Done")
    assert not [path for path in kept if path.exists()]


@pytest.mark.parametrize("text", ["<>/|~@", "äöüß", "日本語", "😀", "x" * 10_000])
async def test_what_is_pasted_or_composed_arrives(begin: Callable[..., Any], person: Person, text: str) -> None:
    scene, hands = await begin("login")
    await hands.click(100, 40)
    await scene.page("document.activeElement.id", "user")
    if len(text) > 100:
        await person.eval(
            "(()=>{const w=document.querySelector('iframe').contentWindow,d=new w.DataTransfer();d.setData('text/plain','" + text + "');"
            "w.document.querySelector('#typing').dispatchEvent(new w.ClipboardEvent('paste',{clipboardData:d,cancelable:true}))})()"
        )
    elif text == "日本語":
        await hands.send("Input.imeSetComposition", text="にほ", selectionStart=2, selectionEnd=2)
        await scene.page("user.value", "にほ")
        await hands.send("Input.insertText", text=text)
    else:
        await hands.send("Input.insertText", text=text)
    await scene.page("user.value", text)


async def test_a_watcher_cannot_act_and_a_withdrawn_view_shows_nothing(own: Stack, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login", "#watch")
    await scene.truth.eval(
        scene.target,
        "user.focus(), window.happened = [], ['keydown', 'input', 'mousemove', 'wheel', 'mousedown'].forEach(kind => "
        "addEventListener(kind, event => happened.push(event.type), true))",
    )
    await hands.click(100, 220)
    await hands.type("watched")
    tell = "document.querySelector('iframe').contentWindow.tellAll"
    for message in (
        "{t:'text',text:'watched'}",
        "{t:'compose',text:'watched'}",
        "{t:'key',k:'down',key:'w',code:'KeyW',v:87}",
        "{t:'wheel',x:100,y:100,dx:0,dy:100}",
        "{t:'mouse',k:'moved',x:100,y:220,b:'none',buttons:0,n:0}",
        "{t:'dialog',accept:true}",
        "{t:'choose',index:1}",
        "{t:'files'}",
    ):
        await person.eval(f"{tell}({message})")
    assert (
        await person.eval(
            "fetch(document.querySelector('iframe').contentWindow.location.href + 'files/a.txt?last=1', {method: 'PUT', body: 'x'})"
            ".then(answer => answer.status)"
        )
        == 403
    )
    await person.eval("document.querySelector('iframe').contentWindow.tellAll({t:'mouse',k:'pressed',x:100,y:220,b:'left',buttons:1,n:1})")
    await person.eval("document.querySelector('iframe').contentWindow.tellAll({t:'mouse',k:'released',x:100,y:220,b:'left',buttons:0,n:1})")
    address = await person.eval("document.querySelector('iframe').contentWindow.location.href")
    assert (await asyncio.to_thread(request, address)).status == 200
    await asyncio.to_thread(own.http, "POST", f"handoffs/{scene.handoff['id']}", PROJECT, b'{"state": "cancelled"}')
    await person.heading("No longer needed")
    assert (await asyncio.to_thread(request, address)).status == 403
    await scene.page("document.title", "login")
    assert await scene.truth.eval(scene.target, "happened.length + user.value") == "0"
    assert (await scene.call).data["state"] == "cancelled"


async def test_two_people_one_controls(own: Stack, person: Person, begin: Callable[..., Any]) -> None:
    scene, hands = await begin("login")
    second = (await asyncio.to_thread(own.launcher, "open", "--project", PROJECT)).stdout.strip()
    context = (await person.truth.call("Target.createBrowserContext"))["browserContextId"]
    other = Person(person.truth, (await person.truth.call("Target.createTarget", {"url": "about:blank", "browserContextId": context}))["targetId"])
    await other.goto(second)
    await other.press("button")
    await other.heading("Sign in")
    await other.press("#take")
    await other.shows("document.querySelector('#take').textContent", "Take over")
    assert await other.eval("document.querySelector('iframe')") is None
    await other.press("#take")
    await other.shows("document.querySelector('iframe')?.contentWindow.shownWidth?.() > 1", True)
    await person.shows("document.querySelector('iframe')", None)
    await person.truth.call("Target.disposeBrowserContext", {"browserContextId": context})
    assert hands.session and scene.handoff["id"]

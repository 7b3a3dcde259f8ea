"""A person before a picture of a whole desktop: their mouse and keyboard, and an agent that waits for them. The kind of view says how it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.person import Person
from tests.e2e.sites import SITES
from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import Truth


class Kind(NamedTuple):
    """``shown`` is true in the person's page once the desktop is there; ``surface`` is the element that has the desktop's place in the view's page."""

    shown: str
    surface: str


FRAME = "document.querySelector('iframe')?.contentWindow"
# The picture has its place, and something other than one colour is in it.
DRAWN = (
    f"(()=>{{const c={FRAME}?.document?.querySelector('#stage canvas');if(!c||c.width<2)return false;"
    "const d=c.getContext('2d').getImageData(0,0,c.width,c.height).data,s=new Set();"
    "for(let i=0;i<d.length;i+=4001*4)s.add(d[i]<<16|d[i+1]<<8|d[i+2]);return s.size>2})()"
)
VNC = Kind(DRAWN, "#stage canvas")
INPUT = f"{FRAME}.document.getElementById('overlayInput')?.getBoundingClientRect()"
# The connection is open, the picture has its size, and Selkies' page sends what the person does; a watcher's never does.
SHOWN = (
    f"{FRAME}?.selkiesTransport?.readyState === 1 && Math.abs({INPUT}?.width / {INPUT}?.height - 16 / 9) < 0.05"
    f" && ({FRAME}.location.hash === '#shared' || {FRAME}.webrtcInput?.isInputAttached() === true)"
)
SELKIES = Kind(SHOWN, "#overlayInput")


class Hands:
    """The person's mouse and keyboard, in the picture of the desktop; places are those of the agent's page."""

    def __init__(self, person: Person, session: str, truth: Truth, surface: str) -> None:
        self.person, self.session, self.truth, self.surface = person, session, truth, surface

    async def send(self, method: str, **params: Any) -> None:
        await self.person.truth.call(method, params, self.session)

    async def place(self, target: str, x: float, y: float) -> tuple[float, float]:
        """Where a point of a page is in the person's window."""
        left, top, width = await self.truth.eval(target, f"[screenX+(outerWidth-innerWidth)/2+{x},screenY+outerHeight-innerHeight+{y},screen.width]")
        found = await self.person.eval(
            "(()=>{const f=document.querySelector('iframe'),a=f.getBoundingClientRect(),"
            f"c=f.contentWindow.document.querySelector('{self.surface}').getBoundingClientRect(),s=c.width/{width};"
            f"return [a.x+f.clientLeft+c.x+{left}*s,a.y+f.clientTop+c.y+{top}*s]}})()"
        )
        return float(found[0]), float(found[1])

    async def mouse(self, kind: str, x: float, y: float, buttons: int) -> None:
        button = "none" if kind == "mouseMoved" and not buttons else "left"
        await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    async def click(self, target: str, x: float, y: float) -> None:
        at = await self.place(target, x, y)
        await self.mouse("mouseMoved", *at, 0)
        await self.mouse("mousePressed", *at, 1)
        await self.mouse("mouseReleased", *at, 0)

    async def wheel(self, target: str, x: float, y: float, down: float) -> None:
        """Turn the wheel by ``down`` pixels there."""
        at = await self.place(target, x, y)
        await self.mouse("mouseMoved", *at, 0)
        await self.send("Input.dispatchMouseEvent", type="mouseWheel", x=at[0], y=at[1], deltaX=0, deltaY=down)

    async def drag(self, target: str, x: float, y: float, to: float) -> None:
        start, end = await self.place(target, x, y), await self.place(target, to, y)
        await self.mouse("mouseMoved", *start, 0)
        await self.mouse("mousePressed", *start, 1)
        for step in range(1, 21):
            await self.mouse("mouseMoved", start[0] + (end[0] - start[0]) * step / 20, start[1], 1)
            # The view sends so many moves a second; a hand makes no more.
            await asyncio.sleep(0.02)
        await self.mouse("mouseReleased", *end, 0)

    async def type(self, text: str, pause: float = 0) -> None:
        """Key by key, as a keyboard with these letters sends them, with ``pause`` seconds between."""
        for letter in text:
            code = {"key": letter, "windowsVirtualKeyCode": ord(letter.upper()[0]) & 255}
            await self.send("Input.dispatchKeyEvent", type="keyDown", text=letter, **code)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **code)
            await asyncio.sleep(pause)


class Scene:
    """An agent that waits, and the person who sees the desktop."""

    def __init__(self, agent: McpClient, truth: Truth, handoff: dict[str, Any], call: asyncio.Task[Any], sites: Pages) -> None:
        self.agent, self.truth, self.handoff, self.call, self.sites = agent, truth, handoff, call, sites
        self.target: str = handoff["target"]

    async def page(self, code: str, value: Any) -> None:
        """What the agent's page shows, or comes to show."""
        assert (found := await self.truth.wait(self.target, code, value)) == value, found


@asynccontextmanager
async def scenes(
    desk: Stack, kind: Kind, person: Person, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> AsyncIterator[Callable[..., Any]]:
    """Gives what begins a scene: ``page`` in the agent's tab of ``project``, a handoff, and the person who has opened the view by ``way``."""
    for name, body in SITES.items():
        pages.add(f"{name}.html", body)
    made: list[tuple[str, Scene]] = []

    async def start(page: str, way: str = "#take", project: str = "desk") -> tuple[Scene, Hands]:
        agent = await clients("mcp", "--project", project, env=desk.env(), cwd=home)
        await agent.ok("browser_navigate", url=f"{pages.base}/{page}.html")
        call = asyncio.create_task(agent.call("browser_handoff", 120, reason="Sign in", wait_seconds=100))
        open_ones = await asyncio.to_thread(
            proc.until, lambda: [row for row in desk.http("GET", "handoffs", project).json["handoffs"] if row["state"] == "open"], "a handoff is open"
        )
        truth = await truths(desk.ws(project))
        scene = Scene(agent, truth, open_ones[0], call, pages)
        made.append((project, scene))
        session = await person.truth.attach(person.target)
        await person.truth.call("Emulation.setDeviceMetricsOverride", {"width": 1700, "height": 1500, "deviceScaleFactor": 1, "mobile": False}, session)
        await person.truth.call("Page.bringToFront", {}, session)
        await person.goto((await asyncio.to_thread(desk.launcher, "open", "--project", project)).stdout.strip())
        await person.press("button")
        await person.heading("Sign in")
        # A button does nothing before the page's script has run.
        await person.shows("document.readyState", "complete")
        await person.press(way)
        await person.shows(kind.shown, True)
        return scene, Hands(person, session, truth, kind.surface)

    yield start
    for project, scene in made:
        await asyncio.to_thread(desk.http, "POST", f"handoffs/{scene.handoff['id']}", project, b'{"state": "cancelled"}')
        await scene.call


async def sign_in(scene: Scene, hands: Hands) -> None:
    """Name, password and code. The window manager looks at a press before the page gets it, and hands do not type so soon: the field has the focus first."""
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    await hands.type("ann")
    await scene.page("user.value", "ann")
    await hands.click(scene.target, 100, 100)
    await scene.page("document.activeElement.id", "word")
    await hands.type("s3cret")
    await scene.page("word.value", "s3cret")
    await hands.click(scene.target, 100, 160)
    await scene.page("document.title", "code")
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "code")
    await hands.type("123456")
    await scene.page("document.title", "signed in")


async def allow_in_a_window(scene: Scene, hands: Hands) -> None:
    """Open the sign-in's own window and press there what closes it."""
    await hands.click(scene.target, 100, 40)
    found = await scene.truth.until_targets(lambda infos: any(info["url"].endswith("/window.html") for info in infos))
    window = next(info["targetId"] for info in found if info["url"].endswith("/window.html"))
    assert await scene.truth.wait(window, "document.readyState", "complete") == "complete"
    assert await scene.truth.wait(window, "document.hasFocus()", True) is True
    await hands.click(window, 100, 40)
    await scene.page("document.title", "by window")


async def turn_the_wheel(scene: Scene, hands: Hands) -> None:
    """Down and up over the page, which grows so that it can be scrolled."""
    await scene.page("document.body.style.height='5000px'", "5000px")
    for down, scrolled in ((300, "scrollY>0"), (-3000, "scrollY===0")):
        await hands.wheel(scene.target, 100, 300, down)
        await scene.page(scrolled, True)

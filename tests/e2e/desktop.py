"""A person before a picture of a whole desktop: their mouse and keyboard, and an agent that waits for them. The kind of view says how it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
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


class Screen(NamedTuple):
    """What the person looks at, in CSS pixels; with ``touch`` they have fingers."""

    width: int
    height: int
    density: float = 1
    touch: bool = False


# How much of the person's page pictures for the documents show.
LOOK = {"width": 1000, "height": 800}
CONTROL, SHIFT = 2, 8
DESK = Screen(1700, 1500)
TABLET = Screen(1180, 820, 2, touch=True)
PHONE = Screen(360, 740, 2, touch=True)


class Hands:
    """The person's mouse, fingers and keyboard, in the picture of the desktop; places are those of the agent's page."""

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

    async def touch(self, kind: str, *fingers: tuple[float, float]) -> None:
        """Where the fingers are now, in the person's window."""
        await self.send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": each} for each, (x, y) in enumerate(fingers)])

    async def tap(self, target: str, x: float, y: float) -> None:
        await self.tap_at(*await self.place(target, x, y))

    async def spot(self, selector: str) -> tuple[float, float]:
        """The middle of something of the view's own page, in the person's window."""
        x, y = await self.person.eval(
            "(()=>{const f=document.querySelector('iframe'),a=f.getBoundingClientRect(),"
            f"b=f.contentWindow.document.querySelector({selector!r}).getBoundingClientRect();"
            "return [a.x+f.clientLeft+b.x+b.width/2,a.y+f.clientTop+b.y+b.height/2]})()"
        )
        return x, y

    async def tap_on(self, selector: str) -> None:
        await self.tap_at(*await self.spot(selector))

    async def click_on(self, selector: str) -> None:
        at = await self.spot(selector)
        await self.mouse("mouseMoved", *at, 0)
        await self.mouse("mousePressed", *at, 1)
        await self.mouse("mouseReleased", *at, 0)

    async def tap_at(self, x: float, y: float) -> None:
        # Sent together: a finger that stays down for longer is no tap.
        await asyncio.gather(self.touch("touchStart", (x, y)), self.touch("touchEnd"))

    async def glide(self, start: Sequence[tuple[float, float]], end: Sequence[tuple[float, float]]) -> None:
        """Move fingers that are down, as fast as a hand does."""
        for step in range(1, 21):
            await self.touch("touchMove", *[(a[0] + (b[0] - a[0]) * step / 20, a[1] + (b[1] - a[1]) * step / 20) for a, b in zip(start, end, strict=True)])
            await asyncio.sleep(0.02)

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

    async def key(self, key: str, code: str, number: int, *, modifiers: int = 0, text: str = "") -> None:
        """Press and release one key; ``number`` is its Windows key code."""
        said = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        await self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **said, **({"text": text} if text else {}))
        await self.send("Input.dispatchKeyEvent", type="keyUp", **said)

    async def with_control(self, letter: str) -> None:
        control = {"key": "Control", "code": "ControlLeft", "windowsVirtualKeyCode": 17}
        await self.send("Input.dispatchKeyEvent", type="rawKeyDown", modifiers=CONTROL, **control)
        await self.key(letter, f"{'Digit' if letter.isdigit() else 'Key'}{letter.upper()}", ord(letter.upper()), modifiers=CONTROL)
        await self.send("Input.dispatchKeyEvent", type="keyUp", modifiers=0, **control)


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

    async def start(page: str, way: str = "#take", project: str = "desk", screen: Screen = DESK) -> tuple[Scene, Hands]:
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
        metrics = {"width": screen.width, "height": screen.height, "deviceScaleFactor": screen.density, "mobile": screen.touch}
        await person.truth.call("Emulation.setDeviceMetricsOverride", metrics, session)
        await person.truth.call("Emulation.setTouchEmulationEnabled", {"enabled": screen.touch, "maxTouchPoints": 5}, session)
        await person.truth.call("Page.bringToFront", {}, session)
        await person.goto((await asyncio.to_thread(desk.launcher, "open", "--project", project)).stdout.strip())
        await person.press("button")
        await person.heading("Sign in")
        # A button does nothing before the page's script has run.
        await person.shows("document.readyState", "complete")
        await person.press(way)
        await person.shows(kind.shown, True)
        if screen.touch:
            # Nothing of the page moves any more.
            await person.shows("document.querySelector('#told').textContent", "You control the browser.")
            await person.eval("document.querySelector('iframe').scrollIntoView()")
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
    await hands.person.picture("desktop-login", **LOOK)
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
    await hands.person.picture("desktop-window", **LOOK)
    await hands.click(window, 100, 40)
    await scene.page("document.title", "by window")


async def solve_the_puzzle(scene: Scene, hands: Hands) -> None:
    """Drag the knob to its place."""
    await hands.drag(scene.target, 50, 50, 250)
    await scene.page("document.title", "solved")
    await hands.person.picture("desktop-puzzle", **LOOK)


async def turn_the_wheel(scene: Scene, hands: Hands) -> None:
    """Down and up over the page, which grows so that it can be scrolled."""
    await scene.page("document.body.style.height='5000px'", "5000px")
    for down, scrolled in ((300, "scrollY>0"), (-3000, "scrollY===0")):
        await hands.wheel(scene.target, 100, 300, down)
        await scene.page(scrolled, True)


async def solve_with_a_finger(scene: Scene, hands: Hands) -> None:
    """The finger goes on until the piece is where it belongs: views take a drag for one only from some way on, and one of them counts from there."""
    down, over = await hands.place(scene.target, 50, 50), await hands.place(scene.target, 250, 50)
    await hands.touch("touchStart", down)
    await hands.glide([down], [over])
    await scene.page("from!==null&&Math.abs(parseInt(knob.style.left)-(270-from))<2", True)
    left = await scene.truth.eval(scene.target, "from-50")
    there = await hands.place(scene.target, 250 + left, 50)
    await hands.glide([over], [there])
    await scene.page("Math.abs(parseInt(knob.style.left)-220)<2", True)
    await hands.touch("touchEnd")
    await scene.page("document.title", "solved")


async def scroll_with_two_fingers(scene: Scene, hands: Hands) -> None:
    """Up and down over the page, which grows so that it can be scrolled."""
    await scene.page("document.body.style.height='5000px'", "5000px")
    low = [await hands.place(scene.target, x, 600) for x in (300, 600)]
    high = [await hands.place(scene.target, x, 200) for x in (300, 600)]
    for start, end, scrolled in ((low, high, "scrollY>0"), (high, low, "scrollY===0")):
        await hands.touch("touchStart", *start)
        await hands.glide(start, end)
        await hands.touch("touchEnd")
        await scene.page(scrolled, True)


async def spread_two_fingers(scene: Scene, hands: Hands) -> None:
    """The browser's own zoom, as by control and the wheel; control and 0 set it back."""
    together = [await hands.place(scene.target, x, 400) for x in (600, 700)]
    apart = [await hands.place(scene.target, x, 400) for x in (350, 950)]
    await hands.touch("touchStart", *together)
    await hands.glide(together, apart)
    await hands.touch("touchEnd")
    await scene.page("devicePixelRatio>1", True)
    await hands.with_control("0")
    await scene.page("devicePixelRatio", 1)


async def press_long(scene: Scene, hands: Hands) -> None:
    """A finger that stays is the other button of the mouse."""
    await scene.page("(window.oncontextmenu=()=>{document.title='asked for the menu';return false},document.title)", "login")
    await hands.touch("touchStart", await hands.place(scene.target, 500, 300))
    await scene.page("document.title", "asked for the menu")
    await hands.touch("touchEnd")


async def type_with_caps_lock(scene: Scene, hands: Hands) -> None:
    """A German keyboard with the lock on: large letters without shift, small ones with it, and after the lock is off as ever."""
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")
    keys = {"ä": ("Quote", 222), "ö": ("Semicolon", 192), "ü": ("BracketLeft", 186), "ß": ("Minus", 219), "a": ("KeyA", 65), "z": ("KeyY", 90)}
    lock, shift = ("CapsLock", "CapsLock", 20), {"key": "Shift", "code": "ShiftLeft", "windowsVirtualKeyCode": 16}
    await hands.key(*lock)
    for letter in "ÄÖÜßAZ":
        await hands.key(letter, *keys[letter.lower()], text=letter)
    await scene.page("user.value", "ÄÖÜßAZ")
    await hands.send("Input.dispatchKeyEvent", type="rawKeyDown", modifiers=SHIFT, **shift)
    for letter in "äza":
        await hands.key(letter, *keys[letter], modifiers=SHIFT, text=letter)
    await hands.send("Input.dispatchKeyEvent", type="keyUp", **shift)
    await scene.page("user.value", "ÄÖÜßAZäza")
    await hands.key(*lock)
    for letter in "äöß":
        await hands.key(letter, *keys[letter], text=letter)
    await scene.page("user.value", "ÄÖÜßAZäzaäöß")

"""What a view costs and how quick it is, and what a handoff takes besides the person: ``python -m tests.bench.views screencast`` (or ``vnc``, ``selkies``).

It prints the rows of docs/BENCHMARKS.md. Another view is another `Way`: how it is chosen, when its picture is there, and where in it a point of
the agent's page is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from tests.conftest import scratch_dir
from tests.e2e.handed import Handed, hand
from tests.e2e.person import Person
from tests.support import proc, selkies
from tests.support.chromium import Chromium
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack, free_port
from tests.support.truth import Truth

CLICKS = 30
HANDOFFS = 8
CPU_SECONDS = 8.0
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = """<!doctype html><title>bench</title><style>body{margin:0}
#tall{height:80000px;background:repeating-linear-gradient(#fff,#fff 40px,#cde 40px,#cde 80px)}</style><div id=tall></div><script>
at = 0; red = false; const now = () => performance.timeOrigin + performance.now();
addEventListener('mousedown', () => { at = now(); red = !red; tall.style.background = red ? '#f00' : '#00f' }, true);
scrolling = false; const step = () => { if (scrolling) scrollBy(0, 8); requestAnimationFrame(step) }; step()</script>"""


class Way(NamedTuple):
    """One view: what the stack is told, and JavaScript for the person's page: a test, a canvas, how many pictures have come,
    and a function from a page's point to the window's."""

    settings: dict[str, str]
    painted: str
    canvas: str
    pictures: str
    place: str


FRAME = "document.querySelector('iframe')"


def desktop(settings: dict[str, str], canvas: str, surface: str) -> Way:
    """A view of the whole desktop in ``canvas``, which has its place where ``surface`` is. It does not tell of its pictures."""
    found = f"{FRAME}?.contentDocument?.querySelector({canvas!r})"
    copy = "const o = new OffscreenCanvas(80, 80), g = o.getContext('2d', {willReadFrequently: true})"
    return Way(
        settings,
        # Something other than one colour is there.
        f"""(() => {{ const c = {found}; if (!c || c.width < 2) return false; {copy}; g.drawImage(c, 0, 0, c.width, 200, 0, 0, 80, 80);
  const d = g.getImageData(0, 0, 80, 80).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size > 2 }})()""",
        found.replace("?.", "."),
        # Those are counted in which the middle has changed.
        f"""(() => {{ if (window.counted === undefined) {{ window.counted = 0; let last = ''; {copy}; const look = () => {{
  const c = {found}; g.drawImage(c, c.width >> 1, c.height >> 1, 1, 80, 0, 0, 1, 80); const now = g.getImageData(0, 0, 1, 80).data.join();
  if (now !== last) {{ last = now; window.counted++ }} requestAnimationFrame(look) }}; look() }} return window.counted }})()""",
        f"""(x, y) => {{ const f = {FRAME}, a = f.getBoundingClientRect(), d = f.contentDocument, b = d.querySelector({surface!r}).getBoundingClientRect();
  const s = b.width / d.querySelector({canvas!r}).width; return [a.x + f.clientLeft + b.x + x * s, a.y + f.clientTop + b.y + y * s] }}""",
    )


WAYS = {
    "screencast": Way(
        {"TELEBROWSER_VIEW": "screencast"},
        f"{FRAME}?.contentWindow.shownWidth?.() > 1 && {FRAME}.contentDocument.getElementById('picture').width > 1",
        f"{FRAME}.contentDocument.getElementById('picture')",
        f"{FRAME}.contentWindow.shownPictures()",
        f"""(x, y) => {{ const f = {FRAME}, a = f.getBoundingClientRect(), w = f.contentWindow;
  const c = w.document.getElementById('picture').getBoundingClientRect(), s = c.width / w.shownWidth();
  return [a.x + f.clientLeft + c.x + x * s, a.y + f.clientTop + c.y + y * s] }}""",
    ),
    "vnc": desktop({"TELEBROWSER_VIEW": "vnc"}, "#stage canvas", "#stage canvas"),
    "selkies": desktop(selkies.SETTINGS, "#videoWorkerCanvas", "#overlayInput"),
}


class Bench:
    """A stack with one view, and a person with a browser of their own."""

    def __init__(self, way: Way, stack: Stack, person: Person, session: str, truths: Callable[..., Any]) -> None:
        self.way, self.stack, self.person, self.session, self.truths = way, stack, person, session, truths

    async def open(self) -> float:
        """Press *Open the browser*; seconds until the first picture is painted."""
        code = f"""new Promise(done => {{ document.querySelector('iframe')?.remove(); const began = performance.now(); document.querySelector('#take').click();
          const look = () => {{ if ({self.way.painted}) done(performance.now() - began); else requestAnimationFrame(look) }}; look() }})"""
        return float(await self.person.eval(code)) / 1000

    async def pictures(self) -> int:
        """How many have come."""
        return int(await self.person.eval(self.way.pictures))

    async def click(self, x: float, y: float) -> None:
        """A real click of the person into the picture, at a point of the agent's page."""
        at = await self.person.eval(f"({self.way.place})({x}, {y})")
        for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
            where = {"type": kind, "x": at[0], "y": at[1], "button": "left", "buttons": buttons, "clickCount": 1}
            await self.person.truth.call("Input.dispatchMouseEvent", where, self.session)

    async def latency(self, handed: Handed) -> tuple[list[float], list[float]]:
        """Milliseconds from the person's click to the page's event, and to the page's answer in the picture."""
        there, back = [], []
        watch = f"""new Promise(done => {{ const g = new OffscreenCanvas(1, 1).getContext('2d', {{willReadFrequently: true}});
          const hue = () => {{ const c = {self.way.canvas}; g.drawImage(c, c.width >> 1, c.height >> 1, 1, 1, 0, 0, 1, 1);
            const p = g.getImageData(0, 0, 1, 1).data; return p[0] > 128 && p[2] < 128 }}, before = hue();
          const look = () => hue() !== before ? done(performance.timeOrigin + performance.now()) : requestAnimationFrame(look); look() }})"""
        await self.click(300, 300)
        await asyncio.sleep(1)
        for _ in range(CLICKS):
            seen = asyncio.create_task(self.person.eval(watch))
            await asyncio.sleep(0.15)
            before = time.time() * 1000
            await self.click(300, 300)
            back.append(await seen - before)
            there.append(await handed.eval("at") - before)
        return there, back

    async def cpu(self) -> tuple[float, float]:
        """Percent of one core that the browser takes, and all else of the stack."""
        browser = self.stack.browser_pid(PROJECT)

        def ticks() -> tuple[int, int]:
            below = {row.pid for row in proc.descendants([browser])}
            rows = {row.pid for row in proc.mentioning(str(self.stack.root))} | below
            return sum(map(used, below)), sum(map(used, rows - below))

        before = await asyncio.to_thread(ticks)
        began = time.monotonic()
        await asyncio.sleep(CPU_SECONDS)
        after = await asyncio.to_thread(ticks)
        spent = time.monotonic() - began
        return tuple(100 * (b - a) / TICKS / spent for a, b in zip(before, after, strict=True))  # type: ignore[return-value]

    def memory(self) -> float:
        """Resident MiB of the stack without the browser."""
        below = {row.pid for row in proc.descendants([self.stack.browser_pid(PROJECT)])}
        return sum(resident(row.pid) for row in proc.mentioning(str(self.stack.root)) if row.pid not in below) / 1024


PROJECT = "bench"


def used(pid: int) -> int:
    """Ticks of processor time that a process has used."""
    fields = proc.read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if fields else 0


def resident(pid: int) -> int:
    """KiB of a process, 0 when it has just ended."""
    return proc.rss_kib(pid) if proc.process(pid) else 0


@contextlib.asynccontextmanager
async def bench(way: Way) -> AsyncIterator[Bench]:
    """Everything that is needed, and nothing left of it afterwards."""
    root, home = scratch_dir("views"), scratch_dir("viewer")
    stack = Stack(root, TELEBROWSER_PEOPLE_PORT=str(free_port()), **way.settings)
    made: list[Truth] = []

    async def truths(url: str) -> Truth:
        made.append(await Truth.connect(url))
        return made[-1]

    try:
        await asyncio.to_thread(stack.start)
        if way is not WAYS["screencast"]:
            await asyncio.to_thread(proc.until, (stack.data / "run" / "view.json").exists, "the view is announced", 60)
        browser = await asyncio.to_thread(Chromium, home, "--window-size=1300,900")
        try:
            truth = await truths(browser.ws)
            person = Person(truth, (await truth.targets())[0]["targetId"])
            yield Bench(way, stack, person, await truth.attach(person.target), truths)
        finally:
            for each in made:
                await each.close()
            await asyncio.to_thread(browser.close)
    finally:
        await asyncio.to_thread(stack.stop)
        shutil.rmtree(root, ignore_errors=True)


async def view(name: str, pages: Pages) -> list[str]:
    """The rows of one view."""
    url = pages.add("bench.html", PAGE)
    async with bench(WAYS[name]) as it, hand(it.stack, PROJECT, it.truths) as handed:
        await handed.show(url)
        await it.cpu()
        idle, memory = await it.cpu(), it.memory()
        await handed.eval("scrolling = true")
        scrolling = await it.cpu()
        await handed.eval("scrolling = false, scrollTo(0, 0)")
        await handed.enter(it.person)
        first = [await it.open() for _ in range(5)]
        there, back = await it.latency(handed)
        seen_idle, seen_memory = await it.cpu(), it.memory()
        await handed.eval("tall.style.background = '', scrolling = true")
        await asyncio.sleep(1)
        began, before = time.monotonic(), await it.pictures()
        seen_scrolling = await it.cpu()
        pictures = (await it.pictures() - before) / (time.monotonic() - began)
    return [
        f"| to the first picture | {statistics.median(first):.2f} s (worst {max(first):.2f}) |",
        f"| click to the page's event | {statistics.median(there):.0f} ms (p95 {quantile(there):.0f}) |",
        f"| click to the answer in the picture | {statistics.median(back):.0f} ms (p95 {quantile(back):.0f}) |",
        f"| processor, page stands still: without → with viewer, browser + all else | {both(idle)} → {both(seen_idle)} % of a core |",
        f"| processor, page scrolls 60 times a second: without → with viewer, browser + all else | {both(scrolling)} → {both(seen_scrolling)} % of a core |",
        f"| pictures a second meanwhile, at the person | {pictures:.0f} |",
        f"| memory of all but the browser: without → with viewer | {memory:.0f} → {seen_memory:.0f} MiB |",
    ]


async def handoffs(name: str, pages: Pages) -> list[str]:
    """What a handoff takes besides the person: an agent over MCP, whose person opens the link and presses Done as soon as each is there."""
    url = pages.add("bench.html", PAGE)
    asked, opened, resumed = [], [], []
    async with bench(WAYS[name]) as it:
        agent = await McpClient.start("mcp", "--project", PROJECT, env=it.stack.env(), cwd=it.stack.home)
        try:
            await agent.ok("browser_navigate", url=url)
            for number in range(HANDOFFS):
                began = time.monotonic()
                told = await agent.ok("browser_handoff", reason=f"Sign in {number}")
                asked.append(time.monotonic() - began)
                waiting = asyncio.create_task(agent.call("browser_handoff_status", 60, wait_seconds=50))
                began = time.monotonic()
                await it.person.goto(told.data["link"])
                await it.person.press("button")
                await it.person.heading(f"Sign in {number}")
                opened.append(time.monotonic() - began)
                await asyncio.sleep(0.2)
                began = time.monotonic()
                await it.person.press("button[formaction$='/done']")
                answer = await waiting
                resumed.append(time.monotonic() - began)
                assert answer.data["state"] == "done", answer
                await it.person.heading("Done")
        finally:
            await agent.close()
    whole = [sum(parts) for parts in zip(asked, opened, resumed, strict=True)]
    rows = (
        ("asked → link in the agent's answer", asked),
        ("link → button → page open", opened),
        ("*Done* → agent's answer, cookies on disk", resumed),
        ("together", whole),
    )
    return [f"| {what} | {statistics.median(seconds) * 1000:.0f} ms (worst {max(seconds) * 1000:.0f}) |" for what, seconds in rows]


def quantile(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def both(parts: tuple[float, float]) -> str:
    return f"{parts[0]:.1f} + {parts[1]:.1f}"


async def main(name: str) -> None:
    """Print the rows of a view and of handoffs with it."""
    pages = Pages()
    try:
        load = os.getloadavg()[0]
        for row in (*await view(name, pages), *await handoffs(name, pages)):
            print(row)
        print(f"Load at the start {load:.1f}, at the end {os.getloadavg()[0]:.1f}.")
    finally:
        pages.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "screencast"))

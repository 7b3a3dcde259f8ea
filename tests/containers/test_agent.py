"""An agent on another machine, and the desktop that a person sees: which project's window is in front."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from telebrowser.supervisor.front import APP_PREFIX
from tests.support import proc
from tests.support.pages import Pages

from .deployment import PUID, Deployment
from .png import pixel

RED, BLUE, GREEN, YELLOW = (200, 0, 0), (0, 0, 200), (0, 160, 0), (200, 200, 0)
SEEN_SECONDS = 10.0


def colour(pages: Pages, name: str, wanted: tuple[int, int, int], body: str = "") -> str:
    """A page that is all of one colour."""
    return pages.add(f"{name}.html", f"<title>{name}</title><body style='margin:0;height:100vh;background:rgb{wanted}'>{body}")


def near(seen: tuple[int, int, int], wanted: tuple[int, int, int]) -> bool:
    return all(abs(a - b) < 40 for a, b in zip(seen, wanted, strict=True))


async def until_seen(deployed: Deployment, wanted: tuple[int, int, int]) -> None:
    """Wait until the desktop shows a colour in its middle."""
    end = time.monotonic() + SEEN_SECONDS
    while not near(seen := pixel(deployed.screenshot(), 0.5, 0.4), wanted):
        assert time.monotonic() < end, f"the desktop shows {seen}, not {wanted}; {deployed.supervisor_log()[-1500:]}"
        await asyncio.sleep(0.3)


@contextlib.asynccontextmanager
async def put_behind(deployed: Deployment, project: str) -> AsyncIterator[None]:
    """What is done within opens a window of the project, which comes to the front and is put behind again."""
    line = f"a window of {APP_PREFIX}{project} has opened; the one that was in front is raised again"
    before = deployed.supervisor_log().count(line)
    yield
    await asyncio.to_thread(proc.until, lambda: deployed.supervisor_log().count(line) > before, f"a window of {project} is put behind", SEEN_SECONDS)


async def stays(deployed: Deployment, wanted: tuple[int, int, int], seconds: float = 2.0) -> None:
    """The desktop goes on showing a colour."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert near(seen := pixel(deployed.screenshot(), 0.5, 0.4), wanted), f"the desktop shows {seen}, not {wanted}"
        await asyncio.sleep(0.3)


async def test_an_agent_works(deployed: Deployment, pages: Pages) -> None:
    agent = await deployed.agent("works")
    try:
        page = pages.add("works.html", "<title>shop</title><button onclick=\"document.title='bought'\">Buy</button>")
        assert "shop" in (await agent.ok("browser_navigate", url=page)).text
        ref = (await agent.ok("browser_snapshot")).ref("Buy")
        assert ref is not None
        await agent.ok("browser_click", ref=ref)
        for _ in range(50):
            if "bought" in (await agent.ok("browser_evaluate", expression="document.title")).text:
                break
            await asyncio.sleep(0.1)
        else:
            raise AssertionError("the click did nothing")
        before = deployed.browsers()["works"]
    finally:
        await agent.close()
    # Its last tab is closed after the grace time; the browser stays.
    await asyncio.sleep(4)
    assert deployed.browsers()["works"] == before


async def test_a_download_is_the_owners(deployed: Deployment, pages: Pages) -> None:
    agent = await deployed.agent("loads")
    try:
        page = pages.add("loads.html", "<title>loads</title><a href='/file.bin' download>Get</a>")
        await agent.ok("browser_navigate", url=page)
        ref = (await agent.ok("browser_snapshot")).ref("Get")
        await agent.ok("browser_click", ref=ref)
        path = deployed.data / "projects/loads/downloads/file.bin"
        for _ in range(50):
            if path.exists():
                break
            await asyncio.sleep(0.2)
        info = path.stat()
        assert (info.st_uid, info.st_gid, info.st_size) == (PUID, PUID, 4096) and path.read_bytes() == b"x" * 4096
    finally:
        await agent.close()


def test_everything_is_the_owners(deployed: Deployment) -> None:
    """Whatever the containers have written up to now."""
    strangers = [path for folder in ("projects", "run", "audit") for path in (deployed.data / folder).rglob("*") if path.lstat().st_uid != PUID]
    assert not strangers, strangers[:5]
    assert Path(deployed.data / "projects").stat().st_mode & 0o777 == 0o700


async def test_focus_shows_the_right_project(deployed: Deployment, pages: Pages) -> None:
    red, blue = await deployed.agent("red"), await deployed.agent("blue")
    try:
        await red.ok("browser_navigate", url=colour(pages, "red", RED))
        assert deployed.verb("focus", "--project", "red").returncode == 0
        await until_seen(deployed, RED)
        # A browser that starts meanwhile takes the screen from the person who looks at it for no more than a moment.
        async with put_behind(deployed, "blue"):
            await blue.ok("browser_navigate", url=colour(pages, "blue", BLUE))
        assert set(deployed.browsers()) >= {"red", "blue"}
        await until_seen(deployed, RED)
        await stays(deployed, RED)
        done = deployed.verb("focus", "--project", "blue")
        assert done.returncode == 0, done.stderr
        await until_seen(deployed, BLUE)
        assert deployed.verb("focus", "--project", "red").returncode == 0
        await until_seen(deployed, RED)
    finally:
        await red.close()
        await blue.close()


async def test_a_popup_of_another_project_stays_behind(deployed: Deployment, pages: Pages) -> None:
    red, green = await deployed.agent("red"), await deployed.agent("green")
    try:
        pages.add("popped.html", f"<title>popped</title><body style='background:rgb{YELLOW}'>")
        await green.ok("browser_navigate", url=colour(pages, "green", GREEN, "<button onclick=\"open('/popped.html','','width=600,height=400')\">Pop</button>"))
        await red.ok("browser_navigate", url=colour(pages, "red", RED))
        assert deployed.verb("focus", "--project", "red").returncode == 0
        await until_seen(deployed, RED)
        ref = (await green.ok("browser_snapshot")).ref("Pop")
        async with put_behind(deployed, "green"):
            await green.ok("browser_click", ref=ref)
        for _ in range(50):
            if "popped" in (await green.ok("browser_tabs", action="list")).text:
                break
            await asyncio.sleep(0.1)
        else:
            raise AssertionError("no popup")
        await until_seen(deployed, RED)
        await stays(deployed, RED)
    finally:
        await red.close()
        await green.close()


def test_focus_of_a_project_without_a_browser_says_so(deployed: Deployment) -> None:
    done = deployed.verb("focus", "--project", "nobody")
    assert done.returncode != 0 or "nobody" in deployed.browsers(), done.stdout

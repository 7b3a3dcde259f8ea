"""The service on browsers that a fake supervisor reports: expiry, idleness, whose window is raised, rights, and what a restart finds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from telebrowser import config
from telebrowser.datadir import DataDir
from telebrowser.errors import TelebrowserError
from telebrowser.gateway.audit import Audit
from telebrowser.gateway.browsers import Browsers
from telebrowser.gateway.handoff import cookies, keeper
from telebrowser.gateway.handoff.links import Purpose
from telebrowser.gateway.handoff.machine import Handoff
from telebrowser.gateway.handoff.service import Handoffs
from telebrowser.gateway.handoff.view import Grant, Role
from telebrowser.gateway.lifecycle import ProjectBrowser
from tests.conftest import scratch_dir
from tests.resources.fake_supervisor import FakeBrowser, FakeSupervisor


class View:
    """A view that remembers whom it was told to let in."""

    name = "fake"

    def __init__(self) -> None:
        self.granted: dict[tuple[str, Role], str] = {}
        self.made = 0
        self.watching = 0
        self.hangs = False

    def desktop(self, project: str) -> str:
        return "shared"

    def viewers(self, project: str) -> int:
        return self.watching

    async def grant(self, handoff: Handoff, role: Role, *, secure: bool) -> Grant:
        if self.hangs:
            await asyncio.Event().wait()
        self.made += 1
        self.granted[handoff.id, role] = url = f"http://view/?token={self.made}"
        return Grant(url, role)

    async def revoke(self, handoff: Handoff, role: Role | None = None) -> None:
        for key in [key for key in self.granted if key[0] == handoff.id and role in (None, key[1])]:
            del self.granted[key]

    async def aclose(self) -> None:
        self.granted.clear()


class World:
    """A gateway's browsers, a fake supervisor that raises windows, and a view."""

    def __init__(self, data: DataDir, **changes: Any) -> None:
        self.data = data
        self.supervisor = FakeSupervisor(data.socket)
        self.audit = Audit(data.audit)
        settings = config.load(config.GATEWAY, environ={"TELEBROWSER_SECRETS_DIR": str(data.root / "secrets")}).replace(**changes)
        self.gateway = Browsers(data, settings, self.audit)
        self.view = self.gateway.handoffs.view = View()
        self.fakes: list[FakeBrowser] = []
        self.raised: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def handoffs(self) -> Handoffs:
        return self.gateway.handoffs

    async def connect(self) -> World:
        self.gateway.start()
        await self.supervisor.accept()
        await self.gateway.supervisor.connected.wait()
        self.tasks.append(asyncio.create_task(self._raise()))
        return self

    async def _raise(self) -> None:
        while True:
            await self.supervisor.commands.get()
            if self.data.raise_file.exists():
                project = self.data.raise_file.read_text()
                self.data.raise_file.unlink()
                self.raised.append(project)
                self.supervisor.send({"event": "raised", "project": project, "ok": True})

    async def up(self, project: str, pid: int = 1) -> ProjectBrowser:
        fake = FakeBrowser()
        self.fakes.append(fake)
        self.data.downloads(project).mkdir(parents=True, exist_ok=True)
        self.supervisor.up(fake, project=project, pid=pid)
        browser = self.gateway.get(project)
        await reached(lambda: browser.link is not None and browser.up_event.get("pid") == pid, f"{project} up")
        return browser

    def tab(self, project: str, session: str, target: str, **more: Any) -> None:
        """A session's tab, as if Chromium had told of it."""
        link = self.gateway.get(project).link
        assert link is not None
        link.targets.put({"targetId": target, "type": "page", "url": "https://shop.example/?code=1", "title": "Shop", "attached": False, **more})
        link.targets.claim(target, session)

    async def ask(self, project: str = "p", session: str = "s", target: str = "", **more: Any) -> Handoff:
        target = target or f"{project}-{session}"
        self.tab(project, session, target)
        return await self.handoffs.ask(project, session, reason="Sign in", target=target, **more)

    async def close(self) -> None:
        await self.gateway.stop()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.audit.close()
        self.supervisor.close()
        for fake in self.fakes:
            fake.close()


def kept(world: World) -> list[str]:
    """The handoffs on disk."""
    return sorted(path.stem for path in world.data.handoffs.glob("h*.json"))


async def reached(check: Callable[[], Any], what: str) -> None:
    for _ in range(1000):
        if check():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"never {what}")


@pytest.fixture
def data() -> Iterator[DataDir]:
    import shutil

    root = scratch_dir("hand")
    directory = DataDir(root / "data")
    directory.prepare()
    yield directory
    shutil.rmtree(root)


@pytest.fixture(autouse=True)
def no_cookies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake browser writes none, and nothing shall wait for it."""
    monkeypatch.setattr(cookies, "COMMIT_SECONDS", 0.05)


@pytest.fixture
async def world(data: DataDir) -> AsyncIterator[World]:
    one = await World(data).connect()
    yield one
    await one.close()


async def test_a_handoff_that_nobody_takes_expires(data: DataDir) -> None:
    world = await World(data, handoff_minutes=0.3 / 60).connect()
    try:
        await world.up("p")
        handoff = await world.ask()
        assert handoff.is_open and 0.2 < handoff.deadline - time.time() < 0.4
        ended = await world.handoffs.wait(handoff.id, 20)
        assert (ended.state, ended.via, ended.settled) == ("expired", "deadline", True)
        assert world.handoffs.ended == {"expired": 1}
        longer = await world.ask(target="other", seconds=600)
        assert longer.deadline - time.time() > 500, "an agent that waits longer is waited for"
    finally:
        await world.close()


async def test_nobody_stops_a_browser_to_which_a_person_is_asked_or_at_which_one_looks(data: DataDir) -> None:
    world = await World(data, idle_minutes=0.001).connect()
    try:
        browser = await world.up("p")
        handoff = await world.ask()
        await asyncio.sleep(0.2)
        assert browser.idle_seconds() > 0.06 and not browser.is_idle
        await world.handoffs.cancel(handoff.id)
        assert not browser.is_idle, "its idle time begins with the end of the handoff"
        await reached(lambda: browser.is_idle, "idle")
        world.view.watching = 1
        assert not browser.is_idle
        world.view.watching = 0
        browser.hold(1)
        assert not browser.is_idle
        browser.hold(0)
        assert browser.is_idle
    finally:
        await world.close()


async def test_its_window_is_raised_and_no_agent_raises_another_over_it(world: World) -> None:
    await world.up("p")
    other = await world.up("q")
    handoff = await world.ask()
    assert world.raised == ["p"] and "Target.activateTarget" in world.fakes[0].methods
    world.tab("q", "t", "q-tab")
    assert other.link is not None
    other.link.activated("q-tab")
    await asyncio.sleep(0.05)
    assert world.raised == ["p"]
    await other.focus()
    assert world.raised == ["p", "q"], "a person's own wish is followed"
    await world.up("r")
    await reached(lambda: world.raised == ["p", "q", "p"], "raised again over the window of a browser that has just started")
    await world.handoffs.done(handoff.id)
    other.link.activated("q-tab")
    await reached(lambda: world.raised[-1] == "q", "raised at an agent's wish again")


async def test_the_next_ones_turn(world: World) -> None:
    await world.up("p")
    await world.up("q")
    first, second = await world.ask("p"), await world.ask("q")
    assert world.raised == ["p"] and world.handoffs.position(second) == 1
    await world.handoffs.done(first.id)
    assert world.raised == ["p", "q"] and world.handoffs.position(second) == 0


async def test_rights_are_given_for_one_handoff_to_one_person_and_withdrawn_at_the_end(world: World) -> None:
    await world.up("p")
    await world.up("q")
    first, second = await world.ask("p"), await world.ask("q")
    grant = await world.handoffs.take(first.id, "ann")
    assert world.view.granted == {(first.id, "controller"): grant.url} and world.handoffs.controlled_by(first) == "ann"
    await world.handoffs.watch(first.id)
    with pytest.raises(TelebrowserError, match="Somebody else"):
        await world.handoffs.take(second.id, "bob")
    await world.handoffs.take(second.id, "bob", force=True)
    assert set(world.view.granted) == {(first.id, "viewer"), (second.id, "controller")}
    assert world.handoffs.position(first) == 1 and world.raised[-1] == "q"
    await world.handoffs.release(second.id, "bob")
    assert set(world.view.granted) == {(first.id, "viewer")}
    await world.handoffs.failed(first.id, "no time")
    assert world.view.granted == {}
    for call in (world.handoffs.take(first.id, "ann"), world.handoffs.watch(first.id)):
        with pytest.raises(TelebrowserError) as error:
            await call
        assert error.value.code == "NOT_FOUND"


async def test_a_view_that_hangs_delays_and_gives_nobody_control(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "VIEW_SECONDS", 0.05)
    await world.up("p")
    handoff = await world.ask()
    world.view.hangs = True
    with pytest.raises(TelebrowserError) as error:
        await world.handoffs.take(handoff.id, "ann")
    assert error.value.code == "BROWSER_UNAVAILABLE" and world.handoffs.controlled_by(handoff) is None


async def test_links_open_the_page_of_an_open_handoff_once(world: World) -> None:
    await world.up("p")
    world.handoffs.pages_url = "http://127.0.0.1:5859/"
    handoff = await world.ask()
    links = [world.handoffs.link(handoff) or "" for _ in range(2)]
    assert all(link.startswith("http://127.0.0.1:5859/h/") for link in links) and links[0] != links[1]
    tokens = [link.rpartition("/")[2] for link in links]
    opened, cookie = world.handoffs.open_link(tokens[0])
    assert opened.id == handoff.id and opened.seen_at is not None and world.handoffs.page(cookie).id == handoff.id
    assert world.handoffs.links.verify(cookie, Purpose.PAGE).expires > handoff.deadline + 60, "the page must still tell that it was too late"
    with pytest.raises(TelebrowserError, match="not valid"):
        world.handoffs.open_link(tokens[0])
    await world.handoffs.done(handoff.id)
    for opens in (lambda: world.handoffs.open_link(tokens[1]), lambda: world.handoffs.page(cookie)):
        with pytest.raises(TelebrowserError) as error:
            opens()
        assert error.value.code == "FORBIDDEN"
    world.handoffs.links.verify(tokens[1], Purpose.HANDOFF)


async def test_the_same_tab_again_joins_or_is_refused(world: World) -> None:
    await world.up("p")
    handoff = await world.ask()
    assert (await world.ask()).id == handoff.id
    with pytest.raises(TelebrowserError) as error:
        await world.handoffs.ask("p", "s", reason="Something else", target="p-s")
    assert error.value.code == "HANDOFF_OPEN"
    for target, code in (("nowhere", "TAB_CLOSED"), ("p-s", "INVALID_ARGS")):
        with pytest.raises(TelebrowserError) as error:
            await world.handoffs.ask("p", "s", reason=" \n" if code == "INVALID_ARGS" else "Sign in", target=target)
        assert error.value.code == code


async def test_a_tab_opened_from_the_persons_is_theirs_too(world: World) -> None:
    await world.up("p")
    handoff = await world.ask(target="main")
    world.tab("p", "s", "popup", openerId="main")
    world.tab("p", "s", "deeper", openerId="popup")
    world.tab("p", "s", "apart")
    assert [bool(world.handoffs.held("p", target)) for target in ("main", "popup", "deeper", "apart", "unknown")] == [True, True, True, False, False]
    assert world.handoffs.guarded("p", "deeper") == handoff
    await world.handoffs.done(handoff.id)
    assert world.handoffs.held("p", "main") is None


async def test_the_guard_can_be_switched_off(data: DataDir) -> None:
    world = await World(data, handoff_guard=False).connect()
    try:
        await world.up("p")
        await world.ask(target="main")
        assert world.handoffs.guarded("p", "main") is None and world.handoffs.held("p", "main") is not None
    finally:
        await world.close()


@pytest.mark.parametrize("how", ["down", "failed", "supervisor"])
async def test_the_end_of_the_browser_ends_it(world: World, how: str) -> None:
    await world.up("p")
    handoff = await world.ask()
    if how == "down":
        world.supervisor.down("crashed", message="it crashed")
    elif how == "failed":
        world.supervisor.send({"event": "failed", "project": "p", "code": "BROWSER_CRASHED", "message": "thrice"})
    else:
        world.supervisor.lose()
    ended = await world.handoffs.wait(handoff.id, 20)
    assert (ended.state, ended.via, ended.cookies_saved) == ("failed", "browser", False) and "the browser ended" in ended.note


async def test_a_restart_goes_on_with_what_is_open_and_finishes_what_had_ended(data: DataDir) -> None:
    world = await World(data).connect()
    await world.up("p")
    handoff = await world.ask(condition=None)
    over = await world.ask(target="second")
    await world.handoffs.done(over.id, "thanks")
    await world.close()
    path = data.handoffs / f"{over.id}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settled": False}))
    again = await World(data).connect()
    try:
        assert again.handoffs.find("p", handoff.id).is_open
        finished = await again.handoffs.wait(over.id, 20)
        assert (finished.state, finished.note, finished.settled) == ("done", "thanks", True)
        await again.up("p")
        ended = await again.handoffs.wait(handoff.id, 20)
        assert (ended.state, ended.note) == ("failed", "the tab was closed"), "the new browser does not have the tab"
    finally:
        await again.close()


async def test_a_browser_that_does_not_come_back_after_a_restart(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await World(data).connect()
    await world.up("p")
    handoff = await world.ask()
    await world.close()
    monkeypatch.setattr(keeper, "RESUME_SECONDS", 0.1)
    again = await World(data).connect()
    try:
        ended = await again.handoffs.wait(handoff.id, 20)
        assert (ended.state, ended.note) == ("failed", "the browser had ended")
    finally:
        await again.close()


async def test_old_ones_are_removed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "KEPT", 2)
    await world.up("p")
    idents = []
    for number in range(4):
        idents.append((await world.ask(target=f"t{number}")).id)
        await world.handoffs.cancel(idents[-1])
    assert [handoff.id for handoff in world.handoffs.of("p")] == idents[2:]
    assert kept(world) == sorted(idents[2:])


async def test_whoever_looks_hears_of_changes(world: World) -> None:
    await world.up("p")
    seen: list[list[str]] = []

    async def look() -> None:
        while True:
            changed = world.handoffs.changed()
            seen.append([handoff.state for handoff in world.handoffs.everything()])
            await changed.wait()

    looking = asyncio.create_task(look())
    await reached(lambda: seen == [[]], "looked at once")
    handoff = await world.ask()
    await reached(lambda: seen[-1] == ["open"], "open")
    await world.handoffs.done(handoff.id)
    await reached(lambda: seen[-1] == ["done"], "done")
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)

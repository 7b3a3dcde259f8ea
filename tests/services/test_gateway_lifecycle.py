"""The life of a project's browser, seen from the gateway: what the supervisor reports, in whatever order, and what people get."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser import config
from telebrowser.datadir import DataDir
from telebrowser.errors import TelebrowserError
from telebrowser.gateway import lifecycle
from telebrowser.gateway.audit import Audit
from telebrowser.gateway.browsers import Browsers
from telebrowser.gateway.lifecycle import ProjectBrowser
from tests.resources.fake_supervisor import FakeBrowser, FakeSupervisor


@pytest.fixture
def data() -> Iterator[DataDir]:
    root = Path(tempfile.mkdtemp(prefix="tb-life-", dir="/tmp"))
    directory = DataDir(root / "data")
    directory.prepare()
    yield directory
    shutil.rmtree(root)


class World:
    """A gateway's browsers and a fake supervisor."""

    def __init__(self, data: DataDir) -> None:
        self.data = data
        self.settings = config.load(config.GATEWAY, environ={})
        self.supervisor = FakeSupervisor(data.socket)
        self.browsers: list[FakeBrowser] = []
        self.audit = Audit(data.audit)
        self.gateway = Browsers(data, self.settings, self.audit)

    @property
    def p(self) -> ProjectBrowser:
        return self.gateway.get("p")

    def fake(self) -> FakeBrowser:
        self.browsers.append(FakeBrowser())
        return self.browsers[-1]

    async def connect(self) -> World:
        self.gateway.start()
        await self.supervisor.accept(warnings=["as root"])
        await self.gateway.supervisor.connected.wait()
        return self

    async def up(self, **more: Any) -> FakeBrowser:
        browser = self.fake()
        for folder in (self.data.downloads("p"),):
            folder.mkdir(parents=True, exist_ok=True)
        self.supervisor.up(browser, **more)
        await reached(lambda: self.p.link is not None and self.p.up_event.get("pid") == more.get("pid", 1), "up")
        return browser

    async def close(self) -> None:
        await self.gateway.stop()
        self.audit.close()
        self.supervisor.close()
        for browser in self.browsers:
            browser.close()


async def reached(check: Callable[[], Any], what: str) -> None:
    for _ in range(1000):
        if check():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"never {what}")


@pytest.fixture
async def world(data: DataDir) -> AsyncIterator[World]:
    one = World(data)
    yield await one.connect()
    await one.close()


async def test_started_on_demand_once_for_everyone_who_waits(world: World) -> None:
    waiting = [asyncio.create_task(world.p.ensure_up()) for _ in range(3)]
    assert await world.supervisor.next() == {"cmd": "look"}
    assert world.p.state == "starting" and world.data.want_file("p").exists()
    await world.up()
    links = await asyncio.gather(*waiting)
    assert len(set(map(id, links))) == 1 and await world.p.ensure_up() is links[0]
    status = world.p.status()
    assert (status["state"], status["pid"], status["browser"], status["started_at"]) == ("up", 1, "Fake/1", "2026-01-01T00:00:00+00:00")
    assert status["warnings"] == ["as root", "w"]


@pytest.mark.parametrize("code", ["BROWSER_UNAVAILABLE", "BROWSER_CRASHED", "DISK_FULL"])
async def test_a_start_that_fails_says_why_and_the_next_one_may_work(world: World, code: str) -> None:
    waiting = asyncio.create_task(world.p.ensure_up())
    await world.supervisor.next()
    world.supervisor.send({"event": "failed", "project": "p", "code": code, "message": "no\nluck"})
    with pytest.raises(TelebrowserError) as error:
        await waiting
    assert error.value.code == code and error.value.message == "no luck"
    assert (world.p.state, world.p.reason) == ("failed", "no luck")
    again = asyncio.create_task(world.p.start())
    assert [(await world.supervisor.next())["cmd"] for _ in range(2)] == ["failed-reset", "look"]
    await world.up()
    await again
    assert world.p.status()["reason"] is None


async def test_stop_waits_for_the_end_and_a_start_meanwhile_for_the_next_browser(world: World) -> None:
    await world.up()
    first = world.p.link
    stopping = asyncio.create_task(world.p.stop())
    assert (await world.supervisor.next())["cmd"] == "look"
    assert world.p.state == "stopping" and not world.data.want_file("p").exists()
    starting = asyncio.create_task(world.p.ensure_up())
    world.supervisor.send({"event": "close", "project": "p"})
    await reached(lambda: "Browser.close" in world.browsers[0].methods, "asked to close")
    assert not stopping.done()
    world.supervisor.down()
    await stopping
    assert (await world.supervisor.next())["cmd"] == "look" and world.data.want_file("p").exists()
    await world.up(pid=2)
    assert await starting is world.p.link is not first


async def test_stop_of_what_does_not_run(world: World) -> None:
    await world.p.stop()
    assert world.p.state == "stopped"


async def test_stop_during_a_start_lets_it_finish_first(world: World) -> None:
    starting = asyncio.create_task(world.p.ensure_up())
    assert (await world.supervisor.next())["cmd"] == "look"
    stopping = asyncio.create_task(world.p.stop())
    await world.up()
    await starting
    await reached(lambda: world.p.state == "stopping", "stopping")
    world.supervisor.down()
    await stopping
    assert world.p.state == "stopped"


async def test_deadlines(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_SECONDS", "STOP_SECONDS", "WIPE_SECONDS", "RAISE_SECONDS"):
        monkeypatch.setattr(lifecycle, name, 0.05)
    with pytest.raises(TelebrowserError, match="did not start"):
        await world.p.ensure_up()
    await world.up()
    for call, said in ((world.p.focus, "did not answer"), (world.p.wipe, "not wiped"), (world.p.stop, "has not ended")):
        with pytest.raises(TelebrowserError, match=said):
            await call()


async def test_a_crash_is_not_the_end_until_the_supervisor_says_so(world: World) -> None:
    await world.up()
    ended: list[str] = []
    assert world.p.link is not None
    client = await world.p.link.open_client("s", lambda data: None, ended.append)
    world.supervisor.down("crashed", message="signal 11")
    await reached(lambda: ended, "the client is told")
    assert client.closed and (world.p.state, world.p.reason) == ("starting", "signal 11")
    waiting = asyncio.create_task(world.p.ensure_up())
    await world.up(pid=2)
    assert await waiting is world.p.link
    world.supervisor.down("crashed", message="signal 11")
    world.supervisor.send({"event": "failed", "project": "p", "code": "BROWSER_CRASHED", "message": "three times"})
    await reached(lambda: world.p.state == "failed", "failed")
    assert world.p.status()["reason"] == "three times"


async def test_a_browser_that_answers_nothing_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telebrowser.gateway.channel.CALL_SECONDS", 0.05)
    world.data.downloads("p").mkdir(parents=True)
    browser = world.fake()
    browser.silent = True
    world.supervisor.up(browser)
    await reached(lambda: world.p.state == "failed", "failed")
    assert "did not answer" in str(world.p.reason)


async def test_the_supervisor_ends_and_another_comes(world: World) -> None:
    await world.up()
    ended: list[str] = []
    assert world.p.link is not None
    await world.p.link.open_client("s", lambda data: None, ended.append)
    waiting = asyncio.create_task(world.gateway.get("q").ensure_up())
    await world.supervisor.next()
    world.supervisor.lose()
    await reached(lambda: ended, "the client is told")
    with pytest.raises(TelebrowserError) as error:
        await waiting
    assert error.value.code == "BROWSER_UNAVAILABLE"
    assert world.p.state == "stopped" and not world.gateway.supervisor.connected.is_set()
    await world.supervisor.accept()
    await world.up(pid=2)
    assert world.p.state == "up"


async def test_without_a_supervisor(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "SUPERVISOR_SECONDS", 0.05)
    gateway = Browsers(data, config.load(config.GATEWAY, environ={}), Audit(data.audit))
    gateway.start()
    for call in (gateway.get("p").ensure_up, gateway.get("p").wipe):
        with pytest.raises(TelebrowserError) as error:
            await call()
        assert error.value.code == "BROWSER_UNAVAILABLE" and "supervisor" in error.value.message
    await gateway.get("p").stop()
    await gateway.stop()


async def test_the_owners_of_tabs_are_kept_for_the_next_gateway_on_the_same_browser(data: DataDir) -> None:
    world = await World(data).connect()
    browser = await world.up()
    assert world.p.link is not None
    await world.p.link.open_client("s", lambda data: None, lambda reason: None)
    world.p.hold(5)
    await reached(lambda: (data.sessions / "p.json").exists(), "saved")
    root_before = json.loads((data.sessions / "p.json").read_text())["roots"]
    await world.gateway.stop()
    saved = json.loads((data.sessions / "p.json").read_text())
    assert saved["pid"] == 1 and root_before and "Target.closeTarget" not in browser.methods and "Browser.close" not in browser.methods
    assert (data.sessions / "p.json").stat().st_mode & 0o777 == 0o600
    world.supervisor.close()
    world.audit.close()
    browser.methods.clear()

    second = World(data)
    second.browsers = [browser]
    await second.connect()
    second.supervisor.up(browser)
    await reached(lambda: second.p.state == "up", "taken over")
    assert browser.methods.count("Target.detachFromTarget") >= 1 and second.p.status()["hold_until"]
    second.supervisor.down()
    await reached(lambda: second.p.state == "stopped", "stopped")
    assert not (data.sessions / "p.json").exists()
    lines = [json.loads(line) for path in data.audit.iterdir() for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["up", "connect", "hold", "disconnect", "taken over", "down"]
    await second.close()


async def test_a_newer_browser_replaces_the_old_link(world: World) -> None:
    await world.up()
    first = world.p.link
    second = world.fake()
    world.supervisor.up(second, pid=2)
    await reached(lambda: world.p.link is not first and world.p.link is not None, "replaced")
    assert first is not None and first.down and world.p.status()["pid"] == 2


async def test_idle_means_no_use_no_hold_and_no_call(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.up()
    link = world.p.link
    assert link is not None and not world.p.is_idle
    world.p._last_used = link.last_activity = link.last_activity - 31 * 60
    assert world.p.is_idle and world.p.idle_seconds() >= 31 * 60
    world.p.hold(1)
    assert not world.p.is_idle
    world.p.hold(0)
    assert world.p.is_idle
    with monkeypatch.context() as patch:
        patch.setattr(type(world.p.engines), "busy", True)
        assert not world.p.is_idle
    client = await link.open_client("s", lambda data: None, lambda reason: None)
    assert not world.p.is_idle
    world.p._last_used = link.last_activity = link.last_activity - 31 * 60
    client.feed(b'{"id":1,"method":"Browser.getVersion"}')
    assert not world.p.is_idle


async def test_focus_and_wipe(world: World) -> None:
    await world.up()
    focusing = asyncio.create_task(world.p.focus())
    await world.supervisor.next()
    assert world.data.raise_file.read_text() == "p"
    world.supervisor.send({"event": "raised", "project": "p", "ok": True, "message": ""})
    await focusing
    wiping = asyncio.create_task(world.p.wipe())
    assert await world.supervisor.next() == {"cmd": "wipe", "project": "p"}
    world.supervisor.down()
    world.supervisor.send({"event": "wiped", "project": "p", "error": "busy: /x"})
    with pytest.raises(TelebrowserError, match="busy: /x"):
        await wiping


@pytest.mark.parametrize(
    "packet",
    [b"nonsense", b"[]", b'{"event":7}', b'{"event":"up"}', b'{"event":"up","project":"../x"}', b'{"event":"down","project":"never"}', b'{"event":"new"}'],
)
async def test_odd_packets_do_no_harm_and_leak_no_descriptors(world: World, packet: bytes) -> None:
    browser = await world.up()
    before = len(os.listdir("/proc/self/fd"))
    world.supervisor.send(packet, browser)
    await world.up(pid=2)
    # Four ends of the second browser; the link's own two have replaced those of the first.
    await reached(lambda: len(os.listdir("/proc/self/fd")) == before + 4, "the descriptors are closed")

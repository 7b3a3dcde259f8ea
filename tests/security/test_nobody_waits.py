"""What one tab or one client does to itself holds up nobody else: frozen, crashed and blocked tabs, and clients that vanish."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import CdpError, Truth

PROJECT = "waits"
BUSY = "(()=>{for(const t=Date.now();Date.now()-t<700;);return 1})()"
TICKS = (11, 12)


def spent(pid: int) -> int:
    """Processor time of a process, in clock ticks."""
    fields = proc.read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int(fields[number]) for number in TICKS) if fields else 0


async def renderer(stack: Stack, truth: Truth, page: str) -> int:
    """The process of a page, found by the work that it does when told to."""
    rows = [row for row in proc.descendants([stack.browser_pid(PROJECT)]) if "--type=renderer" in row.cmdline]
    before = {row.pid: spent(row.pid) for row in rows}
    await truth.call("Runtime.evaluate", {"expression": BUSY}, page)
    return max(before, key=lambda pid: spent(pid) - before[pid])


async def opened(truth: Truth, url: str) -> tuple[str, str]:
    """A new tab and a session on it."""
    target = (await truth.call("Target.createTarget", {"url": url}))["targetId"]
    return target, await truth.attach(target)


@pytest.fixture(params=["person", "session"])
async def owner(request: pytest.FixtureRequest, stack: Stack, truths: Callable[..., Any]) -> AsyncIterator[Truth]:
    """Whose tab is in trouble."""
    yield await truths(stack.ws(PROJECT, None if request.param == "person" else "troubled"))


@pytest.mark.parametrize("trouble", ["frozen", "crashed", "dialog", "busy"])
async def test_a_tab_in_trouble_delays_no_other_sessions_connect_or_call(
    stack: Stack, pages: Pages, truths: Callable[..., Any], owner: Truth, trouble: str
) -> None:
    bystander: Truth = await truths(stack.ws(PROJECT, "bystander"))
    _, calm = await opened(bystander, f"{pages.base}/who?bystander")
    target, page = await opened(owner, f"{pages.other}/who?trouble-{trouble}")
    pid = await renderer(stack, owner, page)
    start = {row.pid: row for row in proc.descendants([stack.browser_pid(PROJECT)])}[pid].start
    try:
        if trouble == "frozen":
            os.kill(pid, signal.SIGSTOP)
        elif trouble == "crashed":
            os.kill(pid, signal.SIGKILL)
        elif trouble == "dialog":
            await owner.raw(json.dumps({"id": 900001, "method": "Runtime.evaluate", "params": {"expression": "alert(1)"}, "sessionId": page}))
        else:
            await owner.raw(json.dumps({"id": 900001, "method": "Runtime.evaluate", "params": {"expression": "for(;;);"}, "sessionId": page}))
        assert (await bystander.call("Runtime.evaluate", {"expression": "6*7"}, calm))["result"]["value"] == 42
        assert (await bystander.call("Page.captureScreenshot", {}, calm))["data"]
        newcomer: Truth = await truths(stack.ws(PROJECT, f"new-{trouble}"))
        _, session = await opened(newcomer, f"{pages.base}/who?newcomer")
        assert (await newcomer.call("Runtime.evaluate", {"expression": "6*7"}, session))["result"]["value"] == 42
        await newcomer.call("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})
        everybody: Truth = await truths(stack.ws(PROJECT))
        assert target in {info["targetId"] for info in await everybody.targets()} or trouble == "crashed"
        assert stack.status(PROJECT)["state"] == "up"
    finally:
        now = proc.process(pid)
        if now is not None and now.start == start:
            os.kill(pid, signal.SIGCONT)
            if trouble == "busy":
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(CdpError):
        await owner.call("Target.closeTarget", {"targetId": target})


POPUP = "void open('/who?popup')"


async def killed(stack: Stack, pages: Pages, chance: random.Random, number: int) -> None:
    """A client that attaches, waits for popups, opens some, and is cut off at any moment."""
    truth = await Truth.connect(stack.ws("kills", f"killed-{number % 3}"))
    url = f"{pages.base}/clock.html?{number}"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Target.setDiscoverTargets", {"discover": True, "filter": [{}]}),
        ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
        ("Target.attachToBrowserTarget", {}),
        ("Target.createTarget", {"url": url}),
    ]
    moment = chance.random() * 0.15

    async def work() -> None:
        with contextlib.suppress(CdpError, OSError):
            for method, params in calls:
                await truth.call(method, params)
            for row in list(truth.events):
                if row.get("method") == "Target.attachedToTarget" and row["params"]["targetInfo"]["type"] == "page":
                    await truth.call("Runtime.evaluate", {"expression": POPUP, "userGesture": True}, row["params"]["sessionId"])

    working = asyncio.ensure_future(work())
    await asyncio.wait({working}, timeout=moment)
    working.cancel()
    truth.socket.transport.abort()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await working
    await truth.closed.wait()


async def test_fifty_clients_cut_off_at_any_moment_leave_nothing_paused_and_nothing_attached(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    chance = random.Random(156)
    person: Truth = await truths(stack.ws("kills"))
    theirs, page = await opened(person, f"{pages.base}/who?person")

    def roots() -> set[str]:
        return set(json.loads((stack.data / "run" / "sessions" / "kills.json").read_text())["roots"])

    # The gateway opens a root of its own for the first client that wants popups to wait.
    waiting: Truth = await truths(stack.ws("kills", "waiting"))
    await waiting.call("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})
    await opened(waiting, "about:blank")
    before = roots()
    for number in range(50):
        await killed(stack, pages, chance, number)
    assert (await person.call("Runtime.evaluate", {"expression": "6*7"}, page))["result"]["value"] == 42
    for info in await person.targets():
        # A target that waits for a debugger answers nothing; one that has closed meanwhile is fine.
        with contextlib.suppress(CdpError):
            session = await person.attach(info["targetId"])
            answer = await person.call("Runtime.evaluate", {"expression": "document.readyState"}, session)
            assert answer["result"]["value"], info
            await person.detach(session)
    for _ in range(200):
        left = [row for row in stack.status("kills")["sessions"] if row["session"].startswith("killed")]
        if not left:
            break
        await asyncio.sleep(0.1)
    assert not left, "the sessions end after their grace time"
    infos = await person.until_targets(lambda found: not [info for info in found if "clock.html" in info["url"] or "popup" in info["url"]])
    assert not [info for info in infos if "clock.html" in info["url"] or "popup" in info["url"]]
    assert theirs in {info["targetId"] for info in infos}
    assert roots() == before, "no root of a client is left attached"

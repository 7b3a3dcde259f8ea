"""Cases of what happens around an action: popups, dialogs, downloads, loading, hangs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from ..stdio import Timed
from .cell import Cell, says, short
from .registry import case

PLAYWRIGHT_OUTPUT = ".playwright-mcp"


@case("popups")
async def popups(c: Cell) -> None:
    await c.nav()
    stays, visibility = True, None
    for name in ("blank", "open", "noopener", "form"):
        if name != "blank":
            await c.nav()  # a fresh load, so that one failure does not decide the next
        snapshot = await c.snap()
        before = len(await c.truth.targets("page"))
        answer = await c.click(c.ref(snapshot, name), name)
        await asyncio.sleep(0.4)
        more = len(await c.truth.targets("page")) - before
        c.part(f"{name}: opens", more == 1, core=name == "blank", false=not answer.error)
        c.part(f"{name}: the answer names the new tab", not answer.error and "/who" in answer.text)
        following = await c.snap()
        here = not following.error and "noopener" in following.text
        stays = stays and here
        if name == "blank":
            c.decide(answer)
            visibility = await c.ev("document.visibilityState")
        c.fact(f"{name} {answer.ms:.0f} ms +{more} tab{'' if here else ', the current one moved to it'}{' ' + short(answer, 100) if answer.error else ''}")
    listed = c.note("tabs", await c.adapter.tabs())
    c.part("all listed", listed is not None and listed.text.count("/who") >= len(await c.truth.targets("page")) - 1)
    c.part("current tab stays", stays)
    c.fact(f"opener is {visibility}")


@case("popup-then-dialog")
async def popup_then_dialog(c: Cell) -> None:
    await c.nav()
    answer = await c.click(c.ref(await c.snap(), "go"), "go")
    c.decide(answer)
    await asyncio.sleep(0.6)
    calls = [call for call in (answer, c.note("tabs", await c.adapter.tabs()), await c.snap()) if call]
    c.fact("calls " + "/".join(f"{call.ms:.0f}" for call in calls) + " ms")
    c.part("click, tabs and snapshot answer in 2 s", all(call.ms <= 2000 and not call.hang for call in calls), core=True)
    handled = c.note("accept the dialog", await c.adapter.dialog(True))
    if handled:
        calls.append(handled)
    c.part("dialog and text hello named", any("hello" in call.text for call in calls))
    c.part("dialog tool answers in 2 s", handled is not None and handled.ms <= 2000)
    after = await c.snap()
    title = await c.ev("document.title")
    c.fact(f"page after: {title}")
    c.part("snapshot works after", not after.error and after.ms <= 2000 and not after.hang and title == "p", core=True)
    slowest = max(calls, key=lambda call: call.ms)
    if slowest.ms > 2000:
        c.decide(slowest)


@case("dialog-after-click")
async def dialog_after_click(c: Cell) -> None:
    await c.nav()
    answer = await c.click(c.ref(await c.snap(), "ask"), "ask")
    c.decide(answer)
    await asyncio.sleep(0.3)
    following = await c.snap()
    handled = c.note("dismiss the dialog", await c.adapter.dialog(False))
    await asyncio.sleep(0.2)
    title = await c.title()
    c.fact(f"title={title}; next answer: {short(following, 110)}")
    c.part("click answers", not answer.hang, core=True)
    c.part("sure? in this or the next answer", "sure?" in answer.text or "sure?" in following.text)
    c.part("title false after dismiss", title == "false", core=True, false=handled is not None and not handled.error and title == "true")


@case("alert-on-load")
async def alert_on_load(c: Cell) -> None:
    answer = await c.nav()
    c.decide(answer)
    c.part("navigate answers", not answer.hang, core=True)
    c.part("names the dialog", "on load" in answer.text)
    c.note("accept the dialog", await c.adapter.dialog(True))
    await asyncio.sleep(0.2)
    snapshot = await c.snap()
    body = str(await c.ev("document.body&&document.body.innerText"))
    c.fact(f"body={body.strip()[:40]!r}")
    c.part("page works after", "after" in body and not snapshot.error, core=True)


@case("beforeunload")
async def beforeunload(c: Cell) -> None:
    await c.nav()
    ref = c.ref(await c.snap(), "Draft")
    await c.click(ref, "Draft")
    await c.type(ref, "x", "Draft")
    c.fact(f"dirty={await c.ev('dirty')} active={await c.ev('navigator.userActivation.hasBeenActive')}")
    answer = await c.nav("who")
    c.decide(answer)
    await asyncio.sleep(0.3)
    at = str(await c.ev("location.href"))
    arrived = at.endswith("/who")
    c.fact("after navigate: " + at.split("/")[-1])
    c.part("arrives", arrived, false=not answer.error and not says(answer, r"before ?unload"))
    c.part("says that the page asked to stay", says(answer, r"before ?unload|asked to stay|leave (this )?(page|site)"))
    if not arrived:
        c.note("accept the dialog", await c.adapter.dialog(True))
        await asyncio.sleep(0.5)
    c.part("arrives in the end", str(await c.ev("location.href")).endswith("/who"), core=True)


@case("load-never-ends")
async def load_never_ends(c: Cell) -> None:
    answer = await c.nav()
    c.decide(answer)
    c.part("navigate answers when interactive (3 s)", not answer.hang and answer.ms <= 3000 and not answer.error)
    c.part("says that loading goes on", says(answer, r"still loading|loading (goes|continues)|not finished|interactive|timed? ?out|timeout"))
    snapshot = await c.snap()
    clicked = await c.click(c.ref(snapshot, "Go"), "Go")
    title = await c.title()
    c.fact(f"snapshot {snapshot.ms:.0f} ms, click {clicked.ms:.0f} ms, title={title}")
    c.part("snapshot and click work", title == "hit", core=True, false=not clicked.error)
    c.part("snapshot and click in 2 s each", snapshot.ms <= 2000 and clicked.ms <= 2000)


@case("busy-loop")
async def busy_loop(c: Cell) -> None:
    await c.nav()
    first = (await c.page())["targetId"]
    clicked = await c.click(c.ref(await c.snap(), "Hang"), "Hang")
    c.part("click ends", not clicked.hang)
    await asyncio.sleep(0.2)
    snapshot = await c.snap()
    c.decide(snapshot)
    c.part("next call ends by itself", not snapshot.hang)
    c.part("it says timeout", snapshot.error and not snapshot.hang and says(snapshot, r"time|unrespons|hung|busy|respond"))
    away = await c.nav("who")
    await asyncio.sleep(0.5)
    alive = await c.eval_in(first, "document.title")
    c.fact(f"click {clicked.ms:.0f} ms, snapshot {snapshot.ms:.0f} ms, navigate away {away.ms:.0f} ms ({short(away, 70)}) -> title {alive}")
    c.part("navigating away recovers", alive == "who", core=True, false=not away.error and alive != "who")
    if alive == "who":
        await c.nav()
        await c.click(c.ref(await c.snap(), "Hang"), "Hang")
        await asyncio.sleep(0.2)
    opened = c.note("new tab", await c.adapter.new_tab(c.base.replace("127.0.0.1", "localhost") + "/clock.html"))
    other = await c.snap()
    there = any("clock" in page["url"] for page in await c.truth.targets("page"))
    c.fact(f"new tab {opened.ms if opened else 0:.0f} ms, its snapshot {other.ms:.0f} ms")
    c.part("another tab answers normally", _normal(opened, 3000) and _normal(other, 2000) and "Go" in other.text and there)


def _normal(answer: Timed | None, limit: float) -> bool:
    return answer is not None and not answer.error and answer.ms <= limit


@case("download")
async def download(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    answer = await c.click(c.ref(snapshot, "get"), "get")
    c.decide(answer)
    await asyncio.sleep(1)
    at = (await c.page())["url"]
    c.fact(f"page {at.split('/')[-1]}; on disk: {_downloaded(c) or 'not found'}")
    c.part("names file.bin", "file.bin" in answer.text, core=True)
    c.part("size", says(answer, r"\b4096\b|\b4(\.0)? ?k"))
    c.part("where it lies", says(answer, r"(?:(?:to|at|in|path\W+)\W*)(?!https?:)\S*/(\S*file\.bin|[0-9a-f-]{36})"))
    c.part("page stays", at.endswith("download.html"))
    opened = await c.click(c.ref(await c.snap(), "pdf"), "pdf")
    await asyncio.sleep(0.5)
    c.fact(f"pdf {opened.ms:.0f} ms: {short(opened, 110)}")
    c.part("pdf: says what happened", says(opened, r"doc\.pdf|application/pdf|pdf (viewer|document|opened)"))


def _downloaded(c: Cell) -> list[str]:
    roots = [*c.adapter.place.files, c.adapter.place.home / PLAYWRIGHT_OUTPUT]
    files = (path for root in roots if root.is_dir() for path in root.rglob("*") if path.is_file())
    return [str(path) for path in files if _is_download(path)]


def _is_download(path: Path) -> bool:
    return path.stat().st_size == 4096 and (path.name.startswith("file") or re.fullmatch(r"[0-9a-f-]{36}", path.name) is not None)

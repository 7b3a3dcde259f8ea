"""Cases of finding and clicking: covers, shadow roots, frames, stale refs, moving and hidden targets."""

from __future__ import annotations

import asyncio
from typing import Any

from ..stdio import Timed, failed
from .cell import Cell, says, short
from .registry import case


async def click_by_name(c: Cell, name: str) -> tuple[str | None, Timed, str]:
    """Open the case, snapshot it and click the element of that name: its ref, the answer and the title after it."""
    await c.nav()
    ref = c.ref(await c.snap(), name)
    answer = await c.click(ref, name)
    c.decide(answer)
    title = await c.title()
    c.fact(f"title={title}")
    return ref, answer, title


def hit(c: Cell, answer: Timed, title: str) -> None:
    c.part("title hit", title == "hit", core=True, false=not answer.error)


@case("covered")
async def covered(c: Cell) -> None:
    ref, answer, title = await click_by_name(c, "Pay")
    c.part("refused, title start", answer.error and title == "start" and not answer.hang, core=True, false=not answer.error)
    c.part("within 1 s", answer.error and answer.ms <= 1000)
    c.part("names div#cover", answer.error and says(answer, r'id=\\?"?cover|#cover'))
    if not c.adapter.can_force:
        c.has(None, "force click")
        return
    forced = await c.click(ref, "Pay by force", force=True)
    c.part("force: hit, forced: true", not forced.error and await c.title() == "hit" and says(forced, r'forced"?\s*[:=]\s*true'))


@case("partly-covered")
async def partly_covered(c: Cell) -> None:
    _, answer, title = await click_by_name(c, "Pay")
    hit(c, answer, title)


@case("closed-shadow")
async def closed_shadow(c: Cell) -> None:
    ref, answer, title = await click_by_name(c, "Inner")
    c.part("ref in the snapshot", ref, core=True)
    hit(c, answer, title)


@case("frame-offset")
async def frame_offset(c: Cell) -> None:
    ref, answer, title = await click_by_name(c, "Inside")
    c.part("ref in the snapshot", ref)
    hit(c, answer, title)


@case("clickable-div")
async def clickable_div(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    first: Timed | None = None
    for number, name in enumerate(("One", "Two", "Three"), 1):
        ref = c.ref(snapshot, name)
        c.part(f"{name} has a ref", ref)
        if not ref:
            continue
        answer = await c.click(ref, name)
        title = await c.title()
        first = first or answer
        c.fact(f"{name} -> title {title}")
        c.part(f"{name} clicked", title == str(number), false=not answer.error)
    c.part("Four has no ref", not c.ref(snapshot, "Four"))
    c.decide(first or failed("no ref"))


@case("rerender")
async def rerender(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    old = c.ref(snapshot, "Beta")
    await c.click(c.ref(snapshot, "Rerender"), "Rerender")
    answer = await c.click(old, "the old ref of Beta")
    c.decide(answer)
    title = await c.title()
    c.fact(f"title={title}")
    c.part("no wrong element", title in ("start", "hit:Beta"), core=True, false=not answer.error)
    c.part("refused", answer.error and not answer.hang and title == "start", false=not answer.error and title != "hit:Beta")
    c.part("within 1 s", answer.ms <= 1000)
    c.part("names the new ref or says to snapshot again", answer.error and says(answer, r"snapshot|new ref|stale|no longer"))


@case("insert-before")
async def insert_before(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    before = c.ref(snapshot, "First"), c.ref(snapshot, "Second")
    await c.click(c.ref(snapshot, "Insert"), "Insert")
    answer = await c.click(before[1], "the old ref of Second")
    c.decide(answer)
    title = await c.title()
    c.part("title Second", title == "Second", core=True, false=not answer.error)
    snapshot = await c.snap()
    after = c.ref(snapshot, "First", "button"), c.ref(snapshot, "Second", "button")
    c.fact(f"title={title}; refs {before} -> {after}")
    c.part("same refs in a new snapshot", before == after)


@case("cross-origin-frames")
async def cross_origin_frames(c: Cell) -> None:
    await c.nav()
    await asyncio.sleep(0.8)
    snapshot = await c.snap()
    refs = [c.ref(snapshot, f"Button #{number}") for number in (1, 2)]
    for number, ref in enumerate(refs, 1):
        c.part(f"Button #{number} in the snapshot", ref)
    waited = c.note("wait_for Button #2", await c.adapter.wait_for("Button #2"))
    for number, ref in enumerate(refs, 1):
        answer = await c.click(ref, f"Button #{number}")
        c.decide(answer)
        text = await _frame_button(c, f"#{number}")
        c.fact(f"#{number}={text!r}")
        c.part(f"#{number} clicked", text == "clicked", false=not answer.error)
    if waited is not None and c.has(waited, "wait_for"):
        c.part("wait_for finds text in the inner frame", not waited.error)


async def _frame_button(c: Cell, fragment: str) -> Any:
    for frame in await c.truth.targets("iframe"):
        if frame["url"].endswith(fragment):
            return await c.eval_in(frame["targetId"], "document.querySelector('button').textContent")
    return "<no frame>"


@case("sticky-header")
async def sticky_header(c: Cell) -> None:
    await c.nav()
    ref = c.ref(await c.snap(), "Last")
    await c.ev("window.__h=[];document.querySelector('header').addEventListener('click',()=>__h.push(1))")
    answer = await c.click(ref, "Last")
    c.decide(answer)
    title, clicks = await c.title(), await c.ev("__h.length")
    c.fact(f"title={title}, clicks on the header={clicks}")
    hit(c, answer, title)
    c.part("never the header", clicks == 0, core=True, false=not answer.error)


RESTART_SLIDE = """document.title='start'; b.style.transition='none'; b.classList.remove('in'); b.offsetWidth; b.style.transition='';
window.__x=null; b.addEventListener('click',()=>__x=b.getBoundingClientRect().x); b.offsetWidth; b.classList.add('in')"""


@case("moving-target")
async def moving_target(c: Cell) -> None:
    await c.nav()
    ref = c.ref(await c.snap(), "Slide")
    answer = await c.click(ref, "Slide, as the page is")
    title = await c.title()
    c.part("as the page is: hit", title == "hit", false=not answer.error)
    await c.ev(RESTART_SLIDE)
    await asyncio.sleep(0.04)
    answer = await c.click(ref, "Slide, which has just begun to slide")
    c.decide(answer)
    await asyncio.sleep(0.5)
    at = await c.ev("__x&&Math.round(__x)")
    again = await c.title()
    c.fact(f"as it is: title={title}; sliding: title={again}, clicked at x={at}")
    c.part("click while it slides: hit", again == "hit", core=True, false=not answer.error)
    c.part("after it stands still", isinstance(at, (int, float)) and at >= 499)


@case("clock")
async def clock(c: Cell) -> None:
    _, answer, title = await click_by_name(c, "Go")
    c.part("title 1", title == "1", core=True, false=not answer.error)
    c.part("under 1 s", answer.ms < 1000, core=True)


@case("covered-by-cookie-banner")
async def cookie_banner(c: Cell) -> None:
    await c.nav()
    await asyncio.sleep(0.7)
    snapshot = await c.snap()
    accept, buy = c.ref(snapshot, "Accept all"), c.ref(snapshot, "Buy")
    c.part("the banner's button in the snapshot", accept, core=True)
    answer = await c.click(accept, "Accept all")
    await asyncio.sleep(0.1)
    gone = await c.ev("!document.getElementById('x')")
    c.part("banner gone", gone is True, false=not answer.error)
    bought = await c.click(c.ref(await c.snap(), "Buy") or buy, "Buy")
    c.decide(bought)
    title = await c.title()
    c.fact(f"banner gone={gone}, title={title}")
    hit(c, bought, title)


@case("thousand-rows")
async def thousand_rows(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    c.decide(snapshot)
    size, limit = len(snapshot.text.encode()), 20 * 1024
    c.fact(f"snapshot {size / 1024:.1f} KB in {snapshot.ms:.0f} ms")
    c.part("snapshot at most 20 KB", size <= limit)
    trailer = failed(snapshot.text[-600:])
    c.part("trailer counts the rest", size <= limit and says(trailer, r"\d+ (more|further|left|omitted|elements|nodes|rows|lines|refs)|truncated|of \d+"))
    found = c.note("find or scope row 900", await c.adapter.find("Edit 900", "tr:nth-child(901)"))
    ref = None
    if c.has(found, "scope, depth or find") and found:
        ref = c.ref(found, "Edit 900")
        c.fact(f"find {len(found.text) / 1024:.1f} KB in {found.ms:.0f} ms")
        c.part("scope, depth or find reaches row 900", ref and len(found.text) < limit)
    answer = await c.click(ref or c.ref(snapshot, "Edit 900"), "Edit 900")
    title = await c.title()
    c.fact(f"click {answer.ms:.0f} ms title={title}")
    c.part("title 900", title == "900", core=True, false=not answer.error)


@case("hidden-file-input")
async def hidden_file_input(c: Cell) -> None:
    one, two = c.adapter.place.home / "up-one.txt", c.adapter.place.home / "up-two.txt"
    one.write_text("one")
    two.write_text("two")
    await c.nav()
    snapshot = await c.snap()
    label = c.ref(snapshot, "Attach") or c.adapter.selector("label")
    for what, ref, file in (("the label", label, one), ("Choose", c.ref(await c.snap(), "Choose"), two)):
        answer = c.note(f"upload by {what}", await c.adapter.upload(ref, [str(file)]) if ref else failed(f"(no ref for {what})"))
        if c.has(answer, f"upload by {what}") and answer:
            shown = str(await c.ev("o.textContent"))
            c.part(f"by {what}", file.stem in shown, false=not answer.error)
            c.decide(answer)
            c.fact(f"{what}: #o={shown!r} ({answer.ms:.0f} ms, {short(answer, 90)})")

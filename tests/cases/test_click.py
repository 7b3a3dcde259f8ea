"""Cases about clicking: what is hit, what is refused, and what the answer says."""

from __future__ import annotations

import pytest

from tests.support.agent import Agent

SOON = 5.0
"""Seconds within which an answer must come that the case wants at once; the tools' own default deadline is 10 s."""


async def test_covered(agent: Agent) -> None:
    await agent.open("covered")
    ref = await agent.ref("Pay")
    refused = await agent.client.call("browser_click", SOON, ref=ref)
    assert refused.code == "ELEMENT_NOT_CLICKABLE", refused
    assert refused.says(r"div#cover"), refused
    assert await agent.eval("document.title") == "start"
    forced = await agent.client.ok("browser_click", ref=ref, force=True)
    assert forced.data["forced"] is True, forced
    assert await agent.title("hit") == "hit"


async def test_covered_by_selector(agent: Agent) -> None:
    await agent.open("covered")
    refused = await agent.client.call("browser_click", SOON, selector="#b")
    assert refused.code == "ELEMENT_NOT_CLICKABLE", refused
    assert await agent.eval("document.title") == "start"


async def test_partly_covered(agent: Agent) -> None:
    await agent.open("partly-covered")
    answer = await agent.client.ok("browser_click", ref=await agent.ref("Pay"))
    assert await agent.title("hit") == "hit", answer
    assert answer.data["clicked"] is True
    assert not answer.data.get("forced"), answer
    x, y = answer.data["x"], answer.data["y"]
    inside = await agent.eval(f"(r => {x} >= r.left && {x} <= r.right && {y} >= r.top && {y} <= r.bottom)(b.getBoundingClientRect())")
    assert inside, answer


async def test_closed_shadow(agent: Agent) -> None:
    await agent.open("closed-shadow")
    await agent.client.ok("browser_click", ref=await agent.ref("Inner"))
    assert await agent.title("hit") == "hit"


async def test_clickable_div(agent: Agent) -> None:
    await agent.open("clickable-div")
    snapshot = await agent.snapshot()
    refs = [snapshot.ref(name) for name in ("One", "Two", "Three")]
    assert all(refs), snapshot.text
    assert snapshot.ref("Four") is None, snapshot.text
    for number, ref in enumerate(refs, 1):
        assert ref
        await agent.client.ok("browser_click", ref=ref)
        assert await agent.title(str(number)) == str(number)


async def test_clock_does_not_hold_up_a_click(agent: Agent) -> None:
    await agent.open("clock")
    await agent.client.ok("browser_click", SOON, ref=await agent.ref("Go"))
    assert await agent.title("1") == "1"


async def test_frame_offset(agent: Agent) -> None:
    await agent.open("frame-offset")
    await agent.client.ok("browser_click", ref=await agent.ref("Inside"))
    assert await agent.title("hit") == "hit"


async def test_cross_origin_frames(agent: Agent) -> None:
    await agent.client.ok("browser_navigate", url=agent.url("cross-origin-frames"))
    await agent.client.ok("browser_wait_for", text="Button #2")
    snapshot = await agent.snapshot()
    for name in ("#1", "#2"):
        ref = snapshot.ref(f"Button {name}")
        assert ref, snapshot.text
        await agent.client.ok("browser_click", ref=ref)
    main = await agent.target()
    frames = [info for info in await agent.truth.targets("iframe") if "cross-origin-frames" in info["url"] and await _below(agent, info, main)]
    texts = {info["url"][-2:]: await agent.truth.wait(info["targetId"], "document.querySelector('button').textContent", "clicked", 2) for info in frames}
    inner = await agent.eval("frames[0][0] ? 'same process' : ''") if "#2" not in texts else ""
    assert texts.get("#1") == "clicked", (texts, inner)
    assert texts.get("#2") == "clicked", (texts, inner)
    assert await agent.eval("document.querySelector('button').textContent") == "Button #0"


async def _below(agent: Agent, info: dict[str, str], main: str) -> bool:
    """Whether a frame target hangs below a page target."""
    rows = {row["targetId"]: row.get("parentId") or row.get("parentFrameId") for row in await agent.truth.targets(None)}
    at: str | None = info["targetId"]
    for _ in range(10):
        if at == main:
            return True
        at = rows.get(at or "")
    return False


async def test_sticky_header(agent: Agent) -> None:
    await agent.open("sticky-header")
    ref = await agent.ref("Last")
    await agent.eval("window.heads=0;document.querySelector('header').addEventListener('click',()=>heads++)")
    await agent.client.ok("browser_click", ref=ref)
    assert await agent.title("hit") == "hit"
    assert await agent.eval("heads") == 0


@pytest.mark.parametrize("late", [0, 100, 300])
async def test_moving_target(agent: Agent, late: int) -> None:
    await agent.open("moving-target")
    ref = await agent.ref("Slide")
    restart = "document.title='start';b.style.transition='none';b.classList.remove('in');b.offsetWidth;b.style.transition='';b.classList.add('in')"
    await agent.eval(f"{restart};new Promise(done=>setTimeout(done,{late}))")
    answer = await agent.client.ok("browser_click", ref=ref)
    assert await agent.title("hit") == "hit", answer


async def test_covered_by_cookie_banner(agent: Agent) -> None:
    await agent.open("covered-by-cookie-banner")
    await agent.client.ok("browser_wait_for", text="Accept all")
    snapshot = await agent.snapshot()
    accept, buy = snapshot.ref("Accept all"), snapshot.ref("Buy")
    assert accept and buy, snapshot.text
    refused = await agent.client.call("browser_click", SOON, ref=buy)
    assert refused.code == "ELEMENT_NOT_CLICKABLE", refused
    await agent.client.ok("browser_click", ref=accept)
    assert await agent.wait("!document.getElementById('x')") is True
    await agent.client.ok("browser_click", ref=buy)
    assert await agent.title("hit") == "hit"


async def test_a_click_that_makes_a_file_chooser_says_so(agent: Agent) -> None:
    await agent.open("hidden-file-input")
    answer = await agent.client.ok("browser_click", ref=await agent.ref("Choose"))
    assert answer.says(r"file.?chooser"), answer
    assert await agent.eval("o.textContent") == ""
    await agent.snapshot()


async def test_a_click_that_navigates_says_where(agent: Agent) -> None:
    page = agent.pages.add("leads.html", "<title>from</title><a href='/who?leads-on'>onward</a>")
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    await agent.target()
    answer = await agent.client.ok("browser_click", ref=await agent.ref("onward"))
    assert "/who?leads-on" in answer.text, answer
    assert await agent.title("who") == "who"


REFUSALS = {"#nothing": "ELEMENT_NOT_FOUND", "#none": "ELEMENT_HIDDEN", "#off": "ELEMENT_DISABLED", "p:::[": "INVALID_ARGS"}
REFUSING = """<title>start</title><button id=none style='display:none'>None</button><button id=off disabled onclick="document.title='hit'">Off</button>"""


async def test_refusals(agent: Agent) -> None:
    page = agent.pages.add("refusals.html", REFUSING)
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    for selector, code in REFUSALS.items():
        answer = await agent.client.call("browser_click", selector=selector, timeout_ms=1500)
        assert answer.code == code, (selector, answer)
    assert await agent.eval("document.title") == "start"

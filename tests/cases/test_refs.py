"""Cases about snapshots and refs: what is in them, that a ref means one node for ever, and the size of the answer."""

from __future__ import annotations

import json
import re

from tests.support.agent import Agent

SOON = 5.0


async def test_rerender(agent: Agent) -> None:
    await agent.open("rerender")
    snapshot = await agent.snapshot()
    beta, again = snapshot.ref("Beta"), snapshot.ref("Rerender")
    assert beta and again
    await agent.client.ok("browser_click", ref=again)
    refused = await agent.client.call("browser_click", SOON, ref=beta)
    assert refused.code == "REF_STALE", refused
    assert await agent.eval("document.title") == "start"
    new = (await agent.snapshot()).ref("Beta")
    assert new and new != beta
    assert new in refused.text or refused.says("snapshot"), refused
    await agent.client.ok("browser_click", ref=new)
    assert await agent.title("hit:Beta") == "hit:Beta"


async def test_insert_before(agent: Agent) -> None:
    await agent.open("insert-before")
    before = await agent.snapshot()
    insert, first, second = (before.ref(name) for name in ("Insert", "First", "Second"))
    assert insert and first and second
    await agent.client.ok("browser_click", ref=insert)
    await agent.client.ok("browser_click", ref=second)
    assert await agent.title("Second") == "Second"
    after = await agent.snapshot()
    if not after.refs():
        after = await agent.snapshot(delta=False)
    assert (after.ref("First", "button"), after.ref("Second", "button")) == (first, second), after.text
    assert after.ref("Zero", "button") not in (None, insert, first, second)


async def test_a_ref_dies_with_its_document(agent: Agent) -> None:
    await agent.open("insert-before")
    ref = await agent.ref("First")
    await agent.target()
    await agent.client.ok("browser_navigate", url=agent.url("clock"))
    refused = await agent.client.call("browser_click", SOON, ref=ref)
    assert refused.code == "REF_STALE", refused
    assert ref not in (await agent.snapshot()).refs(), "a ref was given twice"


async def test_an_unknown_ref(agent: Agent) -> None:
    await agent.open("clock")
    refused = await agent.client.call("browser_click", SOON, ref="e99999")
    assert refused.code in ("REF_STALE", "ELEMENT_NOT_FOUND"), refused


async def test_refs_have_a_form_that_clients_can_tell_from_selectors(agent: Agent) -> None:
    await agent.open("cross-origin-frames")
    await agent.client.ok("browser_wait_for", text="Button #2")
    refs = (await agent.snapshot()).refs()
    assert refs
    assert not [ref for ref in refs if not re.fullmatch(r"[a-z]{0,2}\d\w*", ref)], refs


async def test_thousand_rows(agent: Agent) -> None:
    await agent.open("thousand-rows")
    snapshot = await agent.snapshot()
    assert len(snapshot.text.encode()) <= 20 * 1024
    assert re.search(r"\d+ (more|further|left|omitted|elements|nodes|rows|lines|refs)|truncated|of \d+", snapshot.text[-600:], re.I), snapshot.text[-600:]
    scoped = await agent.snapshot(scope="tr:nth-child(901)")
    ref = scoped.ref("Edit 900")
    assert ref and len(scoped.text) < 20 * 1024, scoped.text[:1000]
    await agent.client.ok("browser_click", ref=ref)
    assert await agent.title("900") == "900"


async def test_elements_have_selectors_that_work(agent: Agent) -> None:
    await agent.open("thousand-rows")
    answer = await agent.client.ok("browser_snapshot", format="elements", max_items=7)
    listed = answer.data
    assert listed["count"] == len(listed["elements"]) == 7, answer
    assert listed["truncated"] is True
    for element in listed["elements"]:
        found = await agent.eval(f"document.querySelectorAll({json.dumps(element['selector'])}).length")
        assert found == 1, element
    button = next(element for element in listed["elements"] if element["role"] == "button")
    await agent.client.ok("browser_click", selector=button["selector"])
    assert await agent.title("0") == "0"


async def test_states_are_in_the_snapshot(agent: Agent) -> None:
    page = agent.pages.add(
        "states.html",
        "<title>s</title><input type=checkbox checked aria-label=Box><button disabled>Off</button><button aria-expanded=true>Menu</button>"
        "<input required aria-label=Must><select aria-label=Pick><option>a<option selected>b</select><a href=/who?linked>Link</a>",
    )
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    lines = (await agent.snapshot()).text.split("\n")
    for name, state in (("Box", "checked"), ("Off", "disabled"), ("Menu", "expanded"), ("Must", "required"), ("Link", "/who?linked")):
        assert [line for line in lines if f'"{name}"' in line and state in line], (name, state, lines)

"""Cases about navigation, waiting, reading and scrolling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.agent import Agent
from tests.support.stack import free_port

SOON = 6.0


async def test_load_never_ends(agent: Agent) -> None:
    answer = await agent.client.ok("browser_navigate", SOON, url=agent.url("load-never-ends"))
    assert answer.says(r"still loading|loading (goes|continues)|not finished|interactive"), answer
    snapshot = await agent.client.ok("browser_snapshot", SOON)
    ref = snapshot.ref("Go")
    assert ref, snapshot
    await agent.client.ok("browser_click", SOON, ref=ref)
    assert await agent.title("hit") == "hit"


async def test_hash_route(agent: Agent, picture: Callable[..., Any]) -> None:
    await agent.client.ok("browser_navigate", url=agent.url("hash-route"))
    answer = await agent.client.ok("browser_navigate", SOON, url=agent.url("hash-route", "two"))
    shot = await agent.client.ok("browser_screenshot", SOON)
    assert answer.data["url"].endswith("#two")
    assert await agent.eval("o.textContent") == "two"
    assert (await picture(shot.images[0])).colours > 1
    assert "two" in (await agent.client.ok("browser_get_text")).text


async def test_answer_names_the_real_url_title_and_status(agent: Agent) -> None:
    answer = await agent.client.ok("browser_navigate", url=f"{agent.pages.base}/to?url=/clock.html?{agent.mark}")
    assert answer.data["url"] == f"{agent.pages.base}/clock.html?{agent.mark}"
    assert answer.data["status"] == 200
    missing = await agent.client.ok("browser_navigate", url=agent.url("nowhere.html"))
    assert (missing.data["status"], missing.data["title"]) == (404, "404"), missing


REFUSED = [
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "chrome://version",
    "view-source:http://127.0.0.1/",
    "nonsense",
    "",
]


async def test_refused_addresses(agent: Agent) -> None:
    await agent.open("clock")
    target = await agent.target()
    for url in REFUSED:
        answer = await agent.client.call("browser_navigate", url=url)
        assert answer.code in ("INVALID_URL", "INVALID_ARGS"), (url, answer)
        new = await agent.client.call("browser_tabs", action="new", url=url or "file:///")
        assert new.code in ("INVALID_URL", "INVALID_ARGS"), (url, new)
    assert "clock" in str(await agent.truth.eval(target, "location.href"))
    assert len((await agent.client.ok("browser_tabs", action="list")).data["tabs"]) == 1


async def test_a_page_that_does_not_answer(agent: Agent) -> None:
    answer = await agent.client.call("browser_navigate", 30, url=f"{agent.pages.base}/slow?ms=60000&{agent.mark}", timeout_ms=1500)
    assert answer.code == "TIMEOUT", answer
    assert not (await agent.open("clock")).error


async def test_a_server_that_refuses(agent: Agent) -> None:
    answer = await agent.client.call("browser_navigate", 30, url=f"http://127.0.0.1:{free_port()}/")
    assert answer.error and answer.code and "refused" in answer.text.lower(), answer


async def test_wait_for(agent: Agent) -> None:
    page = agent.pages.add("late.html", "<title>l</title><p id=p></p><script>setTimeout(()=>p.innerHTML='<b id=late>it  is\\nthere</b>',400)</script>")
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    found = await agent.client.ok("browser_wait_for", selector="#late")
    assert found.data["found"] is True and found.data["elapsed_ms"] >= 0
    await agent.client.ok("browser_wait_for", text="it is there")
    assert (await agent.client.call("browser_wait_for", text="never comes", timeout_ms=500)).code == "TIMEOUT"
    assert (await agent.client.call("browser_wait_for")).code == "INVALID_ARGS"


async def test_get_text(agent: Agent) -> None:
    page = agent.pages.add(
        "read.html", "<title>r</title><h1>Head</h1><input id=i value=typed><p id=p>para</p><script>1</script><p style='display:none'>unseen</p>"
    )
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    whole = await agent.client.ok("browser_get_text")
    assert "Head" in whole.data["text"] and "para" in whole.data["text"] and "unseen" not in whole.data["text"], whole
    assert whole.data["truncated"] is False and whole.data["length"] == len(whole.data["text"])
    assert (await agent.client.ok("browser_get_text", selector="#i")).data["text"] == "typed"
    assert (await agent.client.ok("browser_get_text", selector="#p")).data["text"] == "para"
    assert (await agent.client.call("browser_get_text", selector="#none", timeout_ms=500)).code == "ELEMENT_NOT_FOUND"


async def test_console(agent: Agent) -> None:
    page = agent.pages.add(
        "console.html", "<title>c</title><script>console.log('plain',1);console.warn('careful');console.error('bad');throw new Error('thrown')</script>"
    )
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    everything = (await agent.client.ok("browser_get_console")).data
    assert everything["count"] >= 4 and everything["droppedCount"] == 0, everything
    text = str(everything["messages"])
    assert all(word in text for word in ("plain", "careful", "bad", "thrown")), text
    errors = str((await agent.client.ok("browser_get_console", level="error")).data["messages"])
    assert "bad" in errors and "thrown" in errors and "careful" not in errors
    assert (await agent.client.ok("browser_get_console", clear_after=True)).data["cleared"] is True
    assert (await agent.client.ok("browser_get_console")).data["count"] == 0
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}&again")
    await agent.open("clock")
    assert "plain" not in (await agent.client.ok("browser_get_console")).text


async def test_scroll(agent: Agent) -> None:
    await agent.open("very-tall")
    height = await agent.eval("innerHeight")
    down = await agent.client.ok("browser_scroll", direction="down")
    assert await agent.eval("scrollY") == pytest.approx(height * 0.8, abs=2)
    assert down.data["scrollY"] == await agent.eval("scrollY")
    await agent.client.ok("browser_scroll", direction="down", pixels=100)
    assert await agent.eval("scrollY") == pytest.approx(height * 0.8 + 100, abs=2)
    await agent.client.ok("browser_scroll", direction="bottom")
    assert await agent.eval("Math.round(scrollY+innerHeight)") >= 39990
    await agent.client.ok("browser_scroll", direction="top")
    assert await agent.eval("scrollY") == 0
    await agent.client.ok("browser_scroll", x=0, y=1234)
    assert await agent.eval("scrollY") == 1234
    await agent.client.ok("browser_scroll", selector="div:last-of-type")
    assert await agent.eval("(r=>r.top<innerHeight&&r.bottom>0)(document.querySelector('div:last-of-type').getBoundingClientRect())") is True


async def test_scroll_refuses_unclear_modes(agent: Agent) -> None:
    await agent.open("very-tall")
    unclear: list[dict[str, Any]] = [{}, {"x": 1}, {"direction": "down", "selector": "div"}, {"direction": "sideways"}, {"x": 1, "y": 2, "selector": "div"}]
    for arguments in unclear:
        answer = await agent.client.call("browser_scroll", **arguments)
        assert answer.code == "INVALID_ARGS", (arguments, answer)


BAD_ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("browser_navigate", {}),
    ("browser_navigate", {"url": 7}),
    ("browser_navigate", {"url": "about:blank", "timeout_ms": "soon"}),
    ("browser_navigate", {"url": "about:blank", "timeout_ms": -1}),
    ("browser_click", {}),
    ("browser_click", {"ref": "e1", "selector": "a"}),
    ("browser_click", {"selector": "a", "surprise": 1}),
    ("browser_type", {"selector": "a"}),
    ("browser_screenshot", {"format": "gif"}),
    ("browser_screenshot", {"quality": 101}),
    ("browser_screenshot", {"delay_ms": -1}),
    ("browser_get_console", {"level": "loud"}),
    ("browser_tabs", {"action": "steal"}),
    ("browser_snapshot", {"max_items": 100000}),
]


async def test_bad_arguments_are_named(agent: Agent) -> None:
    for tool, arguments in BAD_ARGUMENTS:
        answer = await agent.client.call(tool, **arguments)
        assert answer.code == "INVALID_ARGS", (tool, arguments, answer)


async def test_redirect_into_a_private_range(agent: Agent) -> None:
    """Blocked where private ranges are: standalone by default. Through the gateway they are allowed by default."""
    if agent.mode == "standalone":
        answer = await agent.client.call("browser_navigate", 20, url=f"{agent.pages.base}/to?url=http://10.0.0.1/", timeout_ms=10000)
        assert answer.code == "PRIVATE_NETWORK_BLOCKED", answer
    else:
        answer = await agent.client.call("browser_navigate", 20, url="http://10.0.0.1/", timeout_ms=1000)
        assert answer.code != "PRIVATE_NETWORK_BLOCKED", answer

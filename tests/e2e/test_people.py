"""The pages for people on a real stack: a second Chromium is the person, who never sees more than a link lets in."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.person import Person
from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import Stack, request

PROJECT = "errands"


@pytest.fixture
async def asked(own: Stack, pages: Pages) -> AsyncIterator[dict[str, Any]]:
    """An open handoff with its link."""
    made = await asyncio.to_thread(own.http, "POST", "s/agent/handoff", PROJECT, b'{"reason": "Sign in at the <b>shop</b>", "agent": "tests"}')
    assert made.status == 201, made
    yield made.json
    await asyncio.to_thread(own.http, "POST", f"handoffs/{made.json['id']}", PROJECT, b'{"state": "cancelled"}')


def state(own: Stack, ident: str) -> dict[str, Any]:
    told: dict[str, Any] = own.http("GET", f"handoffs/{ident}", PROJECT).json
    return told


async def come(person: Person, handoff: dict[str, Any]) -> None:
    """Open the link and go on."""
    await person.goto(handoff["link"])
    await person.heading("An agent asks you for a step in its browser.")
    await person.press("button")
    await person.heading("Sign in at the <b>shop</b>")


async def test_done_with_a_note(own: Stack, person: Person, asked: dict[str, Any]) -> None:
    await person.goto(asked["link"])
    assert "shop" not in await person.eval("document.documentElement.outerHTML"), "a preview of the link must not tell what is asked"
    assert state(own, asked["id"])["seen_at"] is None
    await come(person, asked)
    await person.picture("handoff")
    await person.picture("handoff-phone", width=360, height=740, mobile=True)
    assert PROJECT in await person.eval("document.querySelector('.facts').textContent")
    assert await person.eval("document.querySelectorAll('h1 b').length") == 0
    await person.eval("document.querySelector('#note').value = 'signed in\\nas ann'")
    await person.press("button[formaction$='/done']")
    await person.heading("Done")
    ended = state(own, asked["id"])
    await person.picture("done", height=160)
    assert (ended["state"], ended["via"], ended["note"], ended["cookies_saved"]) == ("done", "person", "signed in as ann", True)


async def test_i_cannot(own: Stack, person: Person, asked: dict[str, Any]) -> None:
    await come(person, asked)
    await person.eval("document.querySelector('#note').value = 'no account'")
    await person.press("button[formaction$='/failed']")
    await person.heading("Given back")
    ended = state(own, asked["id"])
    assert (ended["state"], ended["note"]) == ("failed", "no account")


async def test_the_page_follows(own: Stack, person: Person, asked: dict[str, Any]) -> None:
    await come(person, asked)
    await asyncio.to_thread(own.http, "POST", f"handoffs/{asked['id']}", PROJECT, b'{"state": "cancelled"}')
    await person.heading("No longer needed")


async def test_over_is_said_when_the_login_is_on_the_disk(own: Stack, person: Person, asked: dict[str, Any]) -> None:
    await come(person, asked)
    pid = own.browser_pid(PROJECT)
    os.kill(pid, signal.SIGSTOP)
    try:
        ending = asyncio.create_task(asyncio.to_thread(own.http, "POST", f"handoffs/{asked['id']}", PROJECT, b'{"state": "cancelled"}'))
        await asyncio.to_thread(proc.until, lambda: state(own, asked["id"])["state"] == "cancelled", "the handoff has ended")
        # Nothing tells that a page goes on not to say something.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await person.heading("No longer needed")
    finally:
        os.kill(pid, signal.SIGCONT)
    await person.heading("No longer needed")
    assert state(own, asked["id"])["cookies_saved"] is True
    await ending


async def test_links_that_open_nothing(own: Stack, base: str, person: Person, asked: dict[str, Any]) -> None:
    """Replayed, forged, of an ended handoff, of another purpose: all the same, and nothing of the handoff is shown."""
    await come(person, asked)
    token = asked["link"].rpartition("/")[2]
    cookie = "Q" * 60
    replay = await asyncio.to_thread(request, asked["link"], "POST")
    forged = await asyncio.to_thread(request, f"{base}/h/{token[:-4]}AAAA", "POST")
    purpose = await asyncio.to_thread(request, f"{base}/login/{token}", "POST")
    stranger = await asyncio.to_thread(request, f"{base}/handoff/{asked['id']}")
    faked = await asyncio.to_thread(request, f"{base}/handoff/{asked['id']}", Cookie=f"telebrowser_{asked['id']}={cookie}")
    events = await asyncio.to_thread(request, f"{base}/handoff/{asked['id']}/events")
    for reply in (replay, forged, purpose, stranger, faked, events):
        assert reply.status == 403 and b"shop" not in reply.body and asked["id"].encode() not in reply.body, reply


async def test_a_form_of_another_site_does_nothing(own: Stack, base: str, person: Person, pages: Pages, asked: dict[str, Any]) -> None:
    await come(person, asked)
    url = pages.add(
        "evil.html", f"<form method=post action='{base}/handoff/{asked['id']}/done'><button>go</button></form><script>document.forms[0].submit()</script>"
    )
    await person.goto(url)
    await person.shows("location.host", base.removeprefix("http://"))
    assert state(own, asked["id"])["state"] == "open"
    framing = pages.add("frame.html", f"<iframe src='{base}/handoff/{asked['id']}'></iframe>")
    await person.goto(framing)
    answer = await asyncio.to_thread(request, f"{base}/")
    assert answer.headers["x-frame-options"] == "DENY" and "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_every_answer_has_its_headers(base: str) -> None:
    for path in ("/", "/nothing", "/static/people.css", "/static/../app.py", "/h/x", "/events"):
        reply = request(base + path)
        assert reply.headers["referrer-policy"] == "same-origin" and reply.headers["x-content-type-options"] == "nosniff", path
        assert "script-src" not in reply.headers.get("content-security-policy", "") or "'unsafe" not in reply.headers["content-security-policy"]
    assert request(base + "/", Host="evil.example").status == 403


def log_in(link: str) -> str:
    """Use a login link up; its cookie. The redirect is not followed."""
    where = urlsplit(link)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", where.path)
        answer = connection.getresponse()
        cookie = answer.headers["Set-Cookie"]
        assert answer.status == 303 and "HttpOnly" in cookie and "SameSite=Strict" in cookie, (answer.status, cookie)
        return str(cookie.split(";")[0])


async def test_the_operators_page(own: Stack, base: str, person: Person, asked: dict[str, Any]) -> None:
    link = (await asyncio.to_thread(own.launcher, "open", "--dashboard", "--project", PROJECT)).stdout.strip()
    assert link.startswith(f"{base}/login/")
    await person.goto(link)
    await person.press("button")
    await person.heading("Browsers")
    await person.picture("dashboard")
    assert "Sign in at the <b>shop</b>" in await person.eval("document.querySelector('article').textContent")
    await person.press("[data-picture]")
    await person.shows("document.querySelector('article img')?.naturalWidth > 100", True)
    await person.press("form[action$='/hold'] button")
    await person.shows("document.body.textContent.includes('held until')", True)
    assert own.status(PROJECT)["hold_until"]
    await person.press("form[action$='/release'] button")
    await person.shows("document.body.textContent.includes('held until')", False)
    await person.press(f"form[action$='/{asked['id']}/open'] button")
    await person.heading("An agent asks you for a step in its browser.")
    again = await asyncio.to_thread(request, link, "POST")
    assert again.status == 403


async def test_a_projects_operator_sees_no_other_project(own: Stack, base: str, asked: dict[str, Any]) -> None:
    await asyncio.to_thread(own.http, "POST", "start", "neighbour")
    link = (await asyncio.to_thread(own.launcher, "open", "--project", "neighbour")).stdout.strip()
    cookie = await asyncio.to_thread(log_in, link)
    shown = await asyncio.to_thread(request, base + "/", Cookie=cookie)
    assert b"neighbour" in shown.body and PROJECT.encode() not in shown.body and b"shop" not in shown.body
    form = re.search(rb'name="form" value="(\w+)"', shown.body)
    assert form
    body = b"form=" + form[1]
    kind = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    for path in (f"projects/{PROJECT}/stop", f"projects/{PROJECT}/picture", f"handoffs/{asked['id']}/open", f"handoffs/{asked['id']}/cancel"):
        assert (await asyncio.to_thread(request, f"{base}/{path}", "POST", body, **kind)).status == 404, path
    assert own.status(PROJECT)["state"] == "up"
    assert (await asyncio.to_thread(request, f"{base}/projects/neighbour/stop", "POST", b"form=wrong", **kind)).status == 403
    assert own.status("neighbour")["state"] == "up"
    stopped = await asyncio.to_thread(request, f"{base}/projects/neighbour/stop", "POST", body, **kind)
    assert stopped.status in (200, 303), stopped
    assert own.status("neighbour")["state"] == "stopped"


async def test_operators_of_everything(own: Stack, base: str, asked: dict[str, Any]) -> None:
    """The secret opens all projects, a project's token does not, and a name counts only from a trusted proxy."""
    link = (await asyncio.to_thread(own.launcher, "open", "--all", "--project", "neighbour")).stdout.strip()
    cookie = await asyncio.to_thread(log_in, link)
    assert b"shop" in (await asyncio.to_thread(request, base + "/", Cookie=cookie)).body
    for bearer in ("", "x" * 64, asked["link"].rpartition("/")[2]):
        assert (await asyncio.to_thread(request, f"{own.url}/login", "POST", Authorization=f"Bearer {bearer}")).status == 403
    by_name = await asyncio.to_thread(request, base + "/", **{"Remote-User": "ann"})
    assert by_name.status == 200 and b"shop" in by_name.body
    assert (await asyncio.to_thread(request, base + "/", **{"Remote-User": "eve"})).status == 403


async def test_no_page_of_a_project_reaches_these_pages(own: Stack, base: str, pages: Pages, truths: Callable[..., Any], asked: dict[str, Any]) -> None:
    """An agent that is told its link cannot let itself in: no name and no address leads there from its browser."""
    truth = await truths(own.ws(PROJECT, "thief"))
    target = (await truth.targets())[0]["targetId"]
    session = await truth.attach(target)
    port = base.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]", "x.localhost", "127.1", "0.0.0.0"):
        answer = await truth.call("Page.navigate", {"url": f"http://{host}:{port}/h/{asked['link'].rpartition('/')[2]}"}, session)
        assert answer.get("errorText"), f"{host} was reached"
    await truth.call("Page.navigate", {"url": f"{pages.base}/clock.html"}, session)
    await truth.wait(target, "document.readyState", "complete")
    told = await truth.eval(target, f"fetch('{base}/', {{mode: 'no-cors'}}).then(() => 'reached', () => 'refused')")
    assert told == "refused"
    assert request(base + "/").status == 403, "it is there for others"


def test_nothing_that_was_typed_or_opens_is_written(own: Stack, asked_log: str) -> None:
    for word in ("signed in", "no account", "/h/", "/login/"):
        assert word not in asked_log, word


@pytest.fixture
def asked_log(own: Stack) -> str:
    """What the gateway wrote of the tests before."""
    proc.until(lambda: "POST /handoff" in own.output("gateway"), "the gateway has written of the pages", 5)
    return own.output("gateway")

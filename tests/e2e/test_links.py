"""What links let in, and what they do not: after their end, after a restart, and from within a project's own browser."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import scratch_dir
from tests.e2e.handed import hand, run_out
from tests.e2e.person import Person
from tests.support import proc
from tests.support.chromium import Chromium
from tests.support.pages import Pages
from tests.support.stack import Reply, Stack, free_port, request

PROJECT = "linked-errands"
SECRETS = (b"very particular", b"linked-errands", b"curious agent")


async def answers(link: str, *, cookie: str = "") -> list[Reply]:
    """What the link itself gives, by both ways of asking."""
    headers = {"Cookie": cookie} if cookie else {}
    return [await asyncio.to_thread(request, link, method, **headers) for method in ("GET", "POST")]


def cookies_of(own: Stack, ident: str, link: str) -> str:
    """Use a link up like a browser; its cookie."""
    where = urlsplit(link)
    with socket.create_connection((str(where.hostname), where.port or 80), 20) as plain:
        plain.sendall(f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        head = b"".join(iter(lambda: plain.recv(65536), b"")).decode()
    assert head.startswith("HTTP/1.1 303") and f"telebrowser_{ident}=" in head, head
    return head.partition("Set-Cookie: ")[2].partition(";")[0]


async def test_a_link_that_is_over_forged_or_used_shows_nothing(own: Stack, base: str, truths: Callable[..., Any]) -> None:
    """One and the same answer for all, also of a gateway that has just started, with nothing of what was asked."""
    async with hand(own, PROJECT, truths, "A very particular step", agent="a curious agent") as handed:
        links = {why: await handed.another_link() for why in ("used", "revoked", "expired", "restarted")}
        links["forged"] = handed.link[:-6] + "AAAAAA"
        links["nothing"] = f"{base}/h/nothing"
        cookie = await asyncio.to_thread(cookies_of, own, handed.id, links["used"])
        found = {why: await answers(links[why]) for why in ("used", "forged", "nothing")}
        page = f"{base}/handoff/{handed.id}"
        assert b"very particular" in (await asyncio.to_thread(request, page, Cookie=cookie)).body
        own.signal("gateway", signal.SIGKILL)
        own.wait("gateway")
        await asyncio.to_thread(own.start_gateway)
        assert b"very particular" in (await asyncio.to_thread(request, page, Cookie=cookie)).body, "a restart keeps the page"
        found["used before a restart"] = await answers(links["used"])
        assert (await asyncio.to_thread(request, links["restarted"])).status == 200, "a restart keeps the link"
        await handed.end()
        found["revoked"] = await answers(links["revoked"])
        ended = await asyncio.to_thread(request, page, Cookie=cookie)
    async with hand(own, PROJECT, truths, "A very particular step", agent="a curious agent") as handed:
        link = await handed.another_link()
        late = await asyncio.to_thread(cookies_of, own, handed.id, handed.link)
        await asyncio.to_thread(run_out, own, handed.id)
        await asyncio.to_thread(proc.until, lambda: own.http("GET", f"handoffs/{handed.id}", PROJECT).json["state"] == "expired", "it has expired", 10)
        found["expired"] = await answers(link)
        over = await asyncio.to_thread(request, f"{base}/handoff/{handed.id}", Cookie=late)
        for path in ("take", "watch", "done", "failed"):
            assert (await asyncio.to_thread(request, f"{base}/handoff/{handed.id}/{path}", "POST", b"", Cookie=late)).status == 403, path
    assert {reply.body for replies in found.values() for reply in replies} == {found["nothing"][0].body}, found
    assert {reply.status for replies in found.values() for reply in replies} == {403}
    for reply in (ended, over, *(reply for replies in found.values() for reply in replies)):
        assert not any(secret in reply.body for secret in SECRETS), reply


# Each way in which a page can reach out; all are given up after a while, since what counts is whether the gateway heard of them.
WAYS = """window.tryAll = async (attempts) => {
  const add = (kind, set) => { const made = Object.assign(document.createElement(kind), set); document.body.append(made); return made; };
  const ways = {
    fetch: url => fetch(url, {mode: 'no-cors'}),
    post: url => fetch(url, {mode: 'no-cors', method: 'POST', body: 'x'}),
    redirect: url => fetch('/to?url=' + encodeURIComponent(url), {mode: 'no-cors'}),
    socket: url => new WebSocket(url.replace('http', 'ws')),
    events: url => new EventSource(url),
    beacon: url => navigator.sendBeacon(url, 'x'),
    image: url => add('img', {src: url}),
    script: url => add('script', {src: url}),
    frame: url => add('iframe', {src: url}),
    form: url => add('form', {action: url, target: add('iframe', {name: 'f' + Math.random()}).name, method: 'post'}).submit(),
    worker: url => new Worker(URL.createObjectURL(new Blob([`fetch(${JSON.stringify(url)}, {mode: 'no-cors'})`]))),
  };
  for (const [way, url] of attempts) try { Promise.resolve(ways[way](url)).catch(() => {}); } catch {}
  await new Promise(done => setTimeout(done, 2500));
}; window.ways = ['fetch', 'post', 'redirect', 'socket', 'events', 'beacon', 'image', 'script', 'frame', 'form', 'worker']"""
NAMES = ["127.0.0.1", "localhost", "LOCALHOST.", "x.localhost", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.2", "127.1", "127.255.255.254", "2130706433", "0.0.0.0"]


@pytest.fixture(scope="module")
def everywhere() -> Iterator[Stack]:
    """A stack that listens on every address of the machine, so that only the browser's own rule can keep its pages away."""
    root = scratch_dir("everywhere")
    port = free_port()
    running = Stack(root, TELEBROWSER_PEOPLE_PORT=str(port), TELEBROWSER_VIEW="screencast", TELEBROWSER_BIND="0.0.0.0")
    running.people = f"http://127.0.0.1:{port}"  # type: ignore[attr-defined]
    try:
        yield running.start()
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


def own_names() -> list[str]:
    """The machine's own name and addresses."""
    rows = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    return [socket.gethostname(), *sorted({str(row[4][0]) for row in rows if row[0] == socket.AF_INET})]


async def try_all(person: Person, base: str, mark: str) -> list[str]:
    """Try every way to every name, and navigations; the paths that were tried, each with a first part of its own."""
    port = urlsplit(base).port
    await person.eval(WAYS)
    names = [*NAMES, *own_names()]
    tried = []
    attempts = []
    for way in await person.eval("ways"):
        for number, name in enumerate(names):
            path = f"{mark}-{way}-{number}-"
            tried.append(path)
            attempts.append((way, f"http://{name}:{port}/{path}/h/x"))
    await person.eval(f"tryAll({json.dumps(attempts)})")
    session = await person.truth.attach(person.target)
    for number, name in enumerate(names):
        tried.append(f"{mark}-navigation-{number}-")
        await person.truth.call("Page.navigate", {"url": f"http://{name}:{port}/{tried[-1]}/h/x"}, session, 30)
    return tried


async def test_no_way_leads_from_a_projects_browser_to_the_pages(everywhere: Stack, pages: Pages, chromium: Chromium, truths: Callable[..., Any]) -> None:
    """Neither to the pages nor to a view: by no kind of request, to no name or address of the machine. Another browser's requests arrive."""
    base = str(everywhere.people)  # type: ignore[attr-defined]
    url = pages.add("reach.html", "<!doctype html><title>reach</title><body>")
    outside = await truths(chromium.ws)
    other = Person(outside, (await outside.call("Target.createTarget", {"url": "about:blank"}))["targetId"])
    await other.goto(url)
    arrived = await try_all(other, base, "outside")
    inside = await truths(everywhere.ws("reaching", "agent"))
    thief = Person(inside, (await inside.targets())[0]["targetId"])
    await thief.goto(url)
    tried = await try_all(thief, base, "inside")
    log = everywhere.output("gateway")
    ways = {way for way in ("fetch", "post", "redirect", "socket", "events", "beacon", "image", "script", "frame", "form", "worker", "navigation")}
    reached = {way for way in ways if f"outside-{way}-0-" in log}
    assert reached == ways, f"this test would not see {sorted(ways - reached)}"
    names = {number for number in range(len(NAMES) + len(own_names())) if f"outside-navigation-{number}-" in log}
    assert len(names) >= len(NAMES) - 1, [name for number, name in enumerate([*NAMES, *own_names()]) if number not in names]
    assert [path for path in tried if path in log] == []
    assert len(arrived) == len(tried) and "inside" not in log
    await outside.call("Target.closeTarget", {"targetId": other.target})

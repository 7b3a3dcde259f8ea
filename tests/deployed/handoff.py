"""A handoff from an agent to a person who follows its link by the proxy's name, in a Chromium of their own."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from telebrowser.gateway.handoff.links import Links, Purpose
from tests.e2e.desktop import SELKIES, SHOWN, Hands, Scene, allow_in_a_window, sign_in, solve_the_puzzle
from tests.e2e.person import Person, gives_back
from tests.e2e.sites import SITES
from tests.support import proc
from tests.support.chromium import Chromium
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Reply, request
from tests.support.truth import Truth

from .pages import Server
from .site import Site, say

PROJECT = "shop"
REASON = "Sign in at the pharmacy"
NOTE = "signed in as ann"
SECONDS = 30.0
SCREEN = {"width": 1700, "height": 1500, "deviceScaleFactor": 1, "mobile": False}


async def journey(site: Site, pages: Server) -> None:
    """The agent asks and waits; the person follows the link, sees the agent's page, presses Done; the agent goes on."""
    address = urlsplit(site.facts["people_url"])
    folder = Path(tempfile.mkdtemp(prefix="tb-person-", dir="/tmp"))
    # People come by TLS, without which Selkies shows nothing; here nobody has a certificate.
    flags = (f"--host-resolver-rules=MAP {address.hostname} 127.0.0.1", f"--unsafely-treat-insecure-origin-as-secure={site.facts['people_url']}")
    chromium = await asyncio.to_thread(Chromium, folder / "profile", *flags)
    agent = await site.agent(PROJECT)
    try:
        await agent.ok("browser_navigate", url=f"{pages.base}/{PROJECT}")
        truth = await Truth.connect(chromium.ws)
        try:
            person = Person(truth, (await truth.targets())[0]["targetId"])
            await let_in(site, agent, person)
            await nobody_else(site, agent, person)
            await hard_sites(site, person)
        finally:
            await truth.close()
    finally:
        await agent.close()
        chromium.close()
        shutil.rmtree(folder)


def asking(agent: McpClient) -> asyncio.Task[Any]:
    """The agent's call, which waits for the person."""
    return asyncio.create_task(agent.call("browser_handoff", 120, reason=REASON, wait_seconds=100))


async def hard_sites(site: Site, person: Person) -> None:
    """A sign-in in a window of its own, a puzzle to drag, a login with a code: each by the person's mouse and keyboard in the picture of the desktop.

    The last login outlives a browser that is killed as soon as it is given back.
    """
    # A browser that nobody has signed in with, however often this runs.
    project = f"clinic-{int(time.time())}"
    sites = Pages(site.neighbour())
    for name, body in SITES.items():
        sites.add(f"{name}.html", body)
    agent = await site.agent(project)
    truth = await Truth.connect((await asyncio.to_thread(site.launcher, "ws", "--project", project)).stdout.strip())
    try:
        for page, does in (("opener", allow_in_a_window), ("puzzle", solve_the_puzzle), ("login", sign_in)):
            await agent.ok("browser_navigate", url=f"{sites.base}/{page}.html")
            call = asking(agent)
            session = await person.truth.attach(person.target)
            await person.truth.call("Emulation.setDeviceMetricsOverride", SCREEN, session)
            await person.truth.call("Page.bringToFront", {}, session)
            await person.goto(await link_of(site, project))
            await person.press("button")
            await person.heading(REASON)
            await person.press("#take")
            await person.shows(SELKIES.shown, True)
            known = json.loads((await asyncio.to_thread(site.launcher, "handoffs", "--project", project, "--json")).stdout)["handoffs"]
            (asked,) = [row for row in known if row["state"] == "open"]
            await does(Scene(agent, truth, asked, call, sites), Hands(person, session, truth, SELKIES.surface))
            if page == "login":
                await gives_back(person, site, project, agent, call, sites.base)
            else:
                await person.press("button[formaction$='/done']")
                await person.heading("Done")
                assert (await call).data["state"] == "done"
            say(f"through nginx a person has been at {page}.html")
    finally:
        await truth.close()
        await agent.close()
        sites.close()


async def link_of(site: Site, project: str = PROJECT) -> str:
    """What a person is sent: the launcher's ``open`` gives the link of the handoff once it is open."""

    def found() -> str:
        link = site.launcher("open", "--project", project).stdout.strip()
        return link if "/h/" in link else ""

    link: str = await asyncio.to_thread(proc.until, found, "the handoff has a link", SECONDS)
    assert link.startswith(site.facts["people_url"] + "/h/"), f"the link does not lead to {site.facts['people_url']}: {link}"
    return link


async def let_in(site: Site, agent: McpClient, person: Person) -> None:
    """Link, page, view, Done."""
    call = asking(agent)
    link = await link_of(site)
    await person.goto(link)
    assert REASON not in await person.eval("document.documentElement.outerHTML"), "a preview of the link tells what is asked"
    await person.press("button")
    await person.heading(REASON)
    await person.press("#take")
    # The whole desktop where the containers run one, else the tab.
    await person.shows(f"({SHOWN}) || document.querySelector('iframe')?.contentWindow.shownWidth?.() > 1", True)
    await person.eval(f"document.querySelector('#note').value = {json.dumps(NOTE)}")
    assert not call.done(), f"the agent's call has ended already: {call.result()}"
    await person.press("button[formaction$='/done']")
    await person.heading("Done")
    begin = time.monotonic()
    answer = await call
    assert not answer.error and (answer.data["state"], answer.data["via"], answer.data["note"]) == ("done", "person", NOTE), answer
    assert await asyncio.to_thread(shows_nothing, site, link, "POST"), "a link that was used opens again"
    say(f"a handoff through nginx: link, page, view and Done in a Chromium of the person; the agent went on {time.monotonic() - begin:.1f} s after it")


async def nobody_else(site: Site, agent: McpClient, person: Person) -> None:
    """Links that are forged, have run out, or are of a handoff that is over: none shows what was asked."""
    call = asking(agent)
    link = await link_of(site)
    base, _, token = link.rpartition("/")
    ident = json.loads(site.launcher("handoffs", "--project", PROJECT, "--json").stdout)["handoffs"][0]["id"]
    keys = Links((site.secrets, site.data / "handoffs"), site.home / "opened.json")
    late = keys.issue(Purpose.HANDOFF, ident, time.time() - 1)
    good = keys.issue(Purpose.HANDOFF, ident, time.time() + 60)
    assert not await asyncio.to_thread(shows_nothing, site, f"{base}/{good}", "GET"), "a link made here opens nothing, so that one that ran out proves nothing"
    for wrong in (f"{base}/{token[:-4]}AAAA", f"{base}/{late}", f"{site.facts['people_url']}/handoff/{ident}"):
        for method in ("GET", "POST"):
            assert await asyncio.to_thread(shows_nothing, site, wrong, method), f"{method} {wrong} shows something"
    await person.goto(f"{base}/{late}")
    assert REASON not in await person.eval("document.documentElement.outerHTML") and await person.eval("document.querySelector('#take')") is None
    cancelled = await asyncio.to_thread(site.launcher, "handoffs", ident, "--cancel", "--project", PROJECT)
    assert cancelled.returncode == 0, cancelled.stderr
    assert (await call).data["state"] == "cancelled"
    assert await asyncio.to_thread(shows_nothing, site, link, "POST"), "the link of a handoff that is over opens"
    say("links that are forged, used, run out or over show nothing")


def shows_nothing(site: Site, url: str, method: str) -> bool:
    """Whether the proxy's answer is a refusal without a word of what was asked."""
    address = urlsplit(url)
    # The name is nobody's but the person's browser's; a client of another kind names it itself.
    answer: Reply = request(url.replace(str(address.hostname), "127.0.0.1", 1), method, Host=address.netloc)
    return answer.status in (403, 404, 405) and REASON.encode() not in answer.body and PROJECT.encode() not in answer.body

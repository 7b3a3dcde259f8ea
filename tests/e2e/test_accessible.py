"""The pages for people by axe-core's rules, in every state that they have, light and dark, on a desktop and on a phone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.eyes import Eyes, needs_axe
from tests.e2e.handed import Handed, hand, open_view, run_out
from tests.e2e.person import Person
from tests.support.pages import Pages
from tests.support.stack import Stack

pytestmark = needs_axe

PROJECT = "looks"
ASKS = f"""<!doctype html><title>asks</title><style>* {{ display: block; font: 20px sans-serif }}</style>
<button id=more onclick="window.open('/asks.html')">more</button>
<button id=ask onclick="prompt('{"Who are you? " * 60}', 'ann')">ask</button><select id=pick><option>{"a choice " * 12}<option disabled>two</select>
<input type=file id=file>"""


@pytest.fixture
async def eyes(person: Person) -> Eyes:
    return Eyes(person, await person.truth.attach(person.target))


async def test_pages_without_a_handoff(own: Stack, base: str, person: Person, eyes: Eyes, truths: Callable[..., Any]) -> None:
    for path, heading in (("", "Log in"), ("nothing", "This does not work"), ("h/forged", "This does not work")):
        await person.goto(f"{base}/{path}")
        await person.heading(heading)
        await eyes.look(heading)
    async with hand(own, PROJECT, truths) as handed:
        await person.goto(handed.link)
        await person.heading("An agent asks you for a step in its browser.")
        await eyes.look("the link's page")
        await person.goto(f"{base}/handoff/{handed.id}")
        await person.heading("This does not work")
        await eyes.look("somebody else's handoff")


async def test_a_handoff(own: Stack, person: Person, eyes: Eyes, truths: Callable[..., Any], pages: Pages) -> None:
    """As it comes, with the browser in it, watched, controlled by somebody else, and with each of the view's questions."""
    url = pages.add("asks.html", ASKS)
    async with hand(own, PROJECT, truths, reason="Sign in at " + "an-address-without-any-space." * 12) as handed:
        await handed.show(url)
        await handed.enter(person)
        await eyes.look("open")
        await open_view(person)
        await eyes.look("with the browser")
        await handed.press(person, "#more")
        view = "document.querySelector('iframe').contentDocument"
        await person.shows(f"{view}.querySelectorAll('#tabs button').length", 2)
        await eyes.look("with two tabs")
        await person.eval(f"{view}.querySelector('#tabs button').click()")
        await person.shows(f"{view}.querySelector('#tabs button').getAttribute('aria-current')", "true")
        for press, shown in (("ask", "box"), ("pick", "list"), ("file", "chooser")):
            await handed.press(person, f"#{press}")
            await person.shows(f"{view}.querySelector('#{shown}').open", True)
            await eyes.look(shown)
            await person.eval(f"{view}.querySelector('#{shown} button[value=no]').click()")
        await take_over(handed, person)
        await person.shows("document.querySelector('iframe')", None)
        await eyes.look("controlled by somebody else")
        await open_view(person, "#watch")
        await eyes.look("watched")


async def take_over(handed: Handed, person: Person) -> None:
    """Somebody else takes the control."""
    truth = person.truth
    context = (await truth.call("Target.createBrowserContext"))["browserContextId"]
    other = Person(truth, (await truth.call("Target.createTarget", {"url": "about:blank", "browserContextId": context}))["targetId"])
    await handed.enter(other, await handed.another_link())
    await other.press("#take")
    await other.shows("document.querySelector('#take').textContent", "Take over")
    await other.press("#take")
    await other.shows("document.querySelector('iframe') !== null", True)
    await truth.call("Target.disposeBrowserContext", {"browserContextId": context})


@pytest.mark.parametrize(("end", "heading"), [("done", "Done"), ("failed", "Given back"), ("cancelled", "No longer needed"), ("expired", "Too late")])
async def test_a_handoff_that_is_over(own: Stack, person: Person, eyes: Eyes, truths: Callable[..., Any], end: str, heading: str) -> None:
    async with hand(own, PROJECT, truths) as handed:
        await handed.enter(person)
        if end in ("done", "failed"):
            await person.press(f"button[formaction$='/{end}']")
        elif end == "cancelled":
            await handed.end()
        else:
            await asyncio.to_thread(run_out, own, handed.id)
        await person.heading(heading)
        await eyes.look(heading)


async def test_the_dashboard_empty_and_full(own: Stack, base: str, person: Person, eyes: Eyes, truths: Callable[..., Any]) -> None:
    async def log_in(project: str) -> None:
        link = (await asyncio.to_thread(own.launcher, "open", "--dashboard", "--project", project)).stdout.strip()
        await person.goto(link)
        await eyes.look("the login's page")
        await person.press("button")
        await person.heading("Browsers")

    await log_in("nobody-yet")
    await person.shows("document.body.textContent.includes('Nobody asks')", True)
    await eyes.look("empty")
    async with hand(own, PROJECT, truths) as former:
        await former.end()
    await asyncio.to_thread(own.http, "POST", "stop", "nobody-yet")
    async with hand(own, PROJECT, truths, reason="Sign in " * 40):
        link = (await asyncio.to_thread(own.launcher, "open", "--all", "--project", PROJECT)).stdout.strip()
        await person.goto(link)
        await person.press("button")
        await person.heading("Browsers")
        await person.shows("document.querySelectorAll('article').length >= 3 && document.querySelector('#past') !== null", True)
        await person.press("form[action$='/hold'] button")
        await person.shows("document.body.textContent.includes('held until')", True)
        await person.press("[data-picture]")
        await person.shows("document.querySelector('article img')?.naturalWidth > 100", True)
        await eyes.look("full")
        assert eyes.seen >= 12

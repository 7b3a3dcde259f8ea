"""The pages for people by keys alone, by ear, and by fingers on a phone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.e2e.handed import Handed, hand, open_view
from tests.e2e.keys import FOCUSED, OUTLINED, Keys, type_leave_and_end
from tests.e2e.person import Person
from tests.support.pages import Pages
from tests.support.stack import Stack

PROJECT = "keys"
FIELD = "<!doctype html><title>field</title><meta name=viewport content='width=device-width'><input id=field style='font-size:20px;margin:80px'>"
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}


@pytest.fixture
async def handed(own: Stack, pages: Pages, truths: Callable[..., Any]) -> AsyncIterator[Handed]:
    async with hand(own, PROJECT, truths) as made:
        await made.show(pages.add("field.html", FIELD))
        yield made


@pytest.fixture
async def keys(person: Person) -> Keys:
    session = await person.truth.attach(person.target)
    await person.truth.call("Page.bringToFront", {}, session)
    return Keys(person, session)


async def test_everything_by_keys(person: Person, keys: Keys, handed: Handed) -> None:
    """Link, browser, typing, out of it again, and Done; nothing holds the focus for good, and one always sees where it is."""
    await person.goto(handed.link)
    await person.heading("An agent asks you for a step in its browser.")
    await keys.press("Tab")
    assert await person.eval(OUTLINED)
    await keys.press("Enter")
    await person.heading(handed.document["reason"])
    for step in ("take", "watch", "note", "done", "failed"):
        await keys.press("Tab")
        await person.shows(FOCUSED, step)
        assert await person.eval(OUTLINED), step
    for step in ("done", "note", "watch", "take"):
        await keys.press("Tab", shift=True)
        await person.shows(FOCUSED, step)
    await keys.press("Enter")
    await person.shows("document.querySelector('iframe')?.contentWindow.shownWidth?.() > 1", True)
    await person.shows(FOCUSED, "browser")
    frame = "document.querySelector('iframe').contentDocument"
    await person.shows(f"{frame}.activeElement.id", "typing")
    assert await person.eval(f"getComputedStyle({frame}.getElementById('picture')).outlineStyle") != "none"
    assert await person.eval("document.querySelector('#way-out').checkVisibility()")
    await keys.press("Tab")
    await handed.page("document.activeElement.id", "field")
    await type_leave_and_end(keys, handed)


async def test_changes_are_said_and_the_passing_of_time_is_not(person: Person, keys: Keys, handed: Handed) -> None:
    truth = person.truth
    await handed.enter(person)
    await person.eval("window.heard = 0, new MutationObserver(() => heard++).observe(document.querySelector('#told'), {childList: true})")
    before = await person.eval("document.querySelector('.facts').textContent")
    await open_view(person)
    await person.shows("document.querySelector('#told').textContent", "You control the browser.")
    assert await keys.said("You control the browser.")
    context = (await truth.call("Target.createBrowserContext"))["browserContextId"]
    other = Person(truth, (await truth.call("Target.createTarget", {"url": "about:blank", "browserContextId": context}))["targetId"])
    await handed.enter(other, await handed.another_link())
    session = await truth.attach(other.target)
    await truth.call("Page.bringToFront", {}, session)
    others = Keys(other, session)
    await others.press("Tab")
    await others.press("Enter")
    await other.shows("document.querySelector('#take').textContent", "Take over")
    assert await others.said("somebody else") or await others.said("Somebody else")
    assert await other.eval("document.activeElement.id") == "take", "a refusal leaves the focus where it was"
    await others.press("Enter")
    await other.shows("document.querySelector('iframe') !== null", True)
    await person.shows("document.querySelector('iframe')", None)
    await person.shows("document.activeElement.id", "take")
    await person.shows("document.querySelector('#told').textContent", "Somebody else controls the browser now.")
    assert await keys.said("Somebody else controls the browser now.")
    await person.shows(f"document.querySelector('.facts').textContent === {before!r}", False)
    assert await person.eval("heard") == 2
    await truth.call("Target.disposeBrowserContext", {"browserContextId": context})


async def test_on_a_phone(person: Person, keys: Keys, handed: Handed) -> None:
    """Nothing is wider than the screen, and the button for the phone's keyboard types into the page."""
    await keys.send("Emulation.setDeviceMetricsOverride", **PHONE)
    await keys.send("Emulation.setTouchEmulationEnabled", enabled=True)
    await handed.enter(person)
    box = "(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('#take').getBoundingClientRect())"
    await keys.tap(*await person.eval(box))
    await person.shows("document.querySelector('iframe')?.contentWindow.shownWidth?.() > 1", True)
    assert await person.eval("Math.max(...[document, document.querySelector('iframe').contentDocument].map(d => d.documentElement.scrollWidth))") <= 360
    await person.eval("document.querySelector('iframe').scrollIntoView()")
    await keys.tap(*await person.eval(in_view("w.document.getElementById('larger').getBoundingClientRect()")))
    picture = "document.querySelector('iframe').contentDocument.getElementById('picture')"
    await person.shows(f"{picture}.getBoundingClientRect().width === document.querySelector('iframe').contentWindow.shownWidth()", True)
    await person.shows(f"{picture}.width > 1500", True)
    await asyncio.wait_for(tap_in_picture(keys, handed, person), 20)
    await handed.page("document.activeElement.id", "field")
    await keys.tap(*await person.eval(in_view("w.document.getElementById('keyboard').getBoundingClientRect()")))
    await person.shows("document.querySelector('iframe').contentDocument.activeElement.id", "typing")
    await keys.send("Input.insertText", text="from a phone")
    await handed.page("field.value", "from a phone")
    await keys.send("Input.dispatchKeyEvent", type="rawKeyDown", key="Backspace", code="Backspace", windowsVirtualKeyCode=8)
    await handed.page("field.value", "from a phon")
    await person.eval("document.querySelector('#note').scrollIntoView()")
    await keys.tap(*await person.eval(box.replace("#take", 'button[formaction$="/done"]')))
    await person.heading("Done")


async def tap_in_picture(keys: Keys, handed: Handed, person: Person) -> None:
    x, y = await handed.eval("(b => [b.x + 50, b.y + b.height / 2])(field.getBoundingClientRect())")
    shown = f"(c => ({{x: c.x + {x} * c.width / w.shownWidth(), y: c.y + {y} * c.width / w.shownWidth(), width: 0, height: 0}}))"
    await keys.tap(*await person.eval(in_view(f"{shown}(w.document.getElementById('picture').getBoundingClientRect())")))


def in_view(box: str) -> str:
    """Code for the middle of a box of the view's page, in the person's window."""
    return (
        "(()=>{const f=document.querySelector('iframe'),a=f.getBoundingClientRect(),w=f.contentWindow;"
        f"const b={box};return [a.x+f.clientLeft+b.x+b.width/2,a.y+f.clientTop+b.y+b.height/2]}})()"
    )

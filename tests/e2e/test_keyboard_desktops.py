"""The whole desktop by keys alone, for who has no mouse: into it, typing there, out of it both ways, and Done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.e2e.desktop import Kind
from tests.e2e.handed import Handed, hand
from tests.e2e.keys import FOCUSED, Keys, type_leave_and_end
from tests.e2e.person import Person
from tests.support.pages import Pages
from tests.support.stack import Stack

PROJECT = "keys"
FIELD = "<!doctype html><title>field</title><input id=field style='font-size:20px;margin:80px'>"


async def test_everything_by_keys(shown: tuple[Stack, Kind], person: Person, pages: Pages, truths: Callable[..., Any]) -> None:
    stack, kind = shown
    session = await person.truth.attach(person.target)
    await person.truth.call("Page.bringToFront", {}, session)
    keys = Keys(person, session)
    async with hand(stack, PROJECT, truths) as handed:
        await handed.show(pages.add("field.html", FIELD))
        await person.goto(handed.link)
        await keys.press("Tab")
        await keys.press("Enter")
        await person.heading(handed.document["reason"])
        await keys.press("Tab")
        await person.shows(FOCUSED, "take")
        await keys.press("Enter")
        await person.shows(kind.shown, True)
        await person.shows(FOCUSED, "browser")
        assert await person.eval("document.querySelector('#way-out').checkVisibility()")
        await reach_the_field(keys, handed)
        await type_leave_and_end(keys, handed)


async def reach_the_field(keys: Keys, handed: Handed) -> None:
    """Where the cursor is at first is the window's affair; a person sees it and presses Tab until it is in the field."""
    for _ in range(20):
        await keys.press("Tab")
        for _ in range(10):
            if await handed.eval("document.hasFocus() && document.activeElement.id") == "field":
                return
            await asyncio.sleep(0.05)
    raise AssertionError("Tab never comes to the field")

"""The pages around the desktop, and noVNC's own, by axe-core's rules, in every state, light and dark, on a desktop and on a phone.

Selkies' page is left out: it is that project's, and comes as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.desktop import FRAME, VNC, Kind
from tests.e2e.eyes import Eyes, needs_axe
from tests.e2e.handed import hand
from tests.e2e.person import Person
from tests.support.pages import Pages
from tests.support.stack import Stack

pytestmark = needs_axe

PROJECT = "looks"
TAKE_AGAIN = """(async () => { const fields = {form: document.querySelector('input[name=form]').value, force: 'yes', secure: 'yes'};
  return (await fetch(document.querySelector('.view').dataset.take, {method: 'POST', body: new URLSearchParams(fields)})).status })()"""
PAGE = "<!doctype html><title>page</title><h1>A page</h1><input id=field>"


async def test_a_desktop_in_every_state(shown: tuple[Stack, Kind], person: Person, truths: Callable[..., Any], pages: Pages) -> None:
    stack, kind = shown
    eyes = Eyes(person, await person.truth.attach(person.target))
    await eyes.call("Page.bringToFront")
    ours = kind is VNC
    async with hand(stack, PROJECT, truths) as handed:
        await handed.show(pages.add("page.html", PAGE))
        await handed.enter(person)
        await person.press("#take")
        await person.shows(kind.shown, True)
        await eyes.look("controlled", frames=ours)
        if ours:
            await in_its_page(person, eyes)
        await person.press("#watch")
        await person.shows("document.querySelector('iframe')?.dataset.role", "viewer")
        await person.shows(kind.shown, True)
        await eyes.look("watched", frames=ours)
    await person.heading("No longer needed")


async def in_its_page(person: Person, eyes: Eyes) -> None:
    """What our page around noVNC shows besides the picture."""
    page = f"{FRAME}.document"
    await person.eval(f"{page}.querySelector('#size').click()")
    await person.shows(f"{page}.querySelector('#size').getAttribute('aria-pressed')", "true")
    await eyes.look("in its real size")
    await person.eval(f"{page}.querySelector('#size').click()")
    await person.eval(f"{page}.querySelector('#text').click()")
    await person.shows(f"{page}.querySelector('#box').open", True)
    await eyes.look("with the text box")
    await person.eval(f"{page}.querySelector('#box').close()")
    # As when somebody else takes the control: this one's credential is withdrawn.
    await person.eval(TAKE_AGAIN)
    await person.shows(f"{page}.querySelector('#said').textContent", "This view is closed.")
    await eyes.look("closed")

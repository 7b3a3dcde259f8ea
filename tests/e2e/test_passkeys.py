"""Passkeys: what a person can do in the view of a tab whose page asks for one, and that an agent's authenticator is its own tab's only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.e2e.handed import Handed, hand, open_view
from tests.e2e.person import Person
from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import CdpError, Truth

PROJECT = "passkeys"
SITE = """<!doctype html><title>passkey</title><style>button{position:absolute;left:20px;width:300px;height:40px}</style>
<button id=make style=top:20px>Make a passkey</button><button id=use style=top:80px>Use a passkey</button>
<button id=other style=top:140px onclick="said='another way'">Another way</button>
<script>said = 'nothing'; made = null;
const bytes = n => new Uint8Array(n), ask = async (kind, publicKey) => {
  said = 'asked';
  try {
    const answer = await navigator.credentials[kind]({publicKey: {challenge: bytes(16), timeout: 120000, ...publicKey}});
    made ??= answer.rawId; said = kind + ' ' + answer.type;
  } catch (error) { said = error.name; }
};
make.onclick = () => ask('create', {rp: {name: 'shop', id: location.hostname}, user: {id: bytes(4), name: 'ann', displayName: 'ann'},
  pubKeyCredParams: [{type: 'public-key', alg: -7}], authenticatorSelection: {residentKey: 'required', userVerification: 'required'}});
use.onclick = () => ask('get', {rpId: location.hostname, userVerification: 'required'});</script>"""
AUTHENTICATOR = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}


@pytest.fixture
async def handed(own: Stack, pages: Pages, truths: Callable[..., Any]) -> AsyncIterator[Handed]:
    async with hand(own, PROJECT, truths) as made:
        pages.add("passkey.html", SITE)
        # Passkeys need a secure context, which this machine's own name is.
        await made.show(f"{pages.other}/passkey.html")
        yield made


async def authenticator(truth: Truth, target: str) -> tuple[str, str]:
    """A virtual authenticator in a tab; the session that has it and its id."""
    session = await truth.attach(target)
    await truth.call("WebAuthn.enable", {"enableUI": False}, session)
    made = await truth.call("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR}, session)
    return session, str(made["authenticatorId"])


async def test_a_passkey_by_the_view(own: Stack, handed: Handed, person: Person, truths: Callable[..., Any]) -> None:
    """With an authenticator in the tab the person makes a passkey and signs in with it, through the picture."""
    agent = await truths(own.ws(PROJECT, "agent"))
    session, ident = await authenticator(agent, handed.target)
    await handed.enter(person)
    await open_view(person)
    await handed.press(person, "#make")
    await handed.page("said", "create public-key")
    await handed.press(person, "#use")
    await handed.page("said", "get public-key")
    kept = (await agent.call("WebAuthn.getCredentials", {"authenticatorId": ident}, session))["credentials"]
    assert [row["rpId"] for row in kept] == ["localhost"]
    await person.press("button[formaction$='/done']")
    await person.heading("Done")


async def test_without_an_authenticator_the_page_can_still_be_used(handed: Handed, person: Person) -> None:
    """Chromium's own window, which no picture shows, stays away: the person chooses another way."""
    await handed.enter(person)
    await open_view(person)
    for button in ("#make", "#use"):
        await handed.press(person, button)
        await handed.page("said", "asked")
        await handed.press(person, "#other")
        await handed.page("said", "another way")
        await handed.eval("location.reload()")
        await handed.page("typeof said === 'string' && said", "nothing")


async def test_a_window_that_was_there_before_goes_with_a_reload(handed: Handed, person: Person) -> None:
    """The agent pressed the button before it asked: its tab takes no input any more, until the person loads the page anew."""
    for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
        where = {"type": kind, "x": 100, "y": 40, "button": "left", "buttons": buttons, "clickCount": 1}
        await handed.truth.call("Input.dispatchMouseEvent", where, handed.session)
    await handed.page("said", "asked")
    await handed.enter(person)
    await open_view(person)
    await person.eval("document.querySelector('iframe').contentDocument.querySelector('#reload').click()")
    await handed.page("typeof said === 'string' && said", "nothing")
    await handed.press(person, "#other")
    await handed.page("said", "another way")


async def test_an_authenticator_is_its_own_tabs_only(own: Stack, pages: Pages, handed: Handed, truths: Callable[..., Any]) -> None:
    """Neither does another session's tab use it, nor can that session name it, and it ends with its client."""
    agent = await truths(own.ws(PROJECT, "agent"))
    session, ident = await authenticator(agent, handed.target)
    await handed.eval("make.click()")
    await handed.page("said", "create public-key")
    other = await truths(own.ws(PROJECT, "neighbour"))
    tab = (await other.targets())[0]["targetId"]
    neighbours = await other.attach(tab)
    for method in ("WebAuthn.getCredentials", "WebAuthn.clearCredentials", "WebAuthn.removeVirtualAuthenticator"):
        with pytest.raises(CdpError):
            await other.call(method, {"authenticatorId": ident}, neighbours)
    await other.call("WebAuthn.enable", {"enableUI": False}, neighbours)
    for method in ("WebAuthn.getCredentials", "WebAuthn.clearCredentials", "WebAuthn.removeVirtualAuthenticator"):
        with pytest.raises(CdpError):
            await other.call(method, {"authenticatorId": ident}, neighbours)
    await other.call("Page.navigate", {"url": f"{pages.other}/passkey.html"}, neighbours)
    assert await other.wait(tab, "typeof said === 'string' && said", "nothing") == "nothing"
    await other.eval(tab, "use.click()")
    assert await other.wait(tab, "said", "get public-key", 1.5) != "get public-key"
    for root in (agent, other):
        with pytest.raises(CdpError):
            await root.call("WebAuthn.getCredentials", {"authenticatorId": ident})
    assert len((await agent.call("WebAuthn.getCredentials", {"authenticatorId": ident}, session))["credentials"]) == 1

"""The page of one handoff: what is asked, the view, *Done* and *I can't*."""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

from ...errors import TelebrowserError
from ..handoff.machine import Handoff
from ..handoff.service import MAX_NOTE
from ..handoff.view import Grant
from ..state import GATEWAY, Gateway
from . import events
from .people import Person, give_cookie, handoff_cookie, text_of
from .render import page, render
from .shared import PEOPLE, here

SETTLED_SECONDS = 15.0


async def look(request: web.Request) -> web.StreamResponse:
    """``GET /h/<token>``: nothing but a button, because programs that preview links must not use one up."""
    gateway = request.app[GATEWAY]
    gateway.handoffs.check_link(request.match_info["token"])
    return page("continue.html", root=here(gateway, request), what="An agent asks you for a step in its browser.")


async def enter(request: web.Request) -> web.StreamResponse:
    """``POST /h/<token>``: use the link up; the cookie opens the page from now on."""
    gateway = request.app[GATEWAY]
    handoff, cookie = gateway.handoffs.open_link(request.match_info["token"])
    root = here(gateway, request)
    response = web.HTTPSeeOther(f"{root}/handoff/{handoff.id}")
    give_cookie(response, request, gateway.origins, handoff_cookie(handoff.id), cookie, f"{root}/handoff/{handoff.id}")
    return response


async def show(request: web.Request) -> web.StreamResponse:
    """``GET /handoff/<id>``."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    try:
        person, handoff = people.guest(request, gateway.handoffs)
    except TelebrowserError:
        return await over(gateway, request, people.former_guest(request))
    return page(
        "handoff.html",
        frames=gateway.settings.view_url,
        root=here(gateway, request),
        handoff=handoff,
        form=people.form_token(person),
        max_note=MAX_NOTE,
        **_state(gateway, handoff, person),
    )


async def follow(request: web.Request) -> web.StreamResponse:
    """``GET /handoff/<id>/events``: the part of the page that changes, until the handoff has ended."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person, _ = people.guest(request, gateway.handoffs)

    def part() -> str | None:
        try:
            handoff = gateway.handoffs.page(person.cookie)
        except TelebrowserError:
            return None
        return render("handoff_state.html", handoff=handoff, **_state(gateway, handoff, person))

    return await events.stream(request, gateway.handoffs, part)


async def take(request: web.Request) -> web.StreamResponse:
    """``POST /handoff/<id>/take``, with ``force`` to take over from somebody else: the address of the view."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person, handoff = people.guest(request, gateway.handoffs)
    fields = await people.form(request, person)
    return _granted(await gateway.handoffs.take(handoff.id, person.who, force=fields.get("force") == "yes", secure=_is_secure(fields)))


async def watch(request: web.Request) -> web.StreamResponse:
    """``POST /handoff/<id>/watch``: the address of a view that cannot be touched."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person, handoff = people.guest(request, gateway.handoffs)
    fields = await people.form(request, person)
    return _granted(await gateway.handoffs.watch(handoff.id, secure=_is_secure(fields)))


async def finish(request: web.Request) -> web.StreamResponse:
    """``POST /handoff/<id>/done`` or ``…/failed``, with a note."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person, handoff = people.guest(request, gateway.handoffs)
    fields = await people.form(request, person)
    note = text_of(fields, "note", MAX_NOTE)
    if request.match_info["end"] == "done":
        await gateway.handoffs.done(handoff.id, note)
    else:
        await gateway.handoffs.failed(handoff.id, note)
    raise web.HTTPSeeOther(f"{here(gateway, request)}/handoff/{handoff.id}")


async def over(gateway: Gateway, request: web.Request, person: Person) -> web.Response:
    """What is left to say to somebody whose handoff has ended; no more than how it ended.

    It is said once what follows an end is done: who reads that it is over may rely on the login being on the disk.
    """
    ident = request.match_info["id"]
    ended = next((handoff for handoff in gateway.handoffs.everything() if handoff.id == ident), None)
    if ended is not None and not ended.is_open:
        ended = await gateway.handoffs.wait(ident, SETTLED_SECONDS)
    return page("over.html", root=here(gateway, request), state=ended.state if ended is not None else "expired", via=ended.via if ended else "")


def _state(gateway: Gateway, handoff: Handoff, person: Person) -> dict[str, Any]:
    controller = gateway.handoffs.controlled_by(handoff)
    return {
        "now": time.time(),
        "position": gateway.handoffs.position(handoff),
        "control": "none" if controller is None else "own" if controller == person.who else "other",
    }


def _is_secure(fields: dict[str, str]) -> bool:
    """Whether the person's page told that its browser takes it for a safe one."""
    return fields.get("secure") != "no"


def _granted(grant: Grant) -> web.Response:
    return web.json_response({"url": grant.url, "role": grant.role, "instead": grant.instead})

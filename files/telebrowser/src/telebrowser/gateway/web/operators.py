"""The operator's page: browsers, sessions and handoffs, and what can be done with them."""

from __future__ import annotations

import base64
import time
from typing import Any

from aiohttp import web

from ...errors import TelebrowserError
from ...project import is_valid
from ..handoff.links import OPERATOR_SECONDS, Purpose
from ..handoff.machine import Handoff
from ..lifecycle import ProjectBrowser
from ..operator_login import EVERYTHING
from ..state import GATEWAY, Gateway
from . import events
from .people import OPERATOR_COOKIE, Person, give_cookie
from .render import page, render
from .shared import PEOPLE, here

PAST_SHOWN = 10
HOLD_MINUTES = 60
PICTURE_WIDTH = 480
ACTIONS = ("start", "stop", "focus", "hold", "release")


async def look(request: web.Request) -> web.StreamResponse:
    """``GET /login/<token>``: a button, as for handoffs."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    people.links.verify(request.match_info["token"], Purpose.LOGIN)
    return page("continue.html", root=here(gateway, request), what="This opens the page that shows and steers the browsers.")


async def enter(request: web.Request) -> web.StreamResponse:
    """``POST /login/<token>``: use the link up."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    cookie = people.links.redeem(request.match_info["token"], Purpose.LOGIN, seconds=OPERATOR_SECONDS)
    scope = people.links.verify(cookie, Purpose.OPERATOR).subject
    gateway.audit.write("" if scope == EVERYTHING else scope, "operator_login")
    root = here(gateway, request)
    response = web.HTTPSeeOther(root + "/")
    give_cookie(response, request, gateway.origins, OPERATOR_COOKIE, cookie, root + "/")
    return response


async def leave(request: web.Request) -> web.StreamResponse:
    """``POST /logout``."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    await people.form(request, people.operator(request))
    root = here(gateway, request)
    response = web.HTTPSeeOther(root + "/")
    response.del_cookie(OPERATOR_COOKIE, path=root + "/")
    return response


async def show(request: web.Request) -> web.StreamResponse:
    """``GET /``; without a cookie it only says how to get one."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    root = here(gateway, request)
    try:
        person = people.operator(request)
    except TelebrowserError:
        return page("login.html", status=403, root=root)
    return page("dashboard.html", root=root, person=person, **_overview(gateway, person, people.form_token(person)))


async def follow(request: web.Request) -> web.StreamResponse:
    """``GET /events``: the part of the page that changes."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person = people.operator(request)
    root, form = here(gateway, request), people.form_token(person)

    def part() -> str | None:
        try:
            people.operator(request)
        except TelebrowserError:
            return None
        return render("overview.html", root=root, **_overview(gateway, person, form))

    return await events.stream(request, gateway.handoffs, part)


async def act(request: web.Request) -> web.StreamResponse:
    """``POST /projects/<project>/<action>``."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person, browser = _browser(request)
    await people.form(request, person)
    action = request.match_info["action"]
    gateway.audit.write(browser.project, "operator", action=action)
    if action == "start":
        await browser.start()
    elif action == "stop":
        browser.engines.disconnect()
        await browser.stop()
    elif action == "focus":
        await browser.focus()
    else:
        browser.hold(HOLD_MINUTES if action == "hold" else 0)
    raise web.HTTPSeeOther(here(gateway, request) + "/")


async def answer(request: web.Request) -> web.StreamResponse:
    """``POST /handoffs/<id>/open`` to the page of a handoff, or ``…/cancel``."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person = people.operator(request)
    await people.form(request, person)
    ident = request.match_info["id"]
    handoff = next((each for each in gateway.handoffs.everything() if each.id == ident and person.may(each.project)), None)
    if handoff is None or not handoff.is_open:
        raise TelebrowserError("NOT_FOUND", "This handoff is over")
    root = here(gateway, request)
    if request.match_info["way"] == "cancel":
        await gateway.handoffs.cancel(handoff.id, via="operator")
        raise web.HTTPSeeOther(root + "/")
    token = people.links.issue(Purpose.HANDOFF, handoff.id, handoff.deadline)
    raise web.HTTPSeeOther(f"{root}/h/{token}")


async def picture(request: web.Request) -> web.StreamResponse:
    """``POST /projects/<project>/picture``: the selected tab, small; only when the operator asks for it."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person, browser = _browser(request)
    await people.form(request, person)
    link = browser.link
    if link is None or browser.state != "up":
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"The browser of {browser.project} does not run")
    await link.selection.look()
    tabs = [link.targets.page_for(tab) for tab in link.selection.selected()]
    chosen = [page for page in (*tabs, *(info["targetId"] for info in link.targets.pages())) if page]
    if not chosen:
        raise TelebrowserError("NOT_FOUND", "There is no tab")
    gateway.audit.write(browser.project, "operator", action="picture")
    session = (await link.call("Target.attachToTarget", {"targetId": chosen[0], "flatten": True}))["sessionId"]
    try:
        size = (await link.call("Page.getLayoutMetrics", {}, session))["cssVisualViewport"]
        scale = min(1.0, PICTURE_WIDTH / max(1, size["clientWidth"]))
        clip = {"x": size["pageX"], "y": size["pageY"], "width": size["clientWidth"], "height": size["clientHeight"], "scale": scale}
        shot = await link.call("Page.captureScreenshot", {"format": "jpeg", "quality": 60, "clip": clip}, session)
    finally:
        link.post("Target.detachFromTarget", {"sessionId": session})
    return web.Response(body=base64.b64decode(shot["data"]), content_type="image/jpeg")


def _browser(request: web.Request) -> tuple[Person, ProjectBrowser]:
    """The operator and the project that the path names. Raises `TelebrowserError` NOT_FOUND, also for one that is not in the operator's scope."""
    gateway, people = request.app[GATEWAY], request.app[PEOPLE]
    person = people.operator(request)
    project = request.match_info["project"]
    known = {browser.project for browser in gateway.browsers.all()}
    if not is_valid(project) or not person.may(project) or (project not in known and person.scope != project):
        raise TelebrowserError("NOT_FOUND", "There is no such project")
    return person, gateway.browsers.get(project)


def _overview(gateway: Gateway, person: Person, form: str) -> dict[str, Any]:
    """What the page shows: no address, no title and no content of any tab."""
    if person.scope != EVERYTHING:
        gateway.browsers.get(person.scope)
    browsers = sorted((browser for browser in gateway.browsers.all() if person.may(browser.project)), key=lambda browser: browser.project)
    handoffs = [handoff for handoff in gateway.handoffs.everything() if person.may(handoff.project)]
    waiting = sorted((handoff for handoff in handoffs if handoff.is_open), key=lambda handoff: (handoff.desktop, gateway.handoffs.position(handoff)))
    past: list[Handoff] = sorted((handoff for handoff in handoffs if not handoff.is_open), key=lambda handoff: -(handoff.ended_at or 0))
    return {
        "form": form,
        "now": time.time(),
        "projects": [(browser.status(), browser.hold_until) for browser in browsers],
        "waiting": waiting,
        "past": past[:PAST_SHOWN],
    }

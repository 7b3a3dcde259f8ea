"""Handoffs over HTTP, for whoever holds the project's token: agents without MCP, and the operator's verbs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from ...errors import TelebrowserError
from ..operator_login import login_link
from .asking import MAX_WAIT_SECONDS, parse_condition, parse_seconds
from .documents import document
from .machine import CANCELLED, DONE, FAILED, Handoff

if TYPE_CHECKING:
    from ..routes import Call

ASKED = ("reason", "target", "done_when", "agent", "seconds")
ENDED = ("state", "note")


async def ask(call: Call) -> web.StreamResponse:
    """``POST s/<session>/handoff``: a new handoff, or the one that is open on the tab for the same reason."""
    assert call.session is not None
    body = await _body(call, ASKED)
    handoff = await call.gateway.handoffs.ask(
        call.browser.project,
        call.session,
        reason=_text(body, "reason"),
        target=_text(body, "target") or None,
        condition=parse_condition(body.get("done_when")),
        agent=_text(body, "agent"),
        seconds=parse_seconds("seconds", body.get("seconds", 0)),
    )
    told = _told(call, handoff) | {"link": call.gateway.handoffs.link(handoff)}
    return web.json_response(told, status=201)


async def listing(call: Call) -> web.StreamResponse:
    """``GET handoffs``: all that are known of the project, oldest first."""
    return web.json_response({"handoffs": [_told(call, handoff) for handoff in call.gateway.handoffs.of(call.browser.project)]})


async def one(call: Call) -> web.StreamResponse:
    """``GET handoffs/<id>?wait=N``, or ``POST handoffs/<id>`` with the state to end it with."""
    handoffs = call.gateway.handoffs
    handoff = handoffs.find(call.browser.project, call.rest)
    if call.request.method == "POST":
        body = await _body(call, ENDED)
        state, note = _text(body, "state"), _text(body, "note")
        if state == DONE:
            handoff = await handoffs.done(handoff.id, note, via="operator")
        elif state == FAILED:
            handoff = await handoffs.failed(handoff.id, note, via="operator")
        elif state == CANCELLED:
            handoff = await handoffs.cancel(handoff.id, note=note)
        else:
            raise TelebrowserError("INVALID_ARGS", f"state must be {DONE}, {FAILED} or {CANCELLED}")
    else:
        handoff = await handoffs.wait(handoff.id, parse_seconds("wait", _number(call.request.query.get("wait", "0"))))
    return web.json_response(_told(call, handoff))


async def open_view(call: Call) -> web.StreamResponse:
    """``POST open``: where a person goes now: to the page of the project's open handoff that is next, else to the project's own page or the view.

    With ``?dashboard=1`` to the project's page in any case.
    """
    handoffs = call.gateway.handoffs
    waiting = sorted((handoff for handoff in handoffs.of(call.browser.project) if handoff.is_open), key=handoffs.position)
    if waiting and "dashboard" not in call.request.query:
        return web.json_response({"kind": "handoff", "handoff": waiting[0].id, "url": handoffs.link(waiting[0])})
    if handoffs.pages_url is not None:
        return web.json_response({"kind": "dashboard", "handoff": None, "url": login_link(call.gateway, call.browser.project)})
    return web.json_response({"kind": "view", "handoff": None, "url": call.gateway.settings.view_url})


def _told(call: Call, handoff: Handoff) -> dict[str, Any]:
    return document(handoff, call.gateway.handoffs.position(handoff))


async def _body(call: Call, known: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object of a request. Raises `TelebrowserError`."""
    try:
        body = json.loads(await call.request.read())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise TelebrowserError("INVALID_ARGS", "The request's body must be a JSON object")
    unknown = sorted(set(body) - set(known))
    if unknown:
        raise TelebrowserError("INVALID_ARGS", f"There is no {unknown[0][:40]!r}; there are {', '.join(known)}")
    return body


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TelebrowserError("INVALID_ARGS", f"{name} must be a text")
    return value


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else MAX_WAIT_SECONDS + 1

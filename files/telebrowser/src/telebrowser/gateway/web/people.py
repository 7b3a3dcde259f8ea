"""Who a person is: the cookie of one handoff's page, an operator's cookie, or a name that a trusted proxy vouches for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from aiohttp import web

from ...errors import TelebrowserError
from ..handoff.links import Links, Purpose, forbidden
from ..handoff.machine import Handoff
from ..handoff.service import Handoffs
from ..operator_login import EVERYTHING
from ..origin import Origins

OPERATOR_COOKIE = "telebrowser_operator"


class Person(NamedTuple):
    """Somebody who was let in. ``cookie`` is what a form is bound to, ``who`` tells people apart, ``scope`` is a project or `EVERYTHING`."""

    cookie: str
    who: str
    scope: str

    def may(self, project: str) -> bool:
        """Whether the project is within what this person may see and do."""
        return self.scope in (EVERYTHING, project)


class People:
    """Finds out who asks. ``remote_users`` are the names of operators that a trusted proxy may put into ``Remote-User``."""

    def __init__(self, links: Links, origins: Origins, remote_users: Iterable[str]) -> None:
        self.links = links
        self._origins = origins
        self._remote_users = frozenset(remote_users)

    def operator(self, request: web.Request) -> Person:
        """The operator who asks. Raises `TelebrowserError` FORBIDDEN."""
        name = request.headers.get("Remote-User", "")
        if name and name in self._remote_users and self._origins.trusts(request):
            return Person(f"remote:{name}", f"remote:{name}", EVERYTHING)
        cookie = request.cookies.get(OPERATOR_COOKIE, "")
        claim = self.links.verify(cookie, Purpose.OPERATOR)
        return Person(cookie, claim.who, claim.subject)

    def guest(self, request: web.Request, handoffs: Handoffs) -> tuple[Person, Handoff]:
        """Who has the cookie of the handoff that the path names, and the handoff. Raises `TelebrowserError` FORBIDDEN once it has ended."""
        person = self.former_guest(request)
        handoff = handoffs.page(person.cookie)
        return person._replace(scope=handoff.project), handoff

    def former_guest(self, request: web.Request) -> Person:
        """Like `guest`, also after the end of the handoff; without a scope. Raises `TelebrowserError` FORBIDDEN."""
        ident = request.match_info["id"]
        cookie = request.cookies.get(handoff_cookie(ident), "")
        claim = self.links.verify(cookie, Purpose.PAGE)
        if claim.subject != ident:
            raise forbidden()
        return Person(cookie, claim.who, "")

    async def form(self, request: web.Request, person: Person) -> dict[str, str]:
        """The fields of a posted form. Raises `TelebrowserError` FORBIDDEN unless it comes from a page that was given to this person."""
        fields = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        self.links.check_form(person.cookie, fields.get("form", ""))
        return fields

    def form_token(self, person: Person) -> str:
        """What the person's forms carry."""
        return self.links.form_token(person.cookie)


def handoff_cookie(ident: str) -> str:
    """The name of the cookie of one handoff's page."""
    return f"telebrowser_{ident}"


def secure(request: web.Request, origins: Origins) -> bool:
    """Whether the person came by TLS, as far as a trusted proxy tells."""
    return origins.base(request)[0] == "https"


def give_cookie(response: web.StreamResponse, request: web.Request, origins: Origins, name: str, value: str, path: str) -> None:
    """A cookie that no script and no other site's page can use."""
    response.set_cookie(name, value, path=path, httponly=True, samesite="Strict", secure=secure(request, origins))


def text_of(fields: dict[str, str], name: str, limit: int) -> str:
    """One field of a form. Raises `TelebrowserError` INVALID_ARGS when it is longer than ``limit`` characters."""
    value = fields.get(name, "").strip()
    if len(value) > limit:
        raise TelebrowserError("INVALID_ARGS", f"The {name} has {len(value)} characters; {limit} fit")
    return value

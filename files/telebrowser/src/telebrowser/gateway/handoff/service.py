"""Handoffs as agents ask for them and people end them: the state machine, carried out on browsers, view, disk and notices.

Who calls what: the engine and the agents' HTTP paths use the first part, by way of `agents`; the pages for people and the
operator's verbs the second; the life of the browsers the third.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import TYPE_CHECKING

from ...errors import TelebrowserError
from .conditions import BadSelector, Watcher
from .keeper import MAX_NOTE as MAX_NOTE
from .keeper import Keeper, one_line
from .links import Purpose, forbidden
from .machine import CANCELLED, DONE, FAILED, Condition, Handoff
from .view import Grant

if TYPE_CHECKING:
    from ..browser import BrowserLink
    from ..lifecycle import ProjectBrowser

log = logging.getLogger(__name__)

MAX_REASON = 500
AFTERWARDS_SECONDS = 900.0
"""How long a page still tells how its handoff ended: a cookie that is over at the deadline could not even say that it was too late."""


class Handoffs(Keeper):
    """The handoffs of one gateway. Set `view` and `pages_url` before anybody asks, where there are any."""

    # -- for agents

    async def ask(
        self, project: str, session: str, *, reason: str, target: str | None = None, condition: Condition | None = None, agent: str = "", seconds: float = 0.0
    ) -> Handoff:
        """Ask for a person, at the page ``target`` (default: the one that the session's clients used last), starting the browser if needed.

        The handoff stays open for TELEBROWSER_HANDOFF_MINUTES, or for ``seconds`` if that is longer. Asking again with the same
        reason for the same tab gives the same handoff. Raises `TelebrowserError`: INVALID_ARGS, TAB_CLOSED, HANDOFF_OPEN.
        """
        reason = one_line(reason, MAX_REASON)
        if not reason:
            raise TelebrowserError("INVALID_ARGS", "reason is empty", "Say in one sentence what the person is to do.")
        browser = self._browsers.get(project)
        link = await browser.ensure_up()
        release = await link.keep_session(session)
        try:
            page = _page(link, session, target)
            known = next((each for each in self._desk.open_of(project) if each.target == page), None)
            if known is not None and (known.session, known.reason) == (session, reason):
                release()
                return known
            if condition is not None and condition.decisive:
                await _must_not_hold(link, page, condition)
            now = time.time()
            handoff = Handoff(
                id=f"h{secrets.token_hex(8)}",
                project=project,
                session=session,
                target=page,
                reason=reason,
                desktop=self.view.desktop(project),
                asked_at=now,
                deadline=now + max(self._settings.handoff_minutes * 60.0, seconds),
                agent=one_line(agent, 80),
                condition=condition,
            )
            effects = self._desk.ask(handoff)
        except BaseException:
            release()
            raise
        self._open_scene(handoff, browser, link, release)
        await self._apply(effects)
        # It may have moved on to the page that opened it meanwhile.
        known = self._now(handoff)
        if link.targets.info(known.target) is None:
            self._lost_page(known, None)
        return self._now(handoff)

    def find(self, project: str, ident: str) -> Handoff:
        """A handoff of a project. Raises `TelebrowserError` NOT_FOUND."""
        handoff = self._desk.get(ident)
        if handoff is None or handoff.project != project:
            raise TelebrowserError("NOT_FOUND", f"There is no handoff {ident[:40]!r}", "List them: `telebrowser handoffs --all`.")
        return handoff

    def of(self, project: str, session: str | None = None) -> list[Handoff]:
        """All handoffs of a project, or of one of its sessions, oldest first."""
        return [handoff for handoff in self._desk.all() if handoff.project == project and session in (None, handoff.session)]

    def position(self, handoff: Handoff) -> int:
        """How many others are before it at the screen."""
        return self._desk.position(handoff)

    async def cancel(self, ident: str, *, via: str = "agent", note: str = "") -> Handoff:
        """The agent does not need it any more. One that has ended stays as it is."""
        return await self._end(ident, CANCELLED, via, note)

    def held(self, project: str, target: str) -> Handoff | None:
        """The open handoff to which a page belongs: its own tab, or one that was opened from it."""
        open_ones = {handoff.target: handoff for handoff in self._desk.open_of(project)}
        if not open_ones:
            return None
        link = self._browsers.get(project).link
        for _ in range(32):
            if target in open_ones:
                return open_ones[target]
            info = link.targets.info(target) if link is not None else None
            target = str(info.get("openerId") or "") if info else ""
        return None

    def guarded(self, project: str, target: str) -> Handoff | None:
        """Like `held`, for whoever has to refuse an agent's action; None where the operator has switched that off."""
        return self.held(project, target) if self._settings.handoff_guard else None

    # -- for people

    def check_link(self, token: str) -> None:
        """Raises `TelebrowserError` FORBIDDEN unless `open_link` would open; uses nothing up."""
        self._opened(token, Purpose.HANDOFF)

    def open_link(self, token: str) -> tuple[Handoff, str]:
        """Use up a link: the handoff and the cookie of its page. Raises `TelebrowserError` FORBIDDEN."""
        handoff = self._opened(token, Purpose.HANDOFF)
        cookie = self.links.redeem(token, Purpose.HANDOFF, seconds=max(0.0, handoff.deadline - time.time()) + AFTERWARDS_SECONDS)
        if handoff.seen_at is None:
            self._audit.write(handoff.project, "handoff_seen", id=handoff.id)
            handoff = self._update(handoff, seen_at=time.time())
        return handoff, cookie

    def page(self, cookie: str) -> Handoff:
        """The open handoff whose page a cookie opens. Raises `TelebrowserError` FORBIDDEN, also once it has ended."""
        return self._opened(cookie, Purpose.PAGE)

    def everything(self) -> list[Handoff]:
        """All handoffs of all projects, oldest first, for operators."""
        return self._desk.all()

    async def done(self, ident: str, note: str = "", *, via: str = "person") -> Handoff:
        """The step is done. When this returns, the cookies are on disk and the person's rights are withdrawn."""
        return await self._end(ident, DONE, via, note)

    async def failed(self, ident: str, why: str = "", *, via: str = "person") -> Handoff:
        """The person cannot do it."""
        return await self._end(ident, FAILED, via, why)

    async def take(self, ident: str, who: str, *, force: bool = False, secure: bool = True) -> Grant:
        """Control of the screen for ``who`` (any text that tells people apart), with the handoff's tab in front. ``secure``: see `ViewControl.grant`.

        Raises `TelebrowserError` HANDOFF_OPEN while somebody else has control, unless ``force``; NOT_FOUND; BROWSER_UNAVAILABLE.
        """
        await self._apply(self._desk.take(ident, who, force=force))
        try:
            return await self._grant(self._desk_get(ident), "controller", secure=secure)
        except TelebrowserError:
            await self._apply(self._desk.release(ident, who))
            raise

    async def watch(self, ident: str, *, secure: bool = True) -> Grant:
        """A way to see the screen without touching it. Raises `TelebrowserError` like `take`."""
        handoff = self._desk.get(ident)
        if handoff is None or not handoff.is_open:
            raise TelebrowserError("NOT_FOUND", "There is no such open handoff")
        return await self._grant(handoff, "viewer", secure=secure)

    async def release(self, ident: str, who: str) -> None:
        """``who`` gives control back; the handoff stays open."""
        await self._apply(self._desk.release(ident, who))

    def controlled_by(self, handoff: Handoff) -> str | None:
        """Who has control for this handoff now."""
        controller = self._desk.controller(handoff.desktop)
        return controller.who if controller is not None and controller.handoff == handoff.id else None

    def changed(self) -> asyncio.Event:
        """Set at the next change of any handoff."""
        return self._changed

    def warnings(self) -> list[str]:
        """What people should know of notifications."""
        return self.notices.warnings()

    # -- for the browsers' life

    def busy(self, project: str) -> bool:
        """Whether a person is wanted or looks: the browser must not be stopped for being idle."""
        return bool(self._desk.open_of(project)) or self.view.viewers(project) > 0

    def lets_raise(self, project: str) -> bool:
        """Whether a window of the project may be raised at the wish of an agent: not over the one in which a person works."""
        front = self._desk.front(self.view.desktop(project))
        return front is None or front.project == project

    def browser_up(self, browser: ProjectBrowser, link: BrowserLink) -> None:
        """A browser runs, or was taken over: go on with its handoffs, and raise again the window that a new one may cover."""
        for handoff in self._desk.open_of(browser.project):
            if handoff.id not in self._scenes:
                self._spawn(self._resume(handoff, browser, link))
        front = self._desk.front(self.view.desktop(browser.project))
        if front is not None and front.project != browser.project:
            self._spawn(self._to_front(front))

    def browser_down(self, project: str, why: str) -> None:
        """A browser has ended, and with it the pages that people were asked to."""
        for handoff in self._desk.open_of(project):
            self._spawn(self._end(handoff.id, FAILED, "browser", f"the browser ended{f' ({why})' if why else ''}"))

    def page_gone(self, project: str, target: str, opener: str | None) -> None:
        """A page of a session has closed. A sign-in window that closes itself hands over to the page that opened it."""
        if self._browsers.get(project).state != "up":
            # All pages close when their browser does; that is told by `browser_down`.
            return
        for handoff in self._desk.open_of(project):
            if handoff.target == target:
                self._lost_page(handoff, opener)

    # -- inside

    def _opened(self, token: str, purpose: Purpose) -> Handoff:
        claim = self.links.verify(token, purpose)
        handoff = self._desk.get(claim.subject)
        if handoff is None or not handoff.is_open:
            raise forbidden()
        return handoff


def _page(link: BrowserLink, session: str, target: str | None) -> str:
    page = link.latest_page(session) if target is None else target
    if page is None or page not in link.targets.owned(session):
        raise TelebrowserError("TAB_CLOSED", "The session has no such tab")
    return page


async def _must_not_hold(link: BrowserLink, page: str, condition: Condition) -> None:
    watcher = Watcher(link, page, condition._replace(url=None))
    try:
        holds = await watcher.holds()
    except BadSelector:
        raise TelebrowserError("INVALID_ARGS", f"done_when: {condition.selector!r} is not a CSS selector") from None
    finally:
        watcher.close()
    if holds:
        raise TelebrowserError("INVALID_ARGS", "done_when: the page shows this already", "Name something that it shows only once the person is done.")

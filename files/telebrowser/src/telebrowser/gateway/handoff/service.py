"""Handoffs as agents ask for them and people end them: the state machine, carried out on browsers, view, disk and notices.

Who calls what: the engine and the agents' HTTP paths use the first part, by way of `agents`; the pages for people and the
operator's verbs the second; the life of the browsers the third.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import Settings
from ...datadir import DataDir
from ...errors import ConfigError, TelebrowserError
from .. import wire
from ..audit import Audit
from ..tabs import origin_of
from .conditions import BadSelector, Watcher
from .cookies import commit
from .links import Links, Purpose, forbidden
from .machine import CANCELLED, DONE, FAILED, Begun, Condition, Desk, Effect, Handoff, InFront, NoController, State
from .notices import Notices
from .scene import Scene
from .store import KEPT, Store
from .view import Grant, NoView, Role, ViewControl

if TYPE_CHECKING:
    from ..browser import BrowserLink
    from ..browsers import Browsers
    from ..lifecycle import ProjectBrowser

log = logging.getLogger(__name__)

VIEW_SECONDS = 5.0
RESUME_SECONDS = 30.0
"""How long after a start of the gateway a browser with an open handoff may take to appear."""
MAX_REASON = 500
MAX_NOTE = 2000


class Handoffs:
    """The handoffs of one gateway. Set `view` and `pages_url` before anybody asks, where there are any."""

    def __init__(self, data: DataDir, settings: Settings, audit: Audit, browsers: Browsers) -> None:
        self.view: ViewControl = NoView(settings.view_url)
        self.pages_url: str | None = None
        """Where people reach the pages for them; links begin with it. Without, a link is the plain address of the view."""
        self.links = Links((Path(settings.secrets_dir), data.handoffs), data.handoffs / "opened.json")
        self.notices = Notices(settings.notify_urls_file, settings.notify_command)
        self.ended: Counter[str] = Counter()
        self._data = data
        self._settings = settings
        self._audit = audit
        self._browsers = browsers
        self._store = Store(data.handoffs)
        self._desk = Desk()
        self._scenes: dict[str, Scene] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    # -- life

    def start(self) -> None:
        """Take up what a former gateway left. Raises `ConfigError`."""
        self._store.prepare()
        self._desk = Desk(self._store.load())
        for handoff in self._desk.all():
            if not handoff.is_open and not handoff.settled:
                self._spawn(self._settle(handoff))
            elif handoff.is_open and handoff.notified_at is None:
                self._announce(handoff)
        self._spawn(self._expire())
        if any(handoff.is_open for handoff in self._desk.all()):
            self._spawn(self._miss())
        self._prune()

    async def stop(self) -> None:
        """The gateway ends; open handoffs stay open for the next one."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for scene in self._scenes.values():
            scene.close()
        self._scenes.clear()
        await self.notices.aclose()
        await self.view.aclose()

    # -- for agents

    async def ask(
        self, project: str, session: str, *, reason: str, target: str | None = None, condition: Condition | None = None, agent: str = "", seconds: float = 0.0
    ) -> Handoff:
        """Ask for a person, at the page ``target`` (default: the session's latest), starting the browser if needed.

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
        if link.targets.info(page) is None:
            self._lost_page(handoff, None)
        return self._now(handoff)

    async def wait(self, ident: str, seconds: float) -> Handoff:
        """The handoff once it has ended and is settled, or as it is after ``seconds``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._desk_get(ident).settled:
                    await self._changed.wait()
        return self._desk_get(ident)

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

    def link(self, handoff: Handoff) -> str | None:
        """A new address for a person: of the handoff's page, good once, or of the plain view. None when there is neither."""
        if self.pages_url is None:
            plain: str | None = self._settings.view_url
            return plain
        try:
            token = self.links.issue(Purpose.HANDOFF, handoff.id, handoff.deadline)
        except ConfigError as error:
            log.error("no link can be made: %s", error)
            return None
        return f"{self.pages_url.rstrip('/')}/h/{token}"

    def open_link(self, token: str) -> tuple[Handoff, str]:
        """Use up a link: the handoff and the cookie of its page. Raises `TelebrowserError` FORBIDDEN."""
        handoff = self._opened(token, Purpose.HANDOFF)
        cookie = self.links.redeem(token, Purpose.HANDOFF)
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

    async def take(self, ident: str, who: str, *, force: bool = False) -> Grant:
        """Control of the screen for ``who`` (any text that tells people apart), with the handoff's tab in front.

        Raises `TelebrowserError` HANDOFF_OPEN while somebody else has control, unless ``force``; NOT_FOUND; BROWSER_UNAVAILABLE.
        """
        await self._apply(self._desk.take(ident, who, force=force))
        try:
            return await self._grant(self._desk_get(ident), "controller")
        except TelebrowserError:
            await self._apply(self._desk.release(ident, who))
            raise

    async def watch(self, ident: str) -> Grant:
        """A way to see the screen without touching it. Raises `TelebrowserError` like `take`."""
        handoff = self._desk.get(ident)
        if handoff is None or not handoff.is_open:
            raise TelebrowserError("NOT_FOUND", "There is no such open handoff")
        return await self._grant(handoff, "viewer")

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

    async def changes(self) -> AsyncIterator[None]:
        """Once now, and whenever any handoff has changed; several changes at once are one."""
        while True:
            changed = self._changed
            yield
            await changed.wait()

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

    async def _end(self, ident: str, state: State, via: str, note: str) -> Handoff:
        effects = self._desk.end(ident, state, via=via, note=one_line(note, MAX_NOTE), now=time.time()) if self._desk.get(ident) else []
        # Whoever asked may vanish meanwhile; what follows an end is done all the same.
        await asyncio.shield(self._spawn(self._apply(effects)))
        return await self.wait(ident, VIEW_SECONDS + RESUME_SECONDS)

    async def _apply(self, effects: list[Effect]) -> None:
        if not effects:
            return
        for effect in effects:
            self._save(effect.handoff)
        self._tell()
        # The next one's turn does not wait for what follows the former one's end.
        await asyncio.gather(*(self._carry_out(effect) for effect in effects))

    async def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Begun):
            self._begin(effect.handoff)
        elif isinstance(effect, InFront):
            await self._to_front(effect.handoff)
        elif isinstance(effect, NoController):
            await self._revoke(effect.handoff, "controller")
        else:
            await self._settle(effect.handoff)

    def _begin(self, handoff: Handoff) -> None:
        self._audit.write(handoff.project, "handoff", id=handoff.id, session=handoff.session, agent=handoff.agent or None)
        self._announce(handoff)

    def _announce(self, handoff: Handoff) -> None:
        if self.notices.announce(handoff, lambda: self.link(handoff)):
            self._update(handoff, notified_at=time.time())

    def _open_scene(self, handoff: Handoff, browser: ProjectBrowser, link: BrowserLink, release: Any) -> None:
        self._scenes[handoff.id] = Scene(handoff, browser, link, release, lambda: self._end(handoff.id, DONE, "condition", ""))

    async def _to_front(self, handoff: Handoff) -> None:
        for ident, scene in self._scenes.items():
            if ident != handoff.id and self._desk_get(ident).desktop == handoff.desktop:
                scene.step_back()
        if (own := self._scenes.get(handoff.id)) is not None:
            await own.come_forward()

    async def _grant(self, handoff: Handoff, role: Role) -> Grant:
        try:
            async with asyncio.timeout(VIEW_SECONDS):
                grant = await self.view.grant(handoff, role)
        except TimeoutError:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The view did not answer within {VIEW_SECONDS:.0f} s") from None
        if not self._desk_get(handoff.id).is_open:
            await self._revoke(handoff, None)
            raise TelebrowserError("NOT_FOUND", "The handoff has just ended")
        return grant

    async def _revoke(self, handoff: Handoff, role: Role | None) -> None:
        try:
            async with asyncio.timeout(VIEW_SECONDS):
                await self.view.revoke(handoff, role)
        except TimeoutError:
            log.error("[%s] the view did not withdraw the rights of %s within %.0f s", handoff.project, handoff.id, VIEW_SECONDS)

    async def _settle(self, handoff: Handoff) -> None:
        """What follows an end, once; after a restart of the gateway in the middle, again."""
        scene = self._scenes.pop(handoff.id, None)
        browser = self._browsers.get(handoff.project)
        link = scene.link if scene is not None else browser.link
        info: dict[str, Any] = {}
        saved = False
        if link is not None and link.down is None:
            profile = self._data.profile(handoff.project)
            info, saved, _ = await asyncio.gather(_describe(link, handoff.target), commit(link, profile), self._revoke(handoff, None))
            if not saved:
                log.error("[%s] the cookies of handoff %s were not seen to be written; they will be within half a minute", handoff.project, handoff.id)
        else:
            await self._revoke(handoff, None)
        url = str(info.get("url", ""))
        self._update(handoff, url=url, title=str(info.get("title", "")), cookies_saved=saved, settled=True)
        if scene is not None:
            scene.close()
        browser.touch()
        self.ended[handoff.state] += 1
        origin = origin_of(url) if url else None
        self._audit.write(handoff.project, "handoff_end", id=handoff.id, session=handoff.session, state=handoff.state, via=handoff.via, origin=origin)
        self.notices.ended(handoff)
        self._prune()

    async def _resume(self, handoff: Handoff, browser: ProjectBrowser, link: BrowserLink) -> None:
        """Go on with a handoff of a former gateway, if its tab is still there."""
        if link.targets.owner(handoff.target) != handoff.session:
            await self._end(handoff.id, FAILED, "browser", "the tab was closed")
            return
        release = await link.keep_session(handoff.session)
        self._open_scene(handoff, browser, link, release)
        if self._desk.front(handoff.desktop) == handoff:
            # The person may be at work in a window that the tab has opened: nothing is selected or raised anew.
            self._scenes[handoff.id].stay_in_front()
        self._tell()

    def _lost_page(self, handoff: Handoff, opener: str | None) -> None:
        scene = self._scenes.get(handoff.id)
        if opener and scene is not None and scene.link.targets.owner(opener) == handoff.session:
            scene.move(self._update(handoff, target=opener))
            return
        self._spawn(self._end(handoff.id, FAILED, "browser", "the tab was closed"))

    async def _expire(self) -> None:
        """End what is over in time: sleep until the next deadline, or until something changes."""
        while True:
            await self._apply(self._desk.expire(time.time()))
            changed = self._changed
            deadlines = [handoff.deadline for handoff in self._desk.all() if handoff.is_open]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(deadlines) - time.time()) if deadlines else None):
                    await changed.wait()

    async def _miss(self) -> None:
        """End the handoffs of browsers that are not there any more after a restart."""
        await self._browsers.supervisor.connected.wait()
        await asyncio.sleep(RESUME_SECONDS)
        for handoff in self._desk.all():
            if handoff.is_open and handoff.id not in self._scenes:
                await self._end(handoff.id, FAILED, "browser", "the browser had ended")

    def _opened(self, token: str, purpose: Purpose) -> Handoff:
        claim = self.links.verify(token, purpose)
        handoff = self._desk.get(claim.subject)
        if handoff is None or not handoff.is_open:
            raise forbidden()
        return handoff

    def _update(self, handoff: Handoff, **changes: object) -> Handoff:
        new = self._desk.update(handoff.id, **changes)
        self._save(new)
        self._tell()
        return new

    def _save(self, handoff: Handoff) -> None:
        # An effect may be older than what has become of its handoff meanwhile.
        self._store.save(self._now(handoff))

    def _now(self, handoff: Handoff) -> Handoff:
        return self._desk_get(handoff.id)

    def _desk_get(self, ident: str) -> Handoff:
        handoff = self._desk.get(ident)
        if handoff is None:
            raise TelebrowserError("NOT_FOUND", f"There is no handoff {ident[:40]!r}")
        return handoff

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _prune(self) -> None:
        over = [handoff for handoff in self._desk.all() if handoff.settled]
        for handoff in over[: max(0, len(over) - KEPT)]:
            self._desk.forget(handoff.id)
            self._store.remove(handoff.id)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("a step of a handoff failed: %s", fault, exc_info=fault)


def one_line(text: str, limit: int) -> str:
    """A text without control characters and with single blanks, cut at ``limit`` characters."""
    words = "".join(letter if letter.isprintable() else " " for letter in text).split()
    joined = " ".join(words)
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


def _page(link: BrowserLink, session: str, target: str | None) -> str:
    own = link.targets.owned(session)
    if target is None and own:
        return own[-1]
    if target not in own:
        raise TelebrowserError("TAB_CLOSED", "The session has no such tab")
    return str(target)


async def _describe(link: BrowserLink, target: str) -> dict[str, Any]:
    """The page's address and title as they are now; what events told of them lags behind."""
    try:
        found: dict[str, Any] = (await link.call("Target.getTargetInfo", {"targetId": target}))["targetInfo"]
    except (wire.ProtocolError, TimeoutError):
        return link.targets.info(target) or {}
    return found


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

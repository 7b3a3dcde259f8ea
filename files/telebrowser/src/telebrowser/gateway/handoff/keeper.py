"""Carries out what the state machine decides: on browsers, view, disk and notices. `service` is what others call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import Settings
from ...datadir import DataDir
from ...errors import ConfigError, TelebrowserError
from .. import wire
from ..audit import Audit
from ..tabs import origin_of
from ..uploads import remove_given
from .cookies import commit
from .links import Links, Purpose
from .machine import DONE, FAILED, Begun, Desk, Effect, Handoff, InFront, NoController, State
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
MAX_NOTE = 2000


class Keeper:
    """The handoffs of one gateway, from their beginning to their end and over restarts."""

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
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for scene in self._scenes.values():
            scene.close()
        self._scenes.clear()
        await self.notices.aclose()
        await self.view.aclose()

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

    # -- what is waited for

    async def wait(self, ident: str, seconds: float) -> Handoff:
        """The handoff once it has ended and is settled, or as it is after ``seconds``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._desk_get(ident).settled:
                    await self._changed.wait()
        return self._desk_get(ident)

    # -- effects

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

    async def _grant(self, handoff: Handoff, role: Role, *, secure: bool) -> Grant:
        try:
            async with asyncio.timeout(VIEW_SECONDS):
                grant = await self.view.grant(handoff, role, secure=secure)
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
        # What a person gave to the page is theirs; the agent could name it to another page.
        await asyncio.to_thread(remove_given, self._data.uploads(handoff.project), handoff.id)
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


async def _describe(link: BrowserLink, target: str) -> dict[str, Any]:
    """The page's address and title as they are now; what events told of them lags behind."""
    try:
        found: dict[str, Any] = (await link.call("Target.getTargetInfo", {"targetId": target}))["targetInfo"]
    except (wire.ProtocolError, TimeoutError):
        return link.targets.info(target) or {}
    return found

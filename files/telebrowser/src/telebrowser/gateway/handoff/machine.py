"""The life of handoffs and whose turn it is on each desktop. No input or output, no clock.

``open → done | failed | expired | cancelled``, once and for good. Any number may be open; on one desktop one of them is in
front, and at most one person controls it. Every change gives effects, which `service` carries out in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ...errors import TelebrowserError

State = Literal["open", "done", "failed", "expired", "cancelled"]
OPEN: State = "open"
DONE: State = "done"
FAILED: State = "failed"
EXPIRED: State = "expired"
CANCELLED: State = "cancelled"
ENDS = (DONE, FAILED, EXPIRED, CANCELLED)
MAX_OPEN = 8
"""Open handoffs of one project."""


class Condition(NamedTuple):
    """What the page must show for the handoff to be done without anybody saying so; every part that is given must hold.

    ``url`` is a pattern with ``*``. It only narrows: an address alone never ends a handoff.
    """

    url: str | None = None
    selector: str | None = None
    text: str | None = None

    @property
    def decisive(self) -> bool:
        """Whether it can end a handoff."""
        return self.selector is not None or self.text is not None


@dataclass(frozen=True)
class Handoff:
    """One request. Times are seconds since the epoch; ``target`` is the page of which the person takes over the tab.

    ``via`` says who ended it: ``person``, ``condition``, ``operator``, ``agent``, ``client`` (declined there), ``deadline`` or
    ``browser``. ``turn`` orders those that wait for one desktop. ``settled`` is True once everything that follows an end is
    done: rights withdrawn, cookies on disk, ``url`` and ``title`` of the page noted.
    """

    id: str
    project: str
    session: str
    target: str
    reason: str
    desktop: str
    asked_at: float
    deadline: float
    agent: str = ""
    condition: Condition | None = None
    state: State = OPEN
    turn: int = 0
    seen_at: float | None = None
    notified_at: float | None = None
    ended_at: float | None = None
    via: str = ""
    note: str = ""
    url: str = ""
    title: str = ""
    cookies_saved: bool = False
    settled: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a person is still awaited."""
        return self.state == OPEN


class Begun(NamedTuple):
    """A new handoff: the browser is kept, and the person is told."""

    handoff: Handoff


class InFront(NamedTuple):
    """It is this one's turn: select its tab, raise its window."""

    handoff: Handoff


class NoController(NamedTuple):
    """Whoever controls the desktop for this handoff must not any more."""

    handoff: Handoff


class Ended(NamedTuple):
    """It has ended: withdraw all rights, save the cookies, let go of the browser, tell the agent."""

    handoff: Handoff


Effect = Begun | InFront | NoController | Ended


class Controller(NamedTuple):
    """Who controls a desktop, and for which handoff."""

    handoff: str
    who: str


class Desk:
    """All handoffs of one gateway."""

    def __init__(self, known: Iterable[Handoff] = ()) -> None:
        self._all: dict[str, Handoff] = {handoff.id: handoff for handoff in known}
        self._controllers: dict[str, Controller] = {}

    # -- looking

    def get(self, ident: str) -> Handoff | None:
        """The handoff with this id."""
        return self._all.get(ident)

    def all(self) -> list[Handoff]:
        """Every one that is known, oldest first."""
        return sorted(self._all.values(), key=lambda handoff: handoff.asked_at)

    def queue(self, desktop: str) -> list[Handoff]:
        """The open ones of a desktop, the one in front first."""
        return sorted((each for each in self._all.values() if each.is_open and each.desktop == desktop), key=lambda each: each.turn)

    def front(self, desktop: str) -> Handoff | None:
        """The one whose turn it is."""
        return next(iter(self.queue(desktop)), None)

    def fronts(self) -> list[Handoff]:
        """The ones in front, of all desktops."""
        desktops = {handoff.desktop for handoff in self._all.values() if handoff.is_open}
        return [front for desktop in sorted(desktops) if (front := self.front(desktop)) is not None]

    def position(self, handoff: Handoff) -> int:
        """How many are before it; 0 when it is in front or has ended."""
        return next((place for place, each in enumerate(self.queue(handoff.desktop)) if each.id == handoff.id), 0)

    def controller(self, desktop: str) -> Controller | None:
        """Who controls a desktop."""
        return self._controllers.get(desktop)

    def open_of(self, project: str) -> list[Handoff]:
        """The open ones of a project, oldest first."""
        return [handoff for handoff in self.all() if handoff.is_open and handoff.project == project]

    # -- changing

    def ask(self, handoff: Handoff) -> list[Effect]:
        """A new one. Raises `TelebrowserError` HANDOFF_OPEN when its tab has one already, or its project too many."""
        own = self.open_of(handoff.project)
        same = next((each for each in own if each.target == handoff.target), None)
        if same is not None:
            raise TelebrowserError("HANDOFF_OPEN", f"Handoff {same.id} is open on this tab already: {same.reason}")
        if len(own) >= MAX_OPEN:
            raise TelebrowserError("HANDOFF_OPEN", f"{len(own)} handoffs of this project are open already", "Wait for one of them, or cancel it.")
        turn = max((each.turn for each in self.queue(handoff.desktop)), default=0) + 1
        new = self._put(replace(handoff, turn=turn, state=OPEN))
        effects: list[Effect] = [Begun(new)]
        if self.front(new.desktop) == new:
            effects.append(InFront(new))
        return effects

    def end(self, ident: str, state: State, *, via: str, note: str = "", now: float) -> list[Effect]:
        """It ends, unless it has before; then nothing happens. The next one's turn begins."""
        handoff = self._all[ident]
        if not handoff.is_open or state == OPEN:
            return []
        was_front = self.front(handoff.desktop) == handoff
        ended = self._put(replace(handoff, state=state, via=via, note=note, ended_at=now))
        controller = self._controllers.get(handoff.desktop)
        if controller is not None and controller.handoff == ident:
            del self._controllers[handoff.desktop]
        effects: list[Effect] = [Ended(ended)]
        following = self.front(handoff.desktop)
        if was_front and following is not None:
            effects.append(InFront(following))
        return effects

    def expire(self, now: float) -> list[Effect]:
        """End those whose time is over."""
        late = [handoff.id for handoff in self.all() if handoff.is_open and handoff.deadline <= now]
        return [effect for ident in late for effect in self.end(ident, EXPIRED, via="deadline", now=now)]

    def take(self, ident: str, who: str, *, force: bool = False) -> list[Effect]:
        """``who`` takes control for this handoff, which comes to the front.

        Raises `TelebrowserError` HANDOFF_OPEN while somebody else has control, unless ``force``; NOT_FOUND when it is not open.
        """
        handoff = self._open(ident)
        holder = self._controllers.get(handoff.desktop)
        if holder is not None and holder.who != who and not force:
            what = "this step" if holder.handoff == ident else "another step"
            raise TelebrowserError("HANDOFF_OPEN", f"Somebody else is at the screen with {what}", "Take over, or wait until they are done.")
        front = self.front(handoff.desktop)
        effects: list[Effect] = []
        if holder is not None and holder != (ident, who):
            effects.append(NoController(self._all[holder.handoff]))
        if front is not None and front.id != ident:
            handoff = self._put(replace(handoff, turn=front.turn - 1))
            effects.append(InFront(handoff))
        self._controllers[handoff.desktop] = Controller(ident, who)
        return effects

    def release(self, ident: str, who: str) -> list[Effect]:
        """``who`` gives control back; the handoff stays open."""
        handoff = self._all.get(ident)
        if handoff is None or self._controllers.get(handoff.desktop) != (ident, who):
            return []
        del self._controllers[handoff.desktop]
        return [NoController(handoff)]

    def update(self, ident: str, **changes: object) -> Handoff:
        """Note something that is no transition: ``target``, ``seen_at``, ``notified_at``, and what `settled` brings."""
        assert not changes.keys() & {"state", "turn", "id", "via", "ended_at"}
        return self._put(replace(self._all[ident], **changes))  # type: ignore[arg-type]

    def forget(self, ident: str) -> None:
        """Drop one that has ended and been settled."""
        if not self._all[ident].is_open:
            del self._all[ident]

    def _open(self, ident: str) -> Handoff:
        handoff = self._all.get(ident)
        if handoff is None or not handoff.is_open:
            raise TelebrowserError("NOT_FOUND", "There is no such open handoff", "It may have ended: look at its state.")
        return handoff

    def _put(self, handoff: Handoff) -> Handoff:
        self._all[handoff.id] = handoff
        return handoff

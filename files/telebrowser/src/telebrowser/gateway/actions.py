"""What a session filter decides, what it must know to decide it, and what it keeps for each CDP session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from .targets import Info
from .tracing import Trace


class View(Protocol):
    """What a client may know of its browser, and the leases that clients share."""

    @property
    def context_id(self) -> str:
        """Id of the browser's default context."""

    @property
    def browser_id(self) -> str:
        """Target id of the browser."""

    def infos(self) -> Iterable[Info]:
        """The targets that exist for this client."""

    def visible(self, target: str) -> Info | None:
        """A target, if it exists for this client."""

    def is_last_page(self, target: str) -> bool:
        """Whether closing this page would leave the browser without any."""

    def closing(self, target: str, *, certain: bool) -> None:
        """A close of this page has been sent; ``certain`` when nothing can call it off."""

    def paused(self, target: str) -> bool:
        """Whether this page waits to be let go by a client."""

    def owns_download(self, guid: str) -> bool:
        """Whether a tab of this client began the download."""

    def may_activate(self) -> bool:
        """Whether this client may select a tab now (it may not do so many times a second)."""

    def take_trace(self) -> bool:
        """Take the browser's one trace; False while another client has it."""

    def end_trace(self) -> bool:
        """Give the trace back; False when this client does not have it."""


class ToBrowser(NamedTuple):
    """Send upstream."""

    data: bytes


class ToClient(NamedTuple):
    """Send to the client."""

    data: bytes


class Adopt(NamedTuple):
    """Messages of this session now belong to the client."""

    session: str
    target: str


class Drop(NamedTuple):
    """The session is gone."""

    session: str


class Operation(NamedTuple):
    """Something that takes more than one message; `name` is a method of the client host."""

    name: str
    ident: int
    session: str
    params: dict[str, Any]


class Activated(NamedTuple):
    """The client selected this own target: raise the window."""

    target: str


class Resumed(NamedTuple):
    """The client let this target go, if it was waiting."""

    target: str


class End(NamedTuple):
    """End this client's connection, after what was sent before."""

    reason: str


Action = ToBrowser | ToClient | Adopt | Drop | Operation | Activated | Resumed | End
Actions = list[Action]


class Session:
    """One CDP session of the client: a root (own or virtual), or an attached target."""

    __slots__ = ("attach", "attached", "discover", "download_events", "handed", "is_root", "parent", "target", "trace", "upstream", "waits")

    def __init__(self, upstream: str, *, is_root: bool, target: str, parent: str | None) -> None:
        self.upstream = upstream
        self.is_root = is_root
        self.target = target
        self.parent = parent
        self.discover: list[Mapping[str, Any]] | None = None
        """The filter of setDiscoverTargets while discovery is on."""
        self.attach: list[Mapping[str, Any]] | None = None
        """The filter of a root's setAutoAttach while it is on."""
        self.attached: dict[str, str] = {}
        """Target → session, of what a root's auto-attach attached."""
        self.handed = False
        """Whether the gateway's own auto-attach made it, so that the gateway must end it."""
        self.waits = False
        """Whether auto-attach is to pause new targets."""
        self.download_events = False
        self.trace: Trace | None = None
        """The trace that was begun in this session, until the browser has handed it over."""

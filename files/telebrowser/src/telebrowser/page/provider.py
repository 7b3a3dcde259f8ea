"""What the engine needs from whatever owns the browser: the gateway, or a standalone process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from ..cdp.transport import Transport


class HandoffPort(Protocol):
    """One session's handoffs, where a person can come to its browser. Documents are JSON objects with ``id``, ``state`` and more."""

    def guarded(self, target: str) -> str | None:
        """The open handoff for whose sake the agent must leave the page alone."""

    def held(self, target: str) -> bool:
        """Whether a person is asked to the page: its dialogs and file choosers are theirs."""

    async def ask(self, target: str | None, *, reason: str, done_when: dict[str, str] | None, agent: str, seconds: float) -> dict[str, Any]:
        """Ask for a person at a page, or without one at the page that the session used last.

        Raises TelebrowserError ``INVALID_ARGS``, ``TAB_CLOSED`` or ``HANDOFF_OPEN``.
        """

    async def wait(self, ident: str, seconds: float) -> dict[str, Any]:
        """The handoff once it is settled, or as it is after ``seconds``."""

    def find(self, ident: str | None) -> dict[str, Any]:
        """One of the session's handoffs, the latest without an id. Raises TelebrowserError ``NOT_FOUND``."""

    def link(self, ident: str) -> str | None:
        """A new address for a person."""

    async def cancel(self, ident: str) -> None:
        """The agent does not need it any more."""

    async def decline(self, ident: str) -> None:
        """The person at the agent's own client has said no."""


class BrowserProvider(Protocol):
    """One session's way to its browser. ``handoffs`` is None where no person can come to it."""

    project: str
    session: str
    output_dir: Path
    downloads_dir: Path
    uploads_dir: Path

    @property
    def outbox_dir(self) -> Path:
        """Where files for the agent wait to be fetched; the browser does not see it."""

    def local_file(self, path: str) -> Path:
        """A file of this machine that the agent may use. Raises TelebrowserError ``UNSAFE_PATH`` where the agent is elsewhere."""

    handoffs: HandoffPort | None

    async def connect(self) -> Transport:
        """A fresh client connection of this session; starts the browser if needed.

        Raises TelebrowserError ``BROWSER_UNAVAILABLE`` or ``BROWSER_CRASHED``.
        """

    def activity(self) -> None:
        """A call begins or ends: whoever stops idle browsers counts from now."""

    def status(self) -> dict[str, Any]:
        """What is known of the session and its browser without asking: ``state`` and more, no secrets."""

    async def aclose(self) -> None:
        """Let go of the browser; in standalone mode, stop it."""

"""What the engine needs from whatever owns the browser: the gateway, or a standalone process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from ..cdp.transport import Transport


class BrowserProvider(Protocol):
    """One session's way to its browser."""

    project: str
    session: str
    output_dir: Path
    downloads_dir: Path
    uploads_dir: Path

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

"""Where noVNC's files are: the client that shows a VNC display in a browser. Used by gateway, supervisor and doctor; standard library only."""

from __future__ import annotations

from pathlib import Path

NOVNC = Path("/usr/share/novnc")


def has_novnc() -> bool:
    """Whether the Debian package novnc, or the same files, are installed."""
    return (NOVNC / "core" / "rfb.js").is_file()

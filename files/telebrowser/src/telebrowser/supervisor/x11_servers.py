"""The X servers that can be a display: what each is called, which package has it, how it is started."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from ..errors import EXIT_FAILED, ExitError

MANAGER = "openbox"


class XServer(NamedTuple):
    """An X server. ``shows`` tells that it shows itself to people, by the protocol RFB on a Unix socket."""

    backend: str
    program: str
    package: str
    shows: bool

    def command(self, program: str, size: str, authority: Path, socket: Path) -> list[str]:
        """Its command line; it writes the number of its display to its standard output. ``socket`` is for RFB, where it shows itself."""
        common = [program, "-displayfd", "1", "-nolisten", "tcp", "-noreset", "-auth", str(authority)]
        if not self.shows:
            return [*common, "-screen", "0", f"{size}x24"]
        return [
            *(*common, "-geometry", size, "-depth", "24", "-desktop", "telebrowser"),
            # No port at all. Whoever may open the socket may act: the gateway alone does, and asks for a credential of its own.
            *("-rfbport", "-1", "-rfbunixpath", str(socket), "-rfbunixmode", "0600", "-SecurityTypes", "None", "-AlwaysShared"),
            # Pages keep the size that their agents know, whoever looks; the viewer scales the picture.
            *("-AcceptSetDesktopSize=0", "-MaxCutText", str(MAX_CUT_TEXT)),
            # All who connect are one peer, the gateway: it is not to be locked out for looking whether the socket is served.
            *("-BlacklistThreshold", "1000000000"),
        ]


MAX_CUT_TEXT = 1 << 20
XVFB = XServer("xvfb", "Xvfb", "xvfb", False)
XVNC = XServer("xvnc", "Xvnc", "tigervnc-standalone-server", True)


def check(server: XServer) -> tuple[str, str]:
    """The paths of an X server and of the window manager. Raises `ExitError` naming the one that is missing."""
    found = [shutil.which(name) for name in (server.program, MANAGER)]
    for name, path in zip((server.program, MANAGER), found, strict=True):
        if path is None:
            raise ExitError(EXIT_FAILED, f"{name} is not installed; on Debian: apt-get install {server.package} {MANAGER}")
    return str(found[0]), str(found[1])

"""Gets a browser's cookies onto the disk at once.

Chromium writes what has changed every 30 s, or as soon as 512 changes have gathered. So that many short-lived cookies of
addresses that cannot exist make it write now; they expire by themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from pathlib import Path

from .. import wire
from ..browser import BrowserLink

CHANGES = 520
DOMAINS = 20
LIFE_SECONDS = 5
COMMIT_SECONDS = 5.0
LOOK_SECONDS = 0.02


async def commit(link: BrowserLink, profile: Path) -> bool:
    """Have all cookies written; whether the file was seen to change within `COMMIT_SECONDS`. Never raises."""
    mark, expires = secrets.token_hex(4), time.time() + LIFE_SECONDS
    cookies = [
        {"name": f"f{number}", "value": mark, "domain": f"{mark}{number % DOMAINS}.flush.invalid", "path": "/", "expires": expires} for number in range(CHANGES)
    ]
    before = _written(profile)
    try:
        async with asyncio.timeout(COMMIT_SECONDS):
            await link.call("Storage.setCookies", {"cookies": cookies})
            # Chromium answers before it has written, and says nothing when it has.
            while _written(profile) == before or _writing(profile):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    except (wire.ProtocolError, TimeoutError):
        return False
    return True


def _places(profile: Path) -> tuple[Path, Path]:
    """Where this and other versions of Chromium keep cookies."""
    return profile / "Default" / "Cookies", profile / "Default" / "Network" / "Cookies"


def _written(profile: Path) -> list[int]:
    """When the database, or its write-ahead log, was last written."""
    found = []
    for place in _places(profile):
        for path in (place, place.with_name("Cookies-wal")):
            with contextlib.suppress(OSError):
                found.append(path.stat().st_mtime_ns)
    return found


def _writing(profile: Path) -> bool:
    """Whether a rollback journal is in use: what is written before it is emptied would be taken back after a crash."""
    for place in _places(profile):
        with contextlib.suppress(OSError):
            if place.with_name("Cookies-journal").stat().st_size:
                return True
    return False

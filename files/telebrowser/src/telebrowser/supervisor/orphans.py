"""Browsers that outlived the supervisor that started them, and foreign ones on our profiles."""

from __future__ import annotations

import asyncio
import logging

from ..datadir import PROJECT_NAME, DataDir
from ..errors import TelebrowserError
from . import ladder
from .profile import Profile

log = logging.getLogger(__name__)


async def end_all(data: DataDir) -> None:
    """Wait for, then end, the browsers of a former supervisor in every project. They close by themselves once both pipe ends are gone."""
    await asyncio.gather(*(_end_ours(profile) for profile in _profiles(data)))


def find_all(data: DataDir) -> list[int]:
    """The pids of browsers of any supervisor that are alive in the data directory."""
    return [process.pid for profile in _profiles(data) for process in profile.holders() if profile.is_ours(process)]


def _profiles(data: DataDir) -> list[Profile]:
    if not data.projects.is_dir():
        return []
    return [Profile(data, path.name, None) for path in data.projects.iterdir() if PROJECT_NAME.fullmatch(path.name)]


async def _end_ours(profile: Profile) -> None:
    leftovers = [ladder.Leftover(process.pid, process.start) for process in profile.holders() if profile.is_ours(process)]
    for leftover in leftovers:
        log.warning("[%s] waiting for the browser of a former supervisor to end, pid %d", profile.project, leftover.group)
    await asyncio.gather(*(ladder.stop(leftover) for leftover in leftovers))


async def free_profile(profile: Profile) -> None:
    """Make sure that no live process has the profile. Raises `TelebrowserError` BROWSER_UNAVAILABLE when a foreign one has.

    Two browsers on one profile corrupt it, so a live holder is never unlocked, only waited for or refused.
    """
    await _end_ours(profile)
    holders = profile.holders()
    if holders:
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"the profile of {profile.project} is in use by process {holders[0].pid}; end it first")

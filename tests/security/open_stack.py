"""A stack whose gateway has an open filter, and attempts that may wreck it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

from tests.support.stack import Stack

from .arena import NEIGHBOUR, PROJECT, Arena
from .attempts import Attempt

TOP = Path(__file__).resolve().parents[2]
ATTEMPT_SECONDS = 5.0


class OpenStack(Stack):
    """Starts tests/resources/open_gateway.py as the gateway."""

    def spawn(self, part: str, *options: str) -> subprocess.Popen[bytes]:
        if part != "gateway":
            return super().spawn(part, *options)
        with open(self.root / "gateway.out", "ab") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "tests.resources.open_gateway", "--data", str(self.data)],
                env=self.env(**self.settings, PYTHONPATH=str(TOP)),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self.children[part] = child
        return child


async def tried(arena: Arena, attempt: Attempt) -> bool:
    """Whether an attempt gained something; the arena is whole again afterwards."""
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            attacker = await arena.attacker(fresh=True)
    except Exception:
        # What an earlier attempt has left is no gain of this one.
        await mend(arena)
        attacker = await arena.attacker(fresh=True)
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            await attempt.run(arena, attacker)
        gained = bool(arena.leaked(attacker.frames))
    except AssertionError:
        gained = True
    except Exception:
        # The attempt's own test would have failed too, but this is no proof.
        gained = False
    finally:
        with contextlib.suppress(Exception):
            await attacker.close()
            await arena.person.truth.call("Target.closeTarget", {"targetId": attacker.target}, timeout=2)
    if await arena.harm():
        gained = True
        await mend(arena)
    return gained


async def mend(arena: Arena) -> None:
    """Bring everybody back, in a browser that runs."""
    failed: Exception | None = None
    for _ in range(5):
        try:
            async with asyncio.timeout(30):
                await arena.build()
            return
        except Exception as error:
            failed = error
            with contextlib.suppress(OSError):
                for project in (PROJECT, NEIGHBOUR):
                    # A start by hand also forgives crashes.
                    arena.stack.http("POST", "stop", project, b"")
                    arena.stack.http("POST", "start", project, b"")
    raise AssertionError(f"the arena cannot be mended: {failed!r}")

"""Who may see what of the views that the gateway itself serves, and as what: one credential a grant, part of an address below the pages for people."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientError

from ..handoff.machine import Handoff
from ..handoff.view import Grant, Role

CREDENTIAL_BYTES = 24
CLOSE_SECONDS = 2.0
SCREENCAST = "screencast"

Close = Callable[[], Awaitable[None]]


@dataclass
class Credential:
    """One grant: what it lets one see, and the connections that were made with it.

    ``view`` is the backend that shows it, ``socket`` the view server's Unix socket where that has one.
    """

    handoff: Handoff
    role: Role
    view: str = SCREENCAST
    socket: Path | None = None
    open: set[Close] = field(default_factory=set)

    async def begin(self) -> None:
        """A connection is being made: of who controls, only the latest stays. A page that is loaded again may have one that does not know it is dead."""
        if self.role == "controller":
            await _close([self])

    async def during(self, *works: Coroutine[Any, Any, None]) -> bool:
        """Do the works of one connection until one of them ends or the credential is withdrawn; whether it was withdrawn.

        When this returns nothing of them goes on. Raises what went wrong in them, unless it is that the other side has gone.
        """
        withdrawn, over = asyncio.Event(), asyncio.Event()

        async def withdraw() -> None:
            withdrawn.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await over.wait()

        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(work) for work in (*works, withdrawn.wait())]
        self.open.add(withdraw)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.open.discard(withdraw)
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            over.set()
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, ConnectionError | TimeoutError | ClientError):
                raise outcome
        return withdrawn.is_set()


class Credentials:
    """All that are valid now. They live as long as the gateway: the handoff's page asks for a new one after a restart."""

    def __init__(self) -> None:
        self._valid: dict[str, Credential] = {}

    def viewers(self, project: str) -> int:
        """The connections that are open now for handoffs of a project."""
        return sum(len(each.open) for each in self._valid.values() if each.handoff.project == project)

    async def grant(self, credential: Credential) -> Grant:
        """An address relative to the handoff's page, so that it is right by every name under which people come.

        A controller's takes the place of the former controller's of this handoff.
        """
        if credential.role == "controller":
            await self.revoke(credential.handoff, credential.role)
        token = secrets.token_urlsafe(CREDENTIAL_BYTES)
        self._valid[token] = credential
        return Grant(f"../view/{token}/", credential.role)

    async def revoke(self, handoff: Handoff, role: Role | None = None) -> None:
        """Forget the credentials of a role (None: all) and close what was opened with them."""
        ended = [token for token, each in self._valid.items() if each.handoff.id == handoff.id and role in (None, each.role)]
        await _close([self._valid.pop(token) for token in ended])

    async def aclose(self) -> None:
        """Forget and close everything."""
        ended = list(self._valid.values())
        self._valid.clear()
        await _close(ended)

    def find(self, token: str) -> Credential | None:
        """What a credential is for; None for one that is revoked or was never given."""
        return self._valid.get(token)


async def _close(ended: list[Credential]) -> None:
    for credential in ended:
        for close in list(credential.open):
            await close()

"""Paths in tool calls of standalone mode: checked as the launcher checks them, and then used where they are. Nothing is sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import beneath
from ..handover import LOCAL, Offer
from ..launcher.transfer import Desk, Job
from ..launcher.transfer_calls import ROOTS_SECONDS, FileCalls
from ..launcher.transfer_job import write_data
from ..launcher.transfer_paths import Source, Target, refusal
from ..launcher.transfer_thread import run_job
from ..mcp.tools import PATHS

Receive = Callable[[], Awaitable[str | None]]
Send = Callable[[str], Awaitable[None]]
LIMIT = 1 << 62
"""No file is sent anywhere, so none is too large."""


class _Call(NamedTuple):
    id: Any


class _Depot:
    """Files stay where they are; what comes back is copied to its place."""

    def __init__(self, outbox: Path, downloads: Path) -> None:
        self._outbox, self._downloads = outbox, downloads

    def put(self, source: Source) -> str:
        return LOCAL + source.path

    def fetch(self, mark: Mapping[str, Any], target: Target) -> None:
        with target.open() as arrival:
            try:
                if "data" in mark:
                    write_data(mark, arrival)
                else:
                    folder, name = (self._outbox, mark["outbox"]) if "outbox" in mark else (self._downloads, mark["download"])
                    source = beneath.open_file(folder, (str(name),))
                    try:
                        beneath.copy(source, arrival)
                    finally:
                        os.close(source)
            except OSError as error:
                raise refusal(target.shown, error, "cannot be written") from None
            target.publish(arrival)
        if "outbox" in mark:
            with contextlib.suppress(OSError):
                (self._outbox / str(mark["outbox"])).unlink()

    def name(self, meanings: Mapping[str, str]) -> None:
        """There is no other server in this mode."""
        raise NotImplementedError


class _Desk(Desk):
    def __init__(self, depot: _Depot) -> None:
        super().__init__(None)
        self._depot = depot
        self.offered(Offer(PATHS, LIMIT, None))
        # Every line is taken apart: a call that is not recognised here could name any file of this machine.
        self._names = (b"",)

    def depot(self, job: Job) -> _Depot:
        return self._depot


class LocalFiles:
    """Stands between a client and the engine; `receive` and `send` are those of the engine. `run` reads the client."""

    def __init__(self, receive: Receive, send: Send, *, outbox: Path, downloads: Path) -> None:
        self._receive, self._send = receive, send
        self._calls = FileCalls(_Desk(_Depot(outbox, downloads)), self._resume, lambda message: self._spawn(self._tell(message)))
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._targets: dict[Any, list[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Read the client's lines until their end."""
        while (line := await self._receive()) is not None:
            if not self._take(line):
                self._lines.put_nowait(line)
            self._start()
        while self._tasks:
            await asyncio.wait(self._tasks)
        self._lines.put_nowait(None)

    async def receive(self) -> str | None:
        """The next message for the engine; None at the end."""
        return await self._lines.get()

    async def send(self, text: str) -> None:
        """A message of the engine."""
        if self._targets and '"method"' not in text[:64]:
            message = json.loads(text)
            targets = self._targets.pop(message.get("id"), None) if "method" not in message else None
            if targets and self._calls.answered(_Call(message["id"]), message, targets):
                self._start()
                return
        await self._send(text)

    def _take(self, line: str) -> bool:
        """Whether a line is not for the engine, or not yet."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if not isinstance(message, dict):
            return False
        method, number = message.get("method"), message.get("id")
        if method is None:
            return self._calls.roots_answer(message)
        if method == "initialize":
            self._calls.initialize(message)
        elif method == "notifications/roots/list_changed":
            self._calls.roots_changed()
        elif method == "notifications/cancelled":
            params = message.get("params")
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            return isinstance(cancelled, str | int) and self._calls.cancel(cancelled)
        elif method == "tools/call" and isinstance(number, str | int):
            held = self._calls.take(_Call(number), line.encode("utf-8", "replace"), time.monotonic())
            if held and self._calls.deadline is not None:
                asyncio.get_running_loop().call_later(ROOTS_SECONDS, self._tick)
            return held
        return False

    def _tick(self) -> None:
        self._calls.tick(time.monotonic())
        self._start()

    def _start(self) -> None:
        while self._calls.jobs:
            self._spawn(self._work(self._calls.jobs.popleft()))

    async def _work(self, job: Job) -> None:
        self._calls.done(job, await asyncio.to_thread(run_job, job))

    def _resume(self, request: _Call, line: bytes, targets: list[Any]) -> None:
        if targets:
            self._targets[request.id] = targets
        self._lines.put_nowait(line.decode("utf-8", "replace"))

    async def _tell(self, message: bytes) -> None:
        await self._send(message.decode("utf-8", "replace"))

    def _spawn(self, step: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(step)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

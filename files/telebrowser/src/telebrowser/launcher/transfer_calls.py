"""The calls whose files are on their way: held from the client's line to the engine's, and from its answer to the client's. Sans-I/O."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import TelebrowserError
from .transfer import Call, Desk, Job, Sending, tool_error

ROOTS_SECONDS = 5.0
"""How long the client may take to name its roots; after that the working directory alone counts."""
ROOTS_ID = "telebrowser-roots-"
BESIDE = "beside"
"""Marks the ids of calls to another MCP server: both servers may have calls of the same id."""


class Held(NamedTuple):
    """A call that waits for its files: the request as the conversation knows it, its message, and the job, once there is one."""

    request: Any
    message: dict[str, Any]
    call: Call | None
    job: Job | None


class Diverted(NamedTuple):
    """A call on its way to another MCP server: ``send`` takes its line there, ``reply`` takes an answer in the server's place."""

    id: Any
    send: Callable[[bytes], None]
    reply: Callable[[bytes], None]


class FileCalls:
    """``resume(request, line, targets)`` sends a call on; ``tell(message)`` gives the client a message."""

    def __init__(self, desk: Desk, resume: Callable[[Any, bytes, list[Any]], None], tell: Callable[[bytes], None]) -> None:
        self.jobs: deque[Job] = deque()
        """What the shell has to run; each outcome comes back by `done`."""
        self.desk = desk
        self._resume, self._tell = resume, tell
        self._held: dict[Any, Held] = {}
        self._declared = False
        self._folders: list[str] | None = None
        self._asked = 0
        self._asking: str | None = None
        self._roots_by: float | None = None

    @property
    def idle(self) -> bool:
        """No call waits for files."""
        return not self._held

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do next."""
        return self._roots_by

    # The client's roots

    def initialize(self, message: dict[str, Any]) -> None:
        """Note whether the client has roots."""
        params = message.get("params")
        capabilities = params.get("capabilities") if isinstance(params, dict) else None
        self._declared = isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)
        self.roots_changed()

    def roots_changed(self) -> None:
        """What the client said of its roots no longer holds."""
        self._folders = None
        if self._asking is not None:
            self._ask(self._roots_by or 0.0)

    def roots_answer(self, message: dict[str, Any]) -> bool:
        """Whether a message of the client answers the question for its roots, and so is not for the engine."""
        number = message.get("id")
        if not isinstance(number, str) or not number.startswith(ROOTS_ID):
            return False
        if number == self._asking:
            from .transfer_paths import declared

            self._know(declared(message.get("result")))
        return True

    def _ask(self, by: float) -> None:
        self._asked += 1
        self._asking, self._roots_by = f"{ROOTS_ID}{self._asked}", by
        self._tell(json.dumps({"jsonrpc": "2.0", "id": self._asking, "method": "roots/list"}).encode())

    def _know(self, folders: list[str]) -> None:
        self._folders, self._asking, self._roots_by = folders, None, None
        for held in list(self._held.values()):
            if held.job is None:
                self._start(held)

    # Calls

    def take(self, request: Any, line: bytes, now: float) -> bool:
        """Whether the call is held because of its files."""
        call = self.desk.call(line)
        return call is not None and self._hold(request, call, now)

    def divert(self, line: bytes, now: float, send: Callable[[bytes], None], reply: Callable[[bytes], None]) -> bool:
        """Whether a line for another MCP server is held because of its files, or cancels one that is."""
        if b"notifications/cancelled" in line:
            params = json.loads(line).get("params")
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            return isinstance(cancelled, str | int) and self.cancel((BESIDE, cancelled))
        call = self.desk.foreign_call(line)
        return call is not None and self._hold(Diverted((BESIDE, call.message.get("id")), send, reply), call, now)

    def _hold(self, request: Any, call: Call, now: float) -> bool:
        held = self._held[request.id] = Held(request, call.message, call, None)
        if not self._declared or self._folders is not None:
            self._start(held)
        elif self._asking is None:
            self._ask(now + ROOTS_SECONDS)
        return True

    def _start(self, held: Held) -> None:
        assert held.call is not None
        job = Sending(self.desk, held.request.id, held.call, self._folders or [])
        self._held[held.request.id] = held._replace(job=job)
        self.jobs.append(job)

    def answered(self, request: Any, message: dict[str, Any], targets: list[Any]) -> bool:
        """Whether the engine's answer is held until its file lies in its place."""
        job = self.desk.answer(request.id, message, targets)
        if job is None:
            return False
        self._held[request.id] = Held(request, message, None, job)
        self.jobs.append(job)
        return True

    def done(self, job: Job, outcome: bytes | TelebrowserError | None) -> None:
        """A job has ended: with what to pass on, with an error, or with None when it was cancelled."""
        held = self._held.get(job.request_id)
        if held is None or held.job is not job:
            return
        del self._held[job.request_id]
        if isinstance(outcome, TelebrowserError):
            self._refuse(held, outcome)
        elif isinstance(held.request, Diverted) and outcome is not None:
            held.request.send(outcome)
        elif isinstance(job, Sending) and outcome is not None:
            self._resume(held.request, outcome, job.targets)
        elif outcome is not None:
            self._tell(outcome)

    def _refuse(self, held: Held, error: TelebrowserError) -> None:
        tell = held.request.reply if isinstance(held.request, Diverted) else self._tell
        tell(tool_error(held.message, error))

    def cancel(self, number: Any) -> bool:
        """The client cancelled a request; whether it was held, so that the engine has nothing to cancel."""
        held = self._held.pop(number, None)
        if held is not None and held.job is not None:
            held.job.cancelled = True
        return held is not None

    def tick(self, now: float) -> None:
        """Go on without the client's roots when it has not named them; at the end of time, give up what is held."""
        if now == math.inf:
            gone = TelebrowserError("TIMEOUT", "The file was still on its way when the client closed the connection", "Call again.")
            for number, held in list(self._held.items()):
                self.cancel(number)
                self._refuse(held, gone)
            self._roots_by = None
        elif self._roots_by is not None and now >= self._roots_by:
            self._know([])

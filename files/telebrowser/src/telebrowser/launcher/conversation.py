"""What the pump knows of the JSON-RPC conversation between an MCP client and the engine. Sans-I/O.

Lines of the client, messages of the engine and the fate of the link go in; lines for the client
(`to_client`) and messages for the engine (`to_engine`) come out. The conversation outlives a link: a client that
shook hands with `initialize` never learns of a restart of the gateway, because the handshake is replayed;
a request that was running at the break is answered with an error, since nobody knows how far it came.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .lines import TooLong
from .messages import CONNECTION_CLOSED, Fault, describe, error_line, key, one_line, parse, read
from .transfer import Desk
from .transfer_calls import FileCalls

if TYPE_CHECKING:
    from .transfer import Job
    from .transfer_thread import Outcome

FIRST_PATIENCE = 2.0
"""Seconds that a request waits for a gateway that was not there before."""
RECONNECT_PATIENCE = 60.0
"""Seconds from a break for which requests wait for the gateway to come back."""

REPLAY_ID = "telebrowser-replay"
REPEATABLE = frozenset({"initialize", "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"})
"""Requests without an effect: one that was running at a break is simply sent again."""

DOWN = "down"
REPLAYING = "replaying"
OPEN = "open"


class Request(NamedTuple):
    """A request of the client that has no answer yet; ``deadline`` (monotonic seconds) counts while it waits for a link.

    ``targets`` is None until its files have been looked at; then it holds where the file of its answer goes.
    """

    id: Any
    method: str
    what: str
    line: bytes
    deadline: float
    targets: list[Any] | None = None


class Conversation:
    """See the module. Times are monotonic seconds, given by the caller. ``desk`` knows which calls have files."""

    def __init__(self, desk: Desk | None = None) -> None:
        self.to_client: deque[bytes] = deque()
        self.to_engine: deque[bytes] = deque()
        self.phase = DOWN
        self.trouble = "the gateway has not answered yet"
        self.broken: str | None = None
        """Set when the engine refuses the replayed handshake: the link is of no use and must be dropped."""
        self._running: dict[Any, Request] = {}
        self._waiting: deque[Request] = deque()
        self._asked: set[Any] = set()
        self._initialize: Request | None = None
        self._shaken = False
        self._initialized: bytes | None = None
        self._lost_at: float | None = None
        self._now = 0.0
        self._files = FileCalls(desk or Desk(None), self._resume, self.to_client.append)
        self.jobs = self._files.jobs
        """What the shell has to run; the outcomes come back by `job_done`."""

    @property
    def idle(self) -> bool:
        """No request of the client waits for an answer."""
        return not self._running and not self._waiting and self._files.idle

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do next."""
        due = [request.deadline for request in self._waiting]
        if self._files.deadline is not None:
            due.append(self._files.deadline)
        return min(due, default=None)

    # From the client

    def client_line(self, line: bytes | TooLong, now: float) -> None:
        """One line of the client, without its end."""
        self._now = now
        message = read(line)
        if message is None:
            return
        if isinstance(message, Fault):
            self.to_client.append(error_line(*message))
            return
        assert isinstance(line, bytes)
        line, method = line.strip(), message.get("method")
        if method is None:
            self._client_answer(message, line)
        elif "id" in message:
            self._client_request(message, method, line, now)
        else:
            self._client_notification(message, method, line)

    def _client_request(self, message: dict[str, Any], method: str, line: bytes, now: float) -> None:
        number = message["id"]
        patience = now + FIRST_PATIENCE
        if self._lost_at is not None:
            patience = max(patience, self._lost_at + RECONNECT_PATIENCE)
        request = Request(number, method, describe(message, method), line, patience)
        if method == "initialize":
            self._initialize, self._shaken, self._initialized = request, False, None
            self._files.initialize(message)
        if self.phase == OPEN:
            self._send(request)
        else:
            self._waiting.append(request)

    def _client_notification(self, message: dict[str, Any], method: str, line: bytes) -> None:
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/roots/list_changed":
            self._files.roots_changed()
        params = message.get("params")
        cancelled = params.get("requestId") if method == "notifications/cancelled" and isinstance(params, dict) else None
        if cancelled is not None and self._files.cancel(key(cancelled)):
            return
        if self.phase == OPEN:
            self.to_engine.append(line)
        elif cancelled is not None:
            self._waiting = deque(request for request in self._waiting if request.id != cancelled)

    def _client_answer(self, message: dict[str, Any], line: bytes) -> None:
        if self._files.roots_answer(message):
            return
        number = key(message["id"])
        if number in self._asked:
            self._asked.discard(number)
            self.to_engine.append(line)

    # From the engine

    def engine_message(self, data: bytes) -> None:
        """One message of the engine, the JSON of one text frame."""
        try:
            message = parse(data)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self.broken = "it sent something that is not JSON-RPC"
            return
        if "method" in message:
            if "id" in message:
                self._asked.add(key(message["id"]))
        elif self.phase == REPLAYING and message.get("id") == REPLAY_ID:
            self._replayed(message)
            return
        else:
            request = self._running.pop(key(message.get("id")), None)
            if request is not None and request.method == "initialize":
                self._shaken = "result" in message
            if request is not None and request.targets and self._files.answered(request, message, request.targets):
                return
        if "jsonrpc" not in message:
            data = json.dumps({"jsonrpc": "2.0", "id": None, **message}).encode()
        elif b"\n" in data:
            data = json.dumps(message).encode()
        self.to_client.append(data)

    def _replayed(self, message: dict[str, Any]) -> None:
        if "result" not in message:
            error = message.get("error")
            text = error.get("message") if isinstance(error, dict) else None
            self.broken = f"it refused to resume: {one_line(text or 'no reason given')}"
            return
        if self._initialized is not None:
            self.to_engine.append(self._initialized)
        self._open()

    # The link

    def link_opened(self) -> None:
        """A link is ready: replay the handshake if there was one, then send what waits."""
        self.broken = None
        if self._initialize is None or not self._shaken:
            self._open()
            return
        self.phase = REPLAYING
        replay = json.loads(self._initialize.line)
        replay["id"] = REPLAY_ID
        self.to_engine.append(json.dumps(replay).encode())

    def link_lost(self, reason: str, now: float) -> None:
        """The link that was ready has broken."""
        self.phase = DOWN
        self.trouble = reason
        self._lost_at = now
        self.to_engine.clear()
        deadline = now + RECONNECT_PATIENCE
        again: list[Request] = []
        for request in self._running.values():
            if request.method in REPEATABLE:
                again.append(request._replace(deadline=deadline))
                continue
            self._answer(
                request,
                f"The connection to the gateway broke while {request.what} was running ({reason}). It may or may not have taken effect: "
                "look at the page's state first, then retry if it is still needed. The connection is being restored.",
            )
        self._running.clear()
        self._waiting.extendleft(reversed(again))
        for asked in self._asked:
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked, "reason": "the gateway restarted"}}
            self.to_client.append(json.dumps(note).encode())
        self._asked.clear()

    def link_failed(self, reason: str, now: float, *, final: bool = False) -> None:
        """An attempt to connect failed. ``final``: another attempt would fail in the same way, so nothing waits for it."""
        self.phase = DOWN
        self.trouble = reason
        self.to_engine.clear()
        if final:
            self._waiting = deque(request._replace(deadline=now) for request in self._waiting)
            self.tick(now)

    def tick(self, now: float) -> None:
        """Answer the requests that have waited long enough."""
        self._now = now
        self._files.tick(now)
        kept: deque[Request] = deque()
        for request in self._waiting:
            if request.deadline > now:
                kept.append(request)
            else:
                self._answer(request, f"{request.what} was not sent: {self.trouble}.")
        self._waiting = kept

    def _open(self) -> None:
        self.phase = OPEN
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            self._send(request)

    def divert(self, line: bytes, now: float, send: Callable[[bytes], None], reply: Callable[[bytes], None]) -> bool:
        """Whether a line for another MCP server is held until its files are at the gateway; then ``send`` gets it, or ``reply`` an answer."""
        return self._files.divert(line, now, send, reply)

    def job_done(self, job: Job, outcome: Outcome, now: float) -> None:
        """One of `jobs` has ended."""
        self._now = now
        self._files.done(job, outcome)

    def _resume(self, request: Request, line: bytes, targets: list[Any]) -> None:
        """The files of a call are where the engine finds them."""
        ready = request._replace(line=line, targets=targets, deadline=self._now + RECONNECT_PATIENCE)
        if self.phase == OPEN:
            self._send(ready)
        else:
            self._waiting.append(ready)

    def _send(self, request: Request) -> None:
        if request.method == "tools/call" and request.targets is None and self._files.take(request, request.line, self._now):
            return
        # Only a request that may be sent again needs its text.
        self._running[request.id] = request if request.method in REPEATABLE else request._replace(line=b"")
        self.to_engine.append(request.line)

    def _answer(self, request: Request, text: str) -> None:
        if request is self._initialize or request.method == "initialize":
            self._initialize = None
        self.to_client.append(error_line(json.dumps(request.id).encode(), CONNECTION_CLOSED, text))

"""`telebrowser mcp`: a thin pump between an MCP client on stdio and the engine behind the gateway.

One `poll` waits for stdin, stdout, the gateway, the parent and signals. What JSON-RPC demands at a break of the
connection is in `conversation`; here are only descriptors, attempts and deadlines. stdout carries nothing but
JSON-RPC; stderr gets one line when the gateway is lost, refused or back.
"""

from __future__ import annotations

import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable

from ..errors import EXIT_INTERRUPTED, EXIT_OK, ExitError
from ..handover import read_offer
from .address import Finder
from .beside import Beside
from .conversation import DOWN, OPEN, Conversation
from .lines import LineSplitter
from .link import Link, LinkError
from .stdio import READ_BYTES, Output, Parent, Signals, fill_closed
from .transfer import Desk
from .transfer_thread import Workers

MAX_LINE_BYTES = 100 << 20
DRAIN_SECONDS = 2.0
"""How long answers of running requests are awaited after the client has closed stdin."""
FLUSH_SECONDS = 1.0
"""How long the client may take to read the last answers."""
FIRST_BACKOFF = 0.1
MAX_BACKOFF = 3.0
STEADY_SECONDS = 5.0
"""A link that lasted this long was a good one: the next attempts begin with the short backoff again."""
PARENT_SECONDS = 2.0
STDIN = 0
STDOUT = 1


class Pump:
    """Runs until the client closes stdin or stdout, the parent ends, or a signal comes.

    ``find`` gives the address for each attempt anew, so that a rotated secret is picked up. ``beside`` is another server that the
    client talks to at the same time; ``query`` ends the engine's path.
    """

    def __init__(self, find: Finder, session: str, *, beside: Beside | None = None, query: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._path = f"s/{session}/mcp{query}"
        self._beside = beside or Beside()
        self._clock = clock
        self._desk = Desk(find, session=session)
        self._conversation = Conversation(self._desk)
        self._lines = LineSplitter(MAX_LINE_BYTES)
        fill_closed()
        self._output = Output(STDOUT)
        self._parent = Parent()
        self._signals = Signals()
        self._workers = Workers()
        self._link: Link | None = None
        self._retry_at: float | None = clock()
        self._backoff = FIRST_BACKOFF
        self._told: str | None = None
        self._stdin_open = True
        self._orphaned = False
        self._leave_at: float | None = None
        self._last_words = False
        self._opened_at = 0.0
        self._poll = select.poll()
        self._watched: dict[int, int] = {}

    def run(self) -> int:
        """The exit code."""
        try:
            while not self._finished():
                self._step()
        except ConnectionError:
            return EXIT_OK  # nobody reads stdout any more
        finally:
            if self._link is not None:
                self._link.close()
            self._workers.stop()
            self._beside.close()
            self._output.close()
        return EXIT_INTERRUPTED if self._signals.received == signal.SIGINT else EXIT_OK

    def _finished(self) -> bool:
        if self._signals.received is not None or self._orphaned:
            return True
        if self._stdin_open:
            return False
        now = self._clock()
        if self._leave_at is None:
            self._leave_at = now + DRAIN_SECONDS
        self._beside.leave()
        sending = self._link is not None and self._link.sending
        if self._conversation.idle and self._beside.idle and not self._output.waiting and not sending:
            return True
        if now < self._leave_at:
            return False
        if not self._last_words:
            self._last_words = True
            self._leave_at = now + FLUSH_SECONDS
            self._conversation.tick(math.inf)
            self._move(now)
            return not self._output.waiting
        return True

    def _step(self) -> None:
        self._watch()
        ready = dict(self._poll.poll(self._timeout()))
        now = self._clock()
        if events := ready.pop(STDOUT, 0):
            if events & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                raise BrokenPipeError
            self._output.flush()
        if ready.pop(STDIN, 0):
            self._read(now)
        ready.pop(self._signals.descriptor, 0)
        if ready.pop(self._workers.descriptor, 0):
            for job, outcome in self._workers.finished():
                self._conversation.job_done(job, outcome, now)
        self._orphaned = self._parent.gone if self._parent.descriptor is None else bool(ready.pop(self._parent.descriptor, 0))
        beside = [ready.pop(descriptor) for descriptor in self._beside.interest(full=False) if descriptor in ready]
        if beside:
            self._beside.ready()
        for events in ready.values():
            self._serve_link(events, now)
        if self._link is not None and self._link.deadline is not None and now >= self._link.deadline:
            self._guarded(lambda link: link.expire(now), now)
        if self._link is None and self._retry_at is not None and now >= self._retry_at:
            self._attempt(now)
        self._conversation.tick(now)
        self._move(now)

    def _watch(self) -> None:
        """Tell `poll` what to wait for now."""
        wanted = {self._signals.descriptor: select.POLLIN, self._workers.descriptor: select.POLLIN, STDOUT: select.POLLOUT if self._output.waiting else 0}
        if self._parent.descriptor is not None:
            wanted[self._parent.descriptor] = select.POLLIN
        if self._stdin_open:
            # Its end is told without being asked for.
            wanted[STDIN] = 0 if self._beside.full or (self._link is not None and self._link.full) else select.POLLIN
        wanted.update(self._beside.interest(full=self._output.full))
        if self._link is not None:
            descriptor, events = self._link.interest()
            wanted[descriptor] = events & ~select.POLLIN if self._output.full else events
        if wanted == self._watched:
            return
        for descriptor in self._watched.keys() - wanted.keys():
            self._poll.unregister(descriptor)
        for descriptor, events in wanted.items():
            self._poll.register(descriptor, events)
        self._watched = wanted

    def _timeout(self) -> float:
        """Milliseconds until something is due."""
        now = self._clock()
        due = [self._conversation.deadline, self._leave_at]
        due.append(self._retry_at if self._link is None else self._link.deadline)
        if self._parent.descriptor is None:
            due.append(now + PARENT_SECONDS)
        wait = min((moment for moment in due if moment is not None), default=math.inf) - now
        if wait <= 0:
            return 0
        return -1 if wait == math.inf else wait * 1000 + 1  # poll rounds down

    # The client

    def _read(self, now: float) -> None:
        try:
            data = os.read(STDIN, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            lines = self._lines.feed(data)
        else:
            self._stdin_open = False
            lines = self._lines.finish()
        for line in lines:
            self._beside.client_line(line, self._conversation, now)
        if self._link is None and not self._conversation.idle and lines:
            self._retry_at = now  # somebody waits: try at once

    # The gateway

    def _attempt(self, now: float) -> None:
        self._retry_at = None
        try:
            self._link = Link(self._find(), self._path, now)
        except (LinkError, ExitError) as error:
            self._failed(error, now)

    def _serve_link(self, events: int, now: float) -> None:
        self._guarded(lambda link: link.ready(events, now), now)

    def _move(self, now: float) -> None:
        """Carry what the conversation wants to say, both ways."""
        more = True
        while more:
            self._guarded(lambda link: self._exchange(link, now), now)
            while self._conversation.jobs:
                self._workers.start(self._conversation.jobs.popleft())
            more = self._beside.exchange(self._conversation, now)
        while self._beside.to_client:
            self._output.write_line(self._beside.to_client.popleft())
        self._output.flush()

    def _exchange(self, link: Link, now: float) -> None:
        if not link.open:
            return
        if self._conversation.phase == DOWN:
            self._opened_at = now
            self._desk.offered(read_offer(link.files))
            self._conversation.link_opened()
        while link.messages:
            self._conversation.engine_message(link.messages.popleft())
            if self._conversation.broken is not None:
                raise LinkError(f"the gateway at {link.address.shown} answered, but {self._conversation.broken}")
        if self._told is not None and self._conversation.phase == OPEN:
            self._tell("connected again")
            self._told = None
        while self._conversation.to_engine:
            link.send(self._conversation.to_engine.popleft(), now)

    def _guarded(self, act: Callable[[Link], None], now: float) -> None:
        """Do something with the link; end it, and plan the next attempt, when that fails."""
        link = self._link
        if link is None:
            return
        try:
            act(link)
        except LinkError as error:
            self._link = None
            link.close()
            while link.messages and self._conversation.phase != DOWN and self._conversation.broken is None:
                self._conversation.engine_message(link.messages.popleft())
            self._failed(error, now)

    def _failed(self, error: LinkError | ExitError, now: float) -> None:
        reason = str(error)
        if self._conversation.phase == OPEN:
            if now - self._opened_at >= STEADY_SECONDS:
                self._backoff = FIRST_BACKOFF
            self._conversation.link_lost(reason, now)
        else:
            final = isinstance(error, ExitError) or error.final
            self._conversation.link_failed(reason, now, final=final)
        self._retry_at = now + self._backoff
        self._backoff = min(self._backoff * 2, MAX_BACKOFF)
        if reason != self._told:
            self._tell(reason)
            self._told = reason

    @staticmethod
    def _tell(text: str) -> None:
        print(f"telebrowser mcp: {text}", file=sys.stderr, flush=True)

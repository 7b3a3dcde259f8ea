"""Another MCP server beside the engine, for the pump: its process, the relay to the session's browser, and the merge of both."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import ConfigError
from ..address import Finder
from ..beside import Beside
from ..conversation import Conversation
from ..lines import TooLong
from .merge import Merge
from .owner import belongs_to_group
from .process import Process, adopt_orphans
from .relay import Relay

STEADY_SECONDS = 60.0
"""A server that ran this long may be started again although it was before."""
LEAVE_SECONDS = 2.0
"""How long it may go on after its stdin was closed."""
TERM_SECONDS = 1.0
"""How long it may go on after SIGTERM."""
SECRETS = ("TELEBROWSER_SECRET",)
"""Variables that are not passed on."""


class Command(NamedTuple):
    """How to run it: a name for messages, and what gives the command line (``{ws}`` and ``{http}`` stand for the browser's addresses)."""

    name: str
    argv: Callable[[], list[str]]


def command(words: Sequence[str], folder: str) -> Command:
    """The command of chrome-devtools-mcp, installed below ``folder``, or that of ``words``. Raises `ConfigError` when it cannot run here."""
    if words:
        if shutil.which(words[0]) is None:
            raise ConfigError(f"--upstream: there is no program {words[0]!r} in PATH")
        return Command(os.path.basename(words[0]), lambda: list(words))
    from .install import argv

    argv(Path(folder))
    return Command("chrome-devtools-mcp", lambda: argv(Path(folder)))


class Server(Beside):
    """Runs from the start; raises `OSError` when it cannot be started."""

    def __init__(self, command: Command, find: Finder, session: str) -> None:
        super().__init__()
        self._command, self._find, self._session = command, find, session
        self._merge = Merge(command.name)
        self._relay: Relay | None = None
        self._started = 0.0
        self._again = True
        self._left: float | None = None
        adopt_orphans()
        self._process: Process | None = self._start()

    def _start(self) -> Process:
        self._started = time.monotonic()
        return Process([self._filled(word) for word in self._command.argv()], {name: value for name, value in os.environ.items() if name not in SECRETS})

    def _filled(self, word: str) -> str:
        """A word of the command line with the relay's addresses; they hold no token."""
        if "{ws}" not in word and "{http}" not in word:
            return word
        if self._relay is None:
            self._relay = Relay(self._find, self._session, lambda connection: self._process is not None and belongs_to_group(connection, self._process.group))
        return word.replace("{ws}", self._relay.ws).replace("{http}", self._relay.http)

    def client_line(self, line: bytes | TooLong, conversation: Conversation, now: float) -> None:
        self._merge.client_line(line)

    def exchange(self, conversation: Conversation, now: float) -> bool:
        merge, moved = self._merge, False
        while conversation.to_client:
            merge.engine_line(conversation.to_client.popleft())
        while merge.to_upstream and self._process is not None:
            line = merge.to_upstream.popleft()
            if conversation.divert(line, now, self._write, merge.upstream_line):
                moved = True
            else:
                self._process.write(line)
        while merge.to_engine:
            conversation.client_line(merge.to_engine.popleft(), now)
            moved = True
        while merge.complaints:
            print(f"telebrowser mcp: {merge.complaints.popleft()}", file=sys.stderr, flush=True)
        self.to_client.extend(merge.to_client)
        merge.to_client.clear()
        return moved

    def _write(self, line: bytes) -> None:
        if self._process is not None:
            self._process.write(line)

    def interest(self, *, full: bool) -> dict[int, int]:
        return {} if self._process is None else self._process.interest(full=full)

    def ready(self) -> None:
        process = self._process
        if process is None:
            return
        for line in process.ready():
            self._merge.upstream_line(line)
        if process.ended:
            self._ended(process)

    def _ended(self, process: Process) -> None:
        """Start it again, once; what was running there is answered."""
        why = process.finish()
        self._process = None
        steady = time.monotonic() - self._started >= STEADY_SECONDS
        again = self._left is None and (self._again or steady)
        self._again = False
        self._merge.upstream_ended(why, again=again)
        if not again:
            return
        try:
            self._process = self._start()
        except OSError as error:
            self._merge.upstream_ended(f"cannot be started again: {error.strerror}", again=False)
        else:
            self._merge.upstream_started()

    @property
    def idle(self) -> bool:
        return self._merge.idle and not (self._process is not None and self._process.writing)

    @property
    def full(self) -> bool:
        return self._process is not None and self._process.full

    def leave(self) -> None:
        if self._process is not None and not self._process.writing and self._left is None:
            self._left = time.monotonic()
            self._process.close_stdin()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close_stdin()
            left = self._left if self._left is not None else time.monotonic()
            if not _gone(process, left + LEAVE_SECONDS):
                process.signal(signal.SIGTERM)
                _gone(process, time.monotonic() + TERM_SECONDS)
            process.finish()
        if self._relay is not None:
            self._relay.close()


def _gone(process: Process, deadline: float) -> bool:
    """Wait until it has ended; what it still writes is dropped, lest it wait for us."""
    poll = select.poll()
    for descriptor in process.interest(full=False):
        poll.register(descriptor, select.POLLIN)
    while not process.ended:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        poll.poll(left * 1000 + 1)
        process.ready()
    return True

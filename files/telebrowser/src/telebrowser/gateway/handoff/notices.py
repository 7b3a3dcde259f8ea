"""Tells people that they are wanted: by any service that Apprise knows, and by a command of the operator's.

Nothing here can delay or fail a handoff. A handoff is told of once, also over a restart of the gateway; one project is told of
a few times within some minutes at most, so that an agent in a loop does not flood a phone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from ...errors import ConfigError
from ...tokens import read_private_file
from .deliver import BAD_ADDRESS
from .machine import Handoff

log = logging.getLogger(__name__)

ATTEMPTS = 4
FIRST_PAUSE = 1.0
PAUSE_FACTOR = 4.0
SEND_SECONDS = 40.0
COMMAND_SECONDS = 10.0
BURST = 6
BURST_SECONDS = 600.0
PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""All that a command gets of the gateway's environment; what sends to services also needs to know of proxies."""


class Message(NamedTuple):
    """What is said: ``event`` is ``handoff_open`` or ``handoff_ended``; ``body`` and ``fields`` hold a link only where one is to be opened."""

    event: str
    title: str
    body: str
    fields: dict[str, Any]


def read_urls(path: str) -> list[str]:
    """The Apprise addresses in a file, one a line; ``#`` begins a comment. Raises `ConfigError`: they are secrets, so the file must be private."""
    text = read_private_file(path, "file of notification addresses").decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


class Notices:
    """``urls_file`` holds Apprise addresses and is read for each message; ``command`` is an argument list."""

    def __init__(self, urls_file: str | None, command: Sequence[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        """Messages by what became of them: ``sent``, ``failed``, ``suppressed``."""
        self._urls_file = urls_file
        self._command = tuple(command)
        self._clock = clock
        self._told: dict[str, deque[float]] = {}
        self._troubles: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        if urls_file is not None:
            read_urls(urls_file)

    @property
    def wanted(self) -> bool:
        """Whether there is anybody to tell."""
        return self._urls_file is not None or bool(self._command)

    def warnings(self) -> list[str]:
        """What did not work the last time, for people; no address in it."""
        return [f"notifications: {trouble}" for trouble in self._troubles.values()]

    def announce(self, handoff: Handoff, link: Callable[[], str | None]) -> bool:
        """Tell of a new handoff; ``link`` makes an address for one receiver. False when nobody is to be told, or too often."""
        if not self.wanted:
            return False
        told = self._told.setdefault(handoff.project, deque())
        while told and told[0] <= self._clock() - BURST_SECONDS:
            told.popleft()
        if len(told) >= BURST:
            self.counts["suppressed"] += 1
            log.warning("[%s] more than %d handoffs within %.0f minutes: nobody is told of %s", handoff.project, BURST, BURST_SECONDS / 60, handoff.id)
            return False
        told.append(self._clock())
        who = f"{handoff.agent} in {handoff.project}" if handoff.agent else handoff.project
        title = f"{who} needs you"
        if self._urls_file is not None:
            self._spawn(self._send(Message("handoff_open", title, handoff.reason, {}), link))
        if self._command:
            self._spawn(self._run(Message("handoff_open", title, handoff.reason, {**fields(handoff), "link": link()})))
        return True

    def ended(self, handoff: Handoff) -> None:
        """Tell the command, which may want to take a message back, that a handoff has ended."""
        if self._command:
            self._spawn(self._run(Message("handoff_ended", f"{handoff.project}: {handoff.state}", "", fields(handoff))))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """The gateway ends: give up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- Apprise

    async def _send(self, message: Message, link: Callable[[], str | None]) -> None:
        assert self._urls_file is not None
        try:
            urls = await asyncio.to_thread(read_urls, self._urls_file)
        except ConfigError as error:
            self._failed("addresses", str(error))
            return
        self._troubles.pop("addresses", None)
        address = link()
        order = {"title": message.title, "body": message.body if address is None else f"{message.body}\n{address}"}
        left = {f"address {number} of {self._urls_file}": url for number, url in enumerate(urls, 1)}
        pause = FIRST_PAUSE
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(pause)
                pause *= PAUSE_FACTOR
            troubles = await _deliver(order | {"urls": left})
            for name in list(left):
                trouble = troubles.get(name, "no answer in time")
                if not trouble:
                    self._sent(name)
                elif trouble == BAD_ADDRESS or attempt == ATTEMPTS - 1:
                    self._failed(name, f"{name}: {trouble}")
                else:
                    continue
                del left[name]
            if not left:
                return

    # -- the command

    async def _run(self, message: Message) -> None:
        data = {"event": message.event, "title": message.title, "text": message.body, **message.fields}
        name = self._command[0]
        try:
            status, _ = await _run_program(self._command, data, COMMAND_SECONDS, KEPT_VARIABLES, asyncio.subprocess.DEVNULL)
        except TimeoutError:
            self._failed("command", f"the command {name} had not ended after {COMMAND_SECONDS:.0f} s")
        except OSError as error:
            self._failed("command", f"the command {name} cannot be run: {error.strerror}")
        else:
            if status:
                self._failed("command", f"the command {name} ended with status {status}")
            else:
                self._sent("command")

    def _sent(self, what: str) -> None:
        self.counts["sent"] += 1
        self._troubles.pop(what, None)

    def _failed(self, what: str, trouble: str) -> None:
        self.counts["failed"] += 1
        self._troubles[what] = trouble
        log.error("notifications: %s", trouble)


async def _deliver(order: dict[str, Any]) -> dict[str, str]:
    """What became of each address; those of which nothing is known are missing."""
    program = (sys.executable, "-m", "telebrowser.gateway.handoff.deliver")
    try:
        _, answer = await _run_program(program, order, SEND_SECONDS, (*KEPT_VARIABLES, *PROXY_VARIABLES))
        found: dict[str, str] = json.loads(answer)
    except (OSError, ValueError):
        # Among the first is that its time was up.
        return {}
    return found


async def _run_program(
    command: Sequence[str], data: dict[str, Any], seconds: float, variables: Sequence[str], output: int = asyncio.subprocess.PIPE
) -> tuple[int, bytes]:
    """Its status and output, with ``data`` as JSON on its standard input. Raises OSError, or TimeoutError once its whole group is killed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=output,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in variables if name in os.environ},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            answer, _ = await process.communicate(json.dumps(data, ensure_ascii=False).encode())
        return process.returncode or 0, answer
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def fields(handoff: Handoff) -> dict[str, Any]:
    """A handoff for a command: what it may say on, without the page's address and what a person wrote."""
    return {
        "id": handoff.id,
        "project": handoff.project,
        "session": handoff.session,
        "agent": handoff.agent,
        "reason": handoff.reason,
        "state": handoff.state,
        "asked_at": handoff.asked_at,
        "deadline": handoff.deadline,
    }

"""The parent process of the embedded stack: keeps supervisor and gateway running, and ends them in order.

``python -m telebrowser.local.parent`` is started by `telebrowser up`, with its settings in the environment; it reports one line
of JSON on descriptor 3 when the stack is ready or has failed, and keeps what it reported in ``run/stack.json``.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import config
from ..datadir import DataDir, read_json, write_json
from ..errors import EXIT_CONFIG, EXIT_FAILED, EXIT_OK, ExitError
from ..logs import rotate
from ..processes import remove_pid_file, write_pid_file
from ..supervisor.children import Children
from . import remains
from .health import base_url, is_ready
from .part import MAX_LOG_BYTES, GivenUp, Part

log = logging.getLogger(__name__)

NAME = "stack"
READY_SECONDS = 60.0
READY_POLL_SECONDS = 0.05
ROTATE_SECONDS = 60.0
# The supervisor's own ladder takes up to 20 s for a browser that does not end.
SUPERVISOR_STOP_SECONDS = 40.0
GATEWAY_STOP_SECONDS = 10.0
REPORT_DESCRIPTOR = 3
PARTS = (config.GATEWAY, config.SUPERVISOR, config.ENGINE)

Report = Callable[[dict[str, Any]], None]


class Parent:
    """One run of the stack; the caller holds the lock of `lock`."""

    def __init__(self, settings: config.Settings, data: DataDir, report: Report) -> None:
        self._settings = settings
        self._data = data
        self._report = report
        self._children = Children()
        self._stopping = asyncio.Event()
        self._state: dict[str, Any] = {
            "state": "starting",
            "url": base_url(settings.bind, settings.port),
            "port": settings.port,
            "people_url": settings.people_url or (base_url(settings.bind, settings.people_port) if settings.people_port else None),
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "reason": None,
        }

    async def run(self) -> int:
        """Run until a signal, or until a part cannot be kept running; the exit code."""
        loop = asyncio.get_running_loop()
        self._children.install()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stopping.set)
        self._record()
        supervisor, gateway = self._part(config.SUPERVISOR), self._part(config.GATEWAY)
        keepers = [asyncio.create_task(part.keep()) for part in (supervisor, gateway)]
        watcher = asyncio.create_task(self._watch([supervisor, gateway]))
        stopping: asyncio.Task[Any] = asyncio.create_task(self._stopping.wait())
        code = EXIT_OK
        try:
            waited: list[asyncio.Future[Any]] = [*keepers, watcher, stopping]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            for task in [*keepers, watcher]:
                if task.done() and (error := task.exception()) is not None:
                    code = self._fail(error)
        finally:
            # The supervisor first: it asks the gateway to close the browsers, which saves their cookies.
            await supervisor.stop(SUPERVISOR_STOP_SECONDS)
            await gateway.stop(GATEWAY_STOP_SECONDS)
            for task in (watcher, stopping, *keepers):
                task.cancel()
            await asyncio.gather(watcher, stopping, *keepers, return_exceptions=True)
            remains.clear_wants(self._data)
            self._children.uninstall()
        if code == EXIT_OK:
            self._state.update(state="stopped")
            self._record()
        return code

    def _part(self, name: str) -> Part:
        environ = {key: value for key, value in os.environ.items() if key != "TELEBROWSER_SECRET"}
        environ.update(config.to_environ(self._settings, *PARTS))
        command = [sys.executable, "-m", f"telebrowser.{name}", "--data", str(self._data.root)]
        return Part(name, command, environ, self._data.log_file(name), self._children)

    async def _watch(self, parts: list[Part]) -> None:
        """Report when everything is ready, then keep the logs small. Raises `GivenUp` when it does not become ready."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._until_ready()
        except TimeoutError:
            raise GivenUp(f"the stack was not ready within {READY_SECONDS:.0f} s; see the logs in {self._data.run}") from None
        self._state.update(state="ready")
        self._record()
        self._report(self._state)
        log.info("ready at %s", self._state["url"])
        while True:
            await asyncio.sleep(ROTATE_SECONDS)
            for part in parts:
                part.rotate_log()
            rotate(self._data.log_file(NAME), MAX_LOG_BYTES)

    async def _until_ready(self) -> None:
        # The gateway is another program: nothing but asking tells when it answers.
        while True:
            if await is_ready(self._settings.bind, self._settings.port, self._data):
                return
            await asyncio.sleep(READY_POLL_SECONDS)

    def _fail(self, error: BaseException) -> int:
        reason = str(error) if isinstance(error, GivenUp) else f"fault in telebrowser itself: {error!r}"
        log.error("giving up: %s", reason)
        self._state.update(state="failed", reason=reason)
        self._record()
        self._report(self._state)
        return EXIT_FAILED

    def _record(self) -> None:
        with contextlib.suppress(OSError):
            write_json(state_file(self._data), self._state)


def state_file(data: DataDir) -> Path:
    """Where the parent keeps what it last reported."""
    return data.run / "stack.json"


def read_state(data: DataDir) -> dict[str, Any]:
    """What the parent last reported; empty when none ever ran."""
    return read_json(state_file(data)) or {}


@contextlib.contextmanager
def hold(data: DataDir) -> Iterator[None]:
    """Hold the data directory as its one stack parent, with the pid file. Raises `ExitError` when another parent has it."""
    descriptor = os.open(data.run / "stack.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExitError(EXIT_CONFIG, f"another stack runs on the data directory {data.root}") from None
        write_pid_file(data.pid_file(NAME))
        try:
            yield
        finally:
            remove_pid_file(data.pid_file(NAME))
    finally:
        os.close(descriptor)


def run(settings: config.Settings, report: Report) -> int:
    """Be the parent until a signal; the exit code. Raises `ExitError` or OSError when it cannot start."""
    data = DataDir(settings.data)
    with hold(data):
        return asyncio.run(Parent(settings, data, report).run())


def main() -> int:
    """The detached parent's program."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)

    def report(state: dict[str, Any]) -> None:
        # Whoever waited may be gone; and it waits for one report only.
        with contextlib.suppress(OSError):
            os.write(REPORT_DESCRIPTOR, json.dumps(state).encode() + b"\n")
            os.close(REPORT_DESCRIPTOR)

    try:
        os.set_inheritable(REPORT_DESCRIPTOR, False)
        return run(config.load(*PARTS), report)
    except (ExitError, OSError) as error:
        log.error("%s", error)
        report({"state": "failed", "reason": str(error)})
        return error.exit_code if isinstance(error, ExitError) else EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())

"""One part of the embedded stack: a child process that is started again when it ends, up to a point."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import EXIT_CONFIG, EXIT_USAGE
from ..logs import last_line, open_log, rotate
from ..processes import kill_group
from ..supervisor.children import Child, Children

log = logging.getLogger(__name__)

QUICK_SECONDS = 10.0
DELAYS = (0.2, 0.5, 1.0, 2.0)
MAX_LOG_BYTES = 8 << 20


class GivenUp(Exception):
    """A part cannot be kept running; the text is one line that says why."""


class Part:
    """Keeps one program running; its output goes to its log."""

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str], log_path: Path, children: Children) -> None:
        self.name = name
        self._command = list(command)
        self._environ = dict(environ)
        self._log_path = log_path
        self._children = children
        self._child: Child | None = None
        self._stopping = asyncio.Event()

    async def keep(self) -> None:
        """Run it until `stop`. Raises `GivenUp` after too many quick ends, or at once when its settings are wrong."""
        loop = asyncio.get_running_loop()
        quick = 0
        while not self._stopping.is_set():
            rotate(self._log_path, MAX_LOG_BYTES)
            offset = self._log_path.stat().st_size if self._log_path.exists() else 0
            began = loop.time()
            self._child = self._spawn()
            code = await self._child.ended
            if self._stopping.is_set():
                return
            reason = last_line(self._log_path, offset).removeprefix(f"telebrowser {self.name}: ") or f"it ended with code {code}"
            if code in (EXIT_CONFIG, EXIT_USAGE):
                raise GivenUp(f"{self.name}: {reason}")
            quick = quick + 1 if loop.time() - began < QUICK_SECONDS else 0
            if quick > len(DELAYS):
                raise GivenUp(f"{self.name} ended {quick} times in a row right after its start: {reason}")
            delay = DELAYS[max(quick - 1, 0)]
            log.warning("%s ended with code %s (%s); starting it again in %.1f s", self.name, code, reason, delay)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._stopping.wait()

    def _spawn(self) -> Child:
        output = open_log(self._log_path)
        try:
            child = self._children.spawn(self._command, environ=self._environ, stdout=output, stderr=output)
        finally:
            os.close(output)
        log.info("%s started, pid %d", self.name, child.pid)
        return child

    def rotate_log(self) -> None:
        """Move the log aside when it has grown too large."""
        rotate(self._log_path, MAX_LOG_BYTES)

    async def stop(self, seconds: float) -> None:
        """SIGTERM, and SIGKILL for its group when it has not ended after ``seconds``."""
        self._stopping.set()
        child = self._child
        if child is None or not child.signal(signal.SIGTERM):
            return
        done, _ = await asyncio.wait({child.ended}, timeout=seconds)
        if not done:
            log.error("%s did not end within %.0f s of SIGTERM; killing it", self.name, seconds)
            kill_group(child.pid)
            await asyncio.wait({child.ended}, timeout=seconds)

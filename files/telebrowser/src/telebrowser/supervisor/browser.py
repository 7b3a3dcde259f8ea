"""One running Chromium of one project."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..datadir import is_disk_full
from ..errors import TelebrowserError
from ..logs import open_log, rotate
from ..processes import ProcessStat, command_line, everyone, signal_process
from . import chromium, ladder
from .children import Child, Children
from .enclosure import Enclosure, exit_code
from .pipe import Pipe
from .profile import Profile
from .walls import Walls

log = logging.getLogger(__name__)

READY_SECONDS = 20.0
REST_SECONDS = 3.0
MAX_LOG_BYTES = 1 << 20


class Browser:
    """A Chromium from its start to the end of the last process of its group."""

    def __init__(self, profile: Profile, child: Child, pipe: Pipe, log_path: Path, enclosure: Enclosure | None) -> None:
        self.project = profile.project
        self.pipe = pipe
        self.version = ""
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.asked = False
        self._profile = profile
        self._child = child
        self._enclosure = enclosure
        self._log_path = log_path
        self.ask_gateway: Callable[[], bool] = _nobody

    @classmethod
    def launch(cls, profile: Profile, command: Sequence[str], walls: Walls, display: Mapping[str, str], children: Children, log_path: Path) -> Browser:
        """Start the process, inside walls where there are some. Raises `TelebrowserError` BROWSER_UNAVAILABLE or DISK_FULL."""
        try:
            errors = open_log(log_path)
        except OSError as error:
            raise start_error(error) from None
        environ = chromium.environment(profile, display, os.environ)
        pipe = Pipe()
        enclosure = Enclosure() if walls.on else None

        def prepare() -> None:
            pipe.place()
            if enclosure is not None:
                enclosure.place()

        try:
            child = children.spawn(
                walls.command(command, profile, display, environ) if walls.on else command,
                environ=environ,
                stderr=errors,
                identity=profile.identity,
                cwd=str(profile.home),
                prepare=prepare,
            )
        except OSError as error:
            pipe.close()
            if enclosure is not None:
                enclosure.close()
            raise start_error(error) from None
        finally:
            os.close(errors)
            pipe.started()
            if enclosure is not None:
                enclosure.started()
        return cls(profile, child, pipe, log_path, enclosure)

    async def wait_ready(self) -> None:
        """Wait until it answers on the pipe. Raises `TelebrowserError` BROWSER_UNAVAILABLE."""
        call = asyncio.create_task(self.pipe.call("Browser.getVersion"))
        waited: list[asyncio.Future[Any]] = [call, self.ended]
        try:
            await asyncio.wait(waited, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not call.done() and not self.ended.done():
                raise TelebrowserError("BROWSER_UNAVAILABLE", f"Chromium did not answer within {READY_SECONDS:.0f} s; see {self._log_path}")
            if not call.done() or call.exception() is not None:
                await self.wait(REST_SECONDS)
                ended = "closed its pipe" if self.exit_code is None else f"ended with code {self.exit_code}"
                raise TelebrowserError("BROWSER_UNAVAILABLE", f"Chromium {ended} while it started; see {self._log_path}")
            self.version = str(call.result().get("product", "")).partition("/")[2]
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    @property
    def pid(self) -> int:
        """Chromium's main process; inside walls it is known once it runs, until then it is what makes the walls."""
        main = self._enclosure.main if self._enclosure is not None else None
        return self._child.pid if main is None else main.pid

    @property
    def group(self) -> int:
        return self.pid

    @property
    def ended(self) -> asyncio.Future[int]:
        """Its exit code, once the main process has ended."""
        return self._child.ended

    @property
    def exit_code(self) -> int | None:
        if not self._child.ended.done():
            return None
        code = self._child.ended.result()
        return code if self._enclosure is None else exit_code(code)

    async def wait(self, timeout: float) -> bool:
        await asyncio.wait({self._child.ended}, timeout=timeout)
        return self._child.ended.done()

    def ask(self) -> bool:
        """Have it asked to close: by the gateway, which is the one writer while it is there, else by us."""
        self.asked = True
        return self.ask_gateway() or self.pipe.close_browser()

    def interrupt(self) -> None:
        main = self._enclosure.main if self._enclosure is not None else None
        if main is not None:
            signal_process(main.pid, main.start, signal.SIGINT)
        else:
            self._child.signal(signal.SIGINT)

    async def stop(self) -> str:
        """Stop it by the ladder; see `ladder.stop`."""
        step = await ladder.stop(self)
        if step != "closed":
            log.warning("[%s] did not close when asked: %s", self.project, step)
        return step

    async def clean_up(self) -> None:
        """After the main process has ended: end what is left of its group, close the pipe, remove temporary files."""
        self.pipe.close()
        await self._end_rest()
        self._profile.clear_temporary()

    async def _end_rest(self) -> None:
        """End what outlived the main process: its group, and the crash handlers, which leave the group but end with their client."""
        if self._enclosure is not None:
            if await self._enclosure.end(REST_SECONDS):
                log.warning("[%s] killed what outlived the browser inside its walls", self.project)
            self._enclosure.close()
            return
        for kill in (False, True):
            rest = self._rest()
            if kill and rest:
                log.warning("[%s] killed processes that outlived the browser: %s", self.project, " ".join(str(process.pid) for process in rest))
                for process in rest:
                    signal_process(process.pid, process.start, signal.SIGKILL)
            await asyncio.gather(*(ladder.wait_for_end(process.pid, process.start, REST_SECONDS) for process in rest))

    def _rest(self) -> list[ProcessStat]:
        mark = f"{self._profile.folder}/"
        own = os.getpid()
        return [
            process
            for process in everyone()
            if process.group == self.group or (process.parent == own and any(mark in argument for argument in command_line(process.pid)))
        ]

    def describe(self) -> dict[str, Any]:
        """What the gateway is told of it."""
        return {"project": self.project, "pid": self.pid, "started_at": self.started_at, "window": f"[{self.project}]"}

    def cap_log(self) -> None:
        """Move its log aside when it has grown too large."""
        rotate(self._log_path, MAX_LOG_BYTES)


def start_error(error: OSError) -> TelebrowserError:
    """The error for a start that the operating system refused."""
    if is_disk_full(error):
        return TelebrowserError("DISK_FULL", f"no room left on the disk: {error.filename or error.strerror}")
    text = ": ".join(str(part) for part in (error.strerror, error.filename) if part)
    return TelebrowserError("BROWSER_UNAVAILABLE", f"Chromium cannot be started: {text}")


def _nobody() -> bool:
    return False

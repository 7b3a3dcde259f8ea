"""The display of the stock browser container: labwc, a Wayland desktop that the container starts, and people see in its view."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import EXIT_FAILED, ExitError
from .front import APP_PREFIX, Front
from .profile import Profile
from .wayland import Client, WaylandError

log = logging.getLogger(__name__)

# The view makes wayland-1; labwc, inside of it, takes the first name that is free.
SOCKET = "wayland-0"
START_DEADLINE = 30.0
RETRY_SECONDS = 0.1
RAISE_DEADLINE = 3.0
SETTLE_DEADLINE = 3.0
READ_BYTES = 64 << 10


class LabwcDisplay:
    """One connection for as long as labwc lives, so that its end is known at once and nothing has to be asked for."""

    backend = "labwc"
    # Whoever started the desktop shows it.
    view_socket: Path | None = None

    def __init__(self, size: str, runtime: str | None = None) -> None:
        self.size = size
        self._socket = Path(runtime or os.environ.get("XDG_RUNTIME_DIR") or "/run/nowhere") / SOCKET
        self.name = str(self._socket)
        self._client = Client()
        self._front = Front(self._client.windows)
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._lost: asyncio.Future[str] | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    async def start(self) -> None:
        problem = "it is not there"
        try:
            async with asyncio.timeout(START_DEADLINE):
                while True:
                    try:
                        return await self._connect()
                    except (OSError, WaylandError) as error:
                        problem = getattr(error, "strerror", None) or str(error)
                        # Nothing announces the socket of a compositor that is not there yet.
                        await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            raise ExitError(
                EXIT_FAILED, f"the desktop does not answer at {self._socket} within {START_DEADLINE:.0f} s ({problem}); see the log of the service svc-de"
            ) from None

    async def _connect(self) -> None:
        reader, self._writer = await asyncio.open_unix_connection(str(self._socket))
        self._client = Client()
        self._front = Front(self._client.windows)
        self._lost = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(reader, self._lost))
        self._flush()
        try:
            await self._until(lambda: self._client.ready)
        except BaseException:
            await self.stop()
            raise

    async def _read(self, reader: asyncio.StreamReader, lost: asyncio.Future[str]) -> None:
        reason = "labwc closed the connection"
        try:
            while data := await reader.read(READ_BYTES):
                for window in self._client.receive(data):
                    again = self._front.changed(window, known=not self._client.ready)
                    if again is not None:
                        log.info("a window of %s has opened; the one that was in front is raised again", window.app)
                        self._client.activate(again)
                self._flush()
                self._wake()
        except (OSError, WaylandError) as error:
            reason = str(error)
        finally:
            if not lost.done():
                lost.set_result(reason)
            self._wake()

    def _flush(self) -> None:
        output = self._client.take()
        if output and self._writer is not None:
            self._writer.write(output)

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def _until(self, test: Callable[[], bool]) -> None:
        """Wait until ``test`` holds; it is asked after each message. Raises `WaylandError` when the desktop is lost."""
        while not test():
            if self.lost:
                raise WaylandError(self._lost.result() if self._lost is not None else "the desktop is not there")
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            await future

    @property
    def lost(self) -> bool:
        return self._lost is None or self._lost.done()

    async def wait_lost(self) -> str:
        assert self._lost is not None
        return f"labwc is gone: {await asyncio.shield(self._lost)}"

    async def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading
            self._reading = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def options(self, project: str) -> Sequence[str]:
        # Of a Wayland window this is the application name. No page can change it, and popups have it, too.
        return ("--ozone-platform=wayland", f"--class={APP_PREFIX}{project}")

    def environment(self, profile: Profile) -> Mapping[str, str]:
        # A whole path: a browser has a runtime folder of its own.
        return self.own_environment

    @property
    def own_environment(self) -> Mapping[str, str]:
        return {"WAYLAND_DISPLAY": str(self._socket), "XDG_SESSION_TYPE": "wayland"}

    async def raise_window(self, title: str) -> str | None:
        if self.lost:
            return "the desktop is not there"
        handle = self._front.find(title)
        if handle is None:
            return f"no window has the title {title}"
        self._front.want(handle)
        self._client.activate(handle)
        self._flush()
        try:
            async with asyncio.timeout(RAISE_DEADLINE):
                await self._until(lambda: self._front.current == handle or handle not in self._client.windows)
        except TimeoutError:
            return f"the window {title} did not come to the front within {RAISE_DEADLINE:.0f} s"
        except WaylandError as error:
            return str(error)
        return None if handle in self._client.windows else f"the window {title} was closed"

    async def front(self) -> int:
        return self._front.current

    async def settle(self, title: str, before: int) -> None:
        # `Front` puts the window that was there before back; here it is only waited for.
        with contextlib.suppress(TimeoutError, WaylandError):
            async with asyncio.timeout(SETTLE_DEADLINE):
                await self._until(lambda: self._front.appeared(title))

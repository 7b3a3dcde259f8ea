"""The view server Selkies beside a display: it shows the whole desktop, moving, and takes the person's keyboard and mouse.

It listens on a Unix socket below ``run/`` and on no port, so that no page and no other user can reach it. It asks for nothing there:
whoever may open the socket may see and act. The gateway opens it, and lets people through who have a credential of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..config import Settings
from ..datadir import DataDir, write_json
from ..logs import open_log, rotate
from ..processes import kill_group
from .announcement import Announcement, key, socket_path
from .children import Child, Children
from .leftovers import end_recorded

log = logging.getLogger(__name__)

BACKEND = "selkies-x11"
CONTAINER_BACKEND = "selkies-labwc"
FRAMES = 30
VERSION_SECONDS = 20.0
START_SECONDS = 60.0
STOP_SECONDS = 5.0
LOOK_SECONDS = 10.0
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 0.1
MISSES = 2
MAX_LOG_BYTES = 1 << 20
# The waits before it is started again, and after how long a life the first of them is right again.
WAITS = (1.0, 2.0, 5.0, 15.0, 60.0)
STEADY_SECONDS = 120.0
HEALTH = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# What nobody needs to sign in somewhere, and what would be a way around the gateway.
OPTIONS = (
    "--mode=websockets",
    "--enable-dual-mode=false|locked",
    "--enable-basic-auth=false",
    "--audio-enabled=false|locked",
    "--microphone-enabled=false|locked",
    "--gamepad-enabled=false|locked",
    "--webcam-enabled=false|locked",
    "--file-transfers=none",
    "--printing-enabled=false|locked",
    "--command-enabled=false|locked",
    "--second-screen=false|locked",
    "--enable-sharing=false|locked",
    "--enable-collab=false|locked",
    "--enable-player2=false|locked",
    "--enable-player3=false|locked",
    "--enable-player4=false|locked",
    # Agents lay out their pages by it: it must not become as small as a phone, and stay so.
    "--enable-resize=false|locked",
    "--ui-title=telebrowser",
    f"--framerate={FRAMES},8-{FRAMES}",
)


def installed(python: str) -> str | None:
    """The version of Selkies that an interpreter has; None when it has none."""
    try:
        found = subprocess.run(
            [python, "-I", "-m", "selkies", "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    name, _, version = found.stdout.strip().partition(" ")
    return version if found.returncode == 0 and name == "selkies" and version else None


async def answers(socket: Path) -> bool:
    """Whether a Selkies is well at a Unix socket, within `ANSWER_SECONDS`."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(str(socket))
            try:
                writer.write(HEALTH)
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    return False


class Selkies:
    """`run` it beside a display for as long as that lives. ``environment`` is what a program needs to reach the display."""

    def __init__(self, data: DataDir, children: Children, settings: Settings, announcement: Announcement, desktop: str, environment: Mapping[str, str]) -> None:
        self._children = children
        self._announcement = announcement
        self._desktop = desktop
        self._environment = environment
        self._python: str = settings.selkies_python or sys.executable
        self._encoders: Sequence[str] = settings.encoders
        name = f"view{key(desktop)}"
        self._home = data.run / f"{name}.home"
        self._record = data.pid_file(name)
        self._log = data.log_file(name)
        self.socket = socket_path(data, desktop)

    async def run(self) -> None:
        """Keep it running, announced while it answers, until cancelled. Nothing of it is left then."""
        await end_recorded(self._record, "view")
        failures = 0
        while True:
            began = asyncio.get_running_loop().time()
            reason = await self._live()
            if asyncio.get_running_loop().time() - began > STEADY_SECONDS:
                failures = 0
            wait = WAITS[min(failures, len(WAITS) - 1)]
            failures += 1
            log.error("the view of %s has ended (%s); it is started again in %.0f s; see %s", self._desktop, reason, wait, self._log)
            await asyncio.sleep(wait)

    async def _live(self) -> str:
        """One life of the process; why it ended."""
        try:
            child = self._start()
        except OSError as error:
            return f"it cannot be started: {error.strerror}"
        try:
            write_json(self._record, {"pid": child.pid, "start": child.start})
            return await self._watch(child)
        finally:
            self._announcement.remove(self._desktop)
            await _end(child)
            for path in (self._record, self.socket):
                with contextlib.suppress(OSError):
                    path.unlink()

    def _start(self) -> Child:
        self._home.mkdir(mode=0o700, exist_ok=True)
        command = [self._python, "-I", "-m", "selkies", f"--unix-socket={self.socket}", f"--encoder={','.join(self._encoders)}", *OPTIONS]
        environ = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        environ |= {"HOME": str(self._home), "XDG_RUNTIME_DIR": str(self._home), **self._environment}
        output = open_log(self._log)
        try:
            return self._children.spawn(command, environ=environ, stdout=output, stderr=output, cwd=str(self._home), prepare=_private)
        finally:
            os.close(output)

    async def _watch(self, child: Child) -> str:
        """Announce it once it answers, and see that it goes on doing so; why it does not any more."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        while not await answers(self.socket):
            if await _ended(child, RETRY_SECONDS):
                return f"code {child.ended.result()}"
            if loop.time() > deadline:
                return f"it did not answer within {START_SECONDS:.0f} s"
        os.chmod(self.socket, 0o600)
        self._announcement.add(self._desktop, self.socket)
        log.info("the view of %s is ready", self._desktop)
        misses = 0
        while misses < MISSES:
            rotate(self._log, MAX_LOG_BYTES)
            if await _ended(child, LOOK_SECONDS):
                return f"code {child.ended.result()}"
            misses = 0 if await answers(self.socket) else misses + 1
        return f"it did not answer {MISSES} times"


class Served:
    """The Selkies that the container starts itself, inside of which its desktop is: announced while it answers at ``socket``."""

    def __init__(self, announcement: Announcement, desktop: str, socket: Path) -> None:
        self._announcement = announcement
        self._desktop = desktop
        self._socket = socket

    async def run(self) -> None:
        """Look after it until cancelled. The container's service starts it again when it dies, and then this supervisor too."""
        known, misses = False, 0
        while True:
            well = await answers(self._socket)
            misses = 0 if well else misses + 1
            if well and not known:
                self._announcement.add(self._desktop, self._socket)
                log.info("the view of %s is ready", self._desktop)
                known = True
            elif known and misses == MISSES:
                self._announcement.remove(self._desktop)
                log.error("the view of %s did not answer %d times", self._desktop, MISSES)
                known = False
            # Nothing tells when it listens.
            await asyncio.sleep(LOOK_SECONDS if known else 1.0)


async def _ended(child: Child, seconds: float) -> bool:
    done, _ = await asyncio.wait({child.ended}, timeout=seconds)
    return bool(done)


async def _end(child: Child) -> None:
    """End it, and what it started."""
    if child.signal(signal.SIGTERM) and not await _ended(child, STOP_SECONDS) and kill_group(child.pid):
        await child.ended
    kill_group(child.pid)


def _private() -> None:
    os.umask(0o077)

"""The standalone mode's own Chromium: headless, on a debugging pipe, with a profile that is thrown away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from ..cdp.transport import PipeTransport
from ..errors import TelebrowserError
from ..processes import is_running, kill_group, signal_process, start_time
from ..supervisor import chromium
from ..supervisor.pipe import Pipe

log = logging.getLogger("telebrowser.standalone")

PREFIX = "tbs"
LONGEST_FOLDER = 61
"""Below its TMPDIR Chromium makes ``org.chromium.Chromium.XXXXXX/SingletonSocket``, and a Unix socket's path ends at 107 characters."""
CLOSE_SECONDS = 3.0
INTERRUPT_SECONDS = 2.0
WINDOW = "1280,800"
NOT_HEADLESS = frozenset({"--start-maximized"})


class PrivateBrowser:
    """One Chromium and its temporary profile. `start`, use the transport, `stop`."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    async def start(self) -> PipeTransport:
        """Start it and open its debugging pipe. Raises `TelebrowserError` BROWSER_UNAVAILABLE or DISK_FULL."""
        sweep()
        try:
            self._folder = new_folder()
        except OSError as error:
            raise TelebrowserError(
                "DISK_FULL" if error.errno == 28 else "BROWSER_UNAVAILABLE", f"No temporary profile can be made in {tempfile.gettempdir()}: {error.strerror}"
            ) from None
        pipe = Pipe()
        try:
            self._process = self._spawn(pipe)
        except OSError as error:
            pipe.started()
            pipe.close()
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"{self._program} does not start: {error.strerror}") from None
        pipe.started()
        return await PipeTransport(pipe.write_end, pipe.read_end).open()

    def _spawn(self, pipe: Pipe) -> subprocess.Popen[bytes]:
        assert self._folder is not None
        home = self._folder / "home"
        home.mkdir()
        sandbox = chromium.choose_sandbox(self._program, None)
        options = [option for option in chromium.OPTIONS if option not in NOT_HEADLESS]
        if not sandbox.on:
            log.warning("%s", sandbox.warning)
            options += ["--no-sandbox", "--test-type"]
        if not Path("/dev/dri").exists():
            options.append("--disable-gpu")
        kept = {name: value for name, value in os.environ.items() if name in chromium.KEPT_VARIABLES or name.startswith(chromium.KEPT_PREFIXES)}
        environ = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            **kept,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "XDG_CACHE_HOME": str(home),
            "TMPDIR": str(self._folder),
        }
        command = [self._program, "--headless=new", *options, f"--user-data-dir={self._folder / 'profile'}", f"--window-size={WINDOW}", "about:blank"]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
            preexec_fn=pipe.place,
            close_fds=False,
        )

    @property
    def running(self) -> bool:
        """Whether its main process lives."""
        return self._process is not None and self._process.poll() is None

    async def stop(self) -> None:
        """End it, whose pipe was closed before, and remove its profile; nothing of it is left afterwards."""
        process, self._process = self._process, None
        if process is not None and not await _ended(process, CLOSE_SECONDS):
            start = start_time(process.pid)
            if start is not None:
                signal_process(process.pid, start, signal.SIGINT)
            await _ended(process, INTERRUPT_SECONDS)
        if process is not None:
            kill_group(process.pid)
            await _ended(process, INTERRUPT_SECONDS)
        folder, self._folder = self._folder, None
        if folder is not None:
            await asyncio.to_thread(remove, folder)


def new_folder() -> Path:
    """A folder whose name tells whose it is, in the temporary directory, or in /tmp when the path would be too long for Chromium's socket."""
    prefix = f"{PREFIX}-{os.getpid()}-{start_time(os.getpid())}-"
    room = LONGEST_FOLDER - len(prefix) - len("/12345678")
    return Path(tempfile.mkdtemp(prefix=prefix, dir=None if len(tempfile.gettempdir()) <= room else "/tmp"))


async def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        await asyncio.to_thread(process.wait, seconds)
    return process.returncode is not None


def remove(folder: Path) -> None:
    """Delete a profile; files that a dying process still adds get a second and third try."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    log.warning("%s could not be removed whole", folder)


def sweep() -> None:
    """Remove the profiles of standalone processes that were killed before they could do so themselves."""
    for folder in (found for place in {tempfile.gettempdir(), "/tmp"} for found in Path(place).glob(f"{PREFIX}-*")):
        parts = folder.name.removeprefix(f"{PREFIX}-").split("-")
        if len(parts) < 3 or not (parts[0].isdigit() and parts[1].isdigit()):
            continue
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.geteuid() and not is_running(int(parts[0]), int(parts[1])):
                remove(folder)

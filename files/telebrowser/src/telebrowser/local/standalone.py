"""`telebrowser mcp --standalone`: the engine in this very process, on a browser of its own or one that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from .. import __version__, config
from ..cdp.transport import Transport, WebSocketTransport
from ..errors import EXIT_CONFIG, EXIT_OK, ConfigError, ExitError, TelebrowserError
from ..gateway.browser import BrowserLink
from ..launcher.stdio import Parent
from ..mcp.endpoint import Endpoint
from ..page.provider import HandoffPort
from ..page.urls import may_load
from ..supervisor.chromium import find_program
from .files import LocalFiles
from .private_browser import PrivateBrowser

log = logging.getLogger("telebrowser.standalone")

MAX_LINE = 100 << 20
RESTARTS = 2
STABLE_SECONDS = 60.0
RECONNECTS = (0.1, 0.4, 1.0)
DRAIN_SECONDS = 2.0
PARENT_SECONDS = 1.0


class StandaloneProvider:
    """The engine's way to a private Chromium, started on the first call, or to one at ``cdp_url``."""

    def __init__(self, project: str, session: str, settings: config.Settings, cdp_url: str | None) -> None:
        self.project = project
        self.session = session
        self.output_dir = Path(settings.output_dir).absolute()
        self.downloads_dir = self.output_dir / "downloads"
        self.uploads_dir = self.output_dir / "uploads"
        self.outbox_dir = self.output_dir / ".outbox"
        self.handoffs: HandoffPort | None = None
        self.last_used = time.monotonic()
        self._settings = settings
        self._cdp_url = cdp_url
        self._link: BrowserLink | None = None
        self._browser: PrivateBrowser | None = None
        self._crashes: list[float] = []

    async def connect(self) -> Transport:
        """A connection to the browser; a crashed one is started anew, at most twice in a row."""
        if self._link is None or self._link.down is not None:
            self._link = await self._open_link()
        return await self._link.connect(self.session)

    async def _open_link(self) -> BrowserLink:
        transport = await (self._attach() if self._cdp_url is not None else self._launch())
        link = BrowserLink(
            transport,
            project=self.project,
            downloads_dir=self.downloads_dir,
            uploads_dir=self.uploads_dir,
            session_grace=3600.0,
            foreign=self._cdp_url is not None,
        )
        await link.start()
        if self._cdp_url is None and not self._settings.allow_private_networks:
            link.guard_documents(may_load)
        return link

    async def _launch(self) -> Transport:
        if self._browser is not None:
            now = time.monotonic()
            self._crashes = [at for at in self._crashes if now - at < STABLE_SECONDS] + [now]
            await self._stop_browser()
            if len(self._crashes) > RESTARTS:
                raise TelebrowserError(
                    "BROWSER_CRASHED",
                    f"The browser ended {len(self._crashes)} times within a minute; it is not started again yet",
                    "Wait a minute and call again.",
                )
        try:
            for folder in (self.downloads_dir, self.uploads_dir):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TelebrowserError("DISK_FULL" if error.errno == 28 else "BROWSER_UNAVAILABLE", f"{self.output_dir} cannot be used: {error.strerror}") from None
        browser = PrivateBrowser(find_program(self._settings.chromium_path))
        self._browser = browser
        return await browser.start()

    async def _attach(self) -> Transport:
        assert self._cdp_url is not None
        for number, delay in enumerate((*RECONNECTS, 0.0)):
            try:
                return await WebSocketTransport(await asyncio.to_thread(debugger_url, self._cdp_url)).open()
            except (OSError, TimeoutError, ValueError) as error:
                if number == len(RECONNECTS):
                    raise TelebrowserError(
                        "BROWSER_UNAVAILABLE", f"No Chromium answers at {self._cdp_url}: {error}", "Start one with --remote-debugging-port."
                    ) from None
                await asyncio.sleep(delay)
        raise AssertionError("unreachable")

    def status(self) -> dict[str, Any]:
        """What is known of the browser without asking it."""
        up = self._link is not None and self._link.down is None
        kind = "a private headless Chromium" if self._cdp_url is None else "a Chromium that runs elsewhere"
        return {
            "project": self.project,
            "session": self.session,
            "state": "up" if up else "stopped",
            "browser": kind,
            "idle_shutdown_ms": self._settings.idle_shutdown_ms if self._cdp_url is None else 0,
            "downloads": {"directory": str(self.downloads_dir)},
            "version": __version__,
        }

    def local_file(self, path: str) -> Path:
        """A file that `local.files` has found below the working directory or a root: agent, engine and browser are one user's."""
        real = os.path.realpath(path)
        if self._link is not None:
            self._link.files.admit(real)
        return Path(real)

    def activity(self) -> None:
        """A call begins or ends."""
        self.last_used = time.monotonic()

    async def idle_stop(self, endpoint: Endpoint) -> None:
        """Stop the private browser whenever it has not been used for IDLE_SHUTDOWN_MS, never during a call."""
        limit = self._settings.idle_shutdown_ms / 1000
        if not limit or self._cdp_url is not None:
            return
        while True:
            left = self.last_used + limit - time.monotonic()
            if left > 0 or endpoint.busy:
                await asyncio.sleep(max(left, 0.05))
            elif self._browser is None:
                await asyncio.sleep(limit)
            else:
                log.info("stopping the browser after %.0f s without a call", limit)
                endpoint.disconnect()
                await self._stop_browser()

    async def _stop_browser(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close(keep_tabs=True)
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.stop()

    async def aclose(self) -> None:
        """Stop the private browser, or close the own tabs in a browser that stays."""
        if self._browser is None and self._link is not None:
            link, self._link = self._link, None
            await link.close()
        await self._stop_browser()


def debugger_url(url: str) -> str:
    """The WebSocket address behind ``url`` (http, https, ws or wss). Raises OSError or ValueError."""
    if url.startswith(("ws://", "wss://")):
        return url
    if not url.startswith(("http://", "https://")):
        raise ValueError("the address must begin with http, https, ws or wss")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url.rstrip("/") + "/json/version", timeout=5) as answer:
            found = json.load(answer)["webSocketDebuggerUrl"]
    except (urllib.error.HTTPError, KeyError) as error:
        raise ValueError(f"it is not a Chromium debugging address ({error})") from None
    return str(found)


class Stdio:
    """Lines from stdin to the loop, by a thread, so that files, pipes, sockets and terminals all work; lines out to stdout."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._out = os.dup(1)
        # A stray print must not corrupt the protocol.
        os.dup2(2, 1)
        self.ended = asyncio.Event()
        threading.Thread(target=self._read, daemon=True, name="stdin").start()

    def _read(self) -> None:
        rest = bytearray()
        too_long = False
        while True:
            try:
                data = os.read(0, 1 << 18)
            except OSError:
                data = b""
            if not data:
                break
            rest += data
            *lines, last = rest.split(b"\n")
            rest = bytearray(last)
            for line in lines:
                if too_long or line.strip():
                    self._give("x" if too_long else line.decode(errors="replace"))
                too_long = False
            if len(rest) > MAX_LINE:
                too_long, rest = True, bytearray()
        if rest.strip():
            self._give(rest.decode(errors="replace"))
        self._give(None)

    def _give(self, line: str | None) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._took, line)

    def _took(self, line: str | None) -> None:
        self._lines.put_nowait(line)
        if line is None:
            self.ended.set()

    async def receive(self) -> str | None:
        """The next line; None at the end of stdin."""
        return await self._lines.get()

    async def send(self, text: str) -> None:
        """Write one line; a reader that is gone ends the process like a closed stdin."""
        try:
            await asyncio.to_thread(self._write, text.encode() + b"\n")
        except OSError:
            self._took(None)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._out, view) :]


async def serve(project: str, session: str, settings: config.Settings, cdp_url: str | None) -> None:
    """Serve until stdin ends, a signal comes or the parent is gone; then leave nothing behind."""
    loop = asyncio.get_running_loop()
    provider = StandaloneProvider(project, session, settings, cdp_url)
    endpoint = Endpoint(provider, settings, evaluate=settings.enable_eval_js, allow_private=settings.allow_private_networks)
    stdio = Stdio(loop)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stdio.ended.set)
    files = LocalFiles(stdio.receive, stdio.send, outbox=provider.outbox_dir, downloads=provider.downloads_dir)
    serving = asyncio.create_task(endpoint.run(files.receive, files.send))
    keepers = [asyncio.create_task(files.run()), asyncio.create_task(provider.idle_stop(endpoint)), asyncio.create_task(_watch_parent(stdio.ended))]
    await stdio.ended.wait()
    await asyncio.wait({serving}, timeout=DRAIN_SECONDS)
    for task in (serving, *keepers):
        task.cancel()
    await asyncio.gather(serving, *keepers, return_exceptions=True)
    await endpoint.aclose()


async def _watch_parent(ended: asyncio.Event) -> None:
    parent = Parent()
    if parent.descriptor is not None:
        asyncio.get_running_loop().add_reader(parent.descriptor, ended.set)
        return
    # Without a descriptor there is no event to wait for.
    while not parent.gone:  # noqa: ASYNC110
        await asyncio.sleep(PARENT_SECONDS)
    ended.set()


def run(*, project: str, session: str, cdp_url: str | None) -> int:
    """The verb's work; its exit code."""
    settings = config.load(config.ENGINE)
    check_output(Path(settings.output_dir))
    if cdp_url is not None and not cdp_url.startswith(("http://", "https://", "ws://", "wss://")):
        raise ExitError(EXIT_CONFIG, f"--cdp-url must begin with http, https, ws or wss; it is {cdp_url!r}")
    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("mcp", "websockets", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    asyncio.run(serve(project, session, settings, cdp_url))
    return EXIT_OK


def check_output(folder: Path) -> None:
    """OUTPUT_DIR must be a folder that can be written, or one that can be made. Raises `ConfigError`."""
    at = folder.absolute()
    if at.exists() and not at.is_dir():
        raise ConfigError(f"OUTPUT_DIR {at} is not a folder")
    while not at.exists():
        at = at.parent
    try:
        Path(tempfile.mkdtemp(prefix=".telebrowser-", dir=at)).rmdir()
    except OSError as error:
        raise ConfigError(f"OUTPUT_DIR {folder.absolute()} cannot be written: {error.strerror}") from None

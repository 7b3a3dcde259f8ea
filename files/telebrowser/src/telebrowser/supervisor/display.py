"""The display that browsers show their windows on, behind a small interface; and its backend of an X server with openbox."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ..datadir import DataDir, write_atomic, write_json
from ..errors import EXIT_FAILED, ConfigError, ExitError
from ..processes import kill_group
from .announcement import key, socket_path
from .children import Child, Children, resolve
from .front import APP_PREFIX
from .labwc import LabwcDisplay
from .leftovers import end_recorded
from .letters import LAYOUT, LETTERS
from .profile import Profile
from .x11 import XError, authority, connect
from .x11_front import Keeper
from .x11_servers import XServer, check

log = logging.getLogger(__name__)

START_DEADLINE = 10.0
RAISE_DEADLINE = 3.0
STOP_DEADLINE = 3.0
SETTLE_DEADLINE = 3.0
MAX_SIDE = 16384

NO_BAR, BAR = "<decor>no</decor>", "<decor>yes</decor>"

# Windows fill the screen and a new one does not take the keyboard from the one a person types in. No key or
# mouse binding starts anything.
OPENBOX_CONFIG = """<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <resistance><strength>0</strength><screen_edge_strength>0</screen_edge_strength></resistance>
  <focus><focusNew>no</focusNew><followMouse>no</followMouse><focusLast>yes</focusLast><raiseOnFocus>yes</raiseOnFocus></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme><name>Clearlooks</name></theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <keyboard/>
  <mouse>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Middle" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Right" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Titlebar">
      <mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
  </mouse>
  <menu/>
  <applications>
    <application type="normal"><maximized>yes</maximized><focus>no</focus><decor>no</decor></application>
  </applications>
</openbox_config>
"""


class Display(Protocol):
    """Where windows are shown."""

    backend: str
    name: str
    size: str
    view_socket: Path | None
    """Where it shows itself to people, if it does so by itself."""

    async def start(self) -> None:
        """Bring it up. Raises `ExitError` with one line."""

    @property
    def lost(self) -> bool:
        """Whether it is gone, and every browser with it."""

    async def wait_lost(self) -> str:
        """Wait until it is gone, and say why."""

    async def stop(self) -> None:
        """Take it down; after the browsers have ended."""

    def options(self, project: str) -> Sequence[str]:
        """Options that the project's browser needs to show its windows there."""

    def environment(self, profile: Profile) -> Mapping[str, str]:
        """What a browser of ``profile`` needs to reach it. Raises OSError."""

    @property
    def own_environment(self) -> Mapping[str, str]:
        """What a program of the supervisor's own needs to reach it."""

    async def raise_window(self, title: str) -> str | None:
        """Bring the window with exactly this title to the front; None when done, else the reason."""

    async def front(self) -> int:
        """The window that has the keyboard; 0 for none."""

    async def settle(self, title: str, before: int) -> None:
        """A browser has just started: when its window took the keyboard from the window ``before``, give it back."""


def parse_size(text: str) -> str:
    """``WIDTHxHEIGHT`` in pixels, checked. Raises `ConfigError`."""
    width, separator, height = text.strip().lower().partition("x")
    if not (separator and width.isdigit() and height.isdigit() and 320 <= int(width) <= MAX_SIDE and 240 <= int(height) <= MAX_SIDE):
        raise ConfigError(f"TELEBROWSER_SCREEN must be WIDTHxHEIGHT, from 320x240 to {MAX_SIDE}x{MAX_SIDE}; it is {text!r}")
    return f"{int(width)}x{int(height)}"


class X11Display:
    """A virtual X server with openbox as its window manager. ``desktop`` is which of the supervisor's desktops it is."""

    def __init__(self, data: DataDir, children: Children, size: str, server: XServer, desktop: str, *, bar: bool = False) -> None:
        self.size = size
        self._bar = bar
        self.name = ""
        self.backend = server.backend
        self.view_socket = socket_path(data, desktop) if server.shows else None
        self._kind = server
        self._children = children
        self._cookie = secrets.token_bytes(16)
        self._server: Child | None = None
        self._manager: Child | None = None
        self._manager_task: asyncio.Task[None] | None = None
        self._keeper = Keeper("", self._cookie)
        self._keeping: asyncio.Task[None] | None = None
        self._home = data.run
        self._log_path = data.log_file(f"display{key(desktop)}")
        self._record = data.run / f"display{key(desktop)}.json"
        self._authority = data.run / f"xauthority{key(desktop)}"
        self._config = data.run / f"openbox{key(desktop)}.xml"
        self._socket = socket_path(data, desktop)

    async def start(self) -> None:
        program, manager = check(self._kind)
        await end_recorded(self._record, "X server")
        write_atomic(self._authority, authority(self._cookie))
        write_atomic(self._config, OPENBOX_CONFIG.replace(NO_BAR, BAR if self._bar else NO_BAR).encode())
        self.name = await self._start_server(program)
        assert self._server is not None
        write_json(self._record, {"pid": self._server.pid, "start": self._server.start})
        self._manager_task = asyncio.create_task(self._keep_manager(manager))
        try:
            async with asyncio.timeout(START_DEADLINE):
                await self._set_up()
        except (TimeoutError, XError):
            await self.stop()
            raise ExitError(EXIT_FAILED, f"openbox did not start within {START_DEADLINE:.0f} s; see {self._log_path}") from None
        self._keeper = Keeper(self.name, self._cookie)
        self._keeping = asyncio.create_task(self._keeper.run())

    def _log(self) -> int:
        return os.open(self._log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    async def _start_server(self, program: str) -> str:
        command = self._kind.command(program, self.size, self._authority, self._socket)
        reading, writing = os.pipe()
        errors = self._log()
        try:
            self._server = self._children.spawn(command, environ=_base_environment(), stdout=writing, stderr=errors)
        except OSError as error:
            os.close(reading)
            raise ExitError(EXIT_FAILED, f"{self._kind.program} cannot be started: {error.strerror}") from None
        finally:
            os.close(writing)
            os.close(errors)
        try:
            async with asyncio.timeout(START_DEADLINE):
                number = await _read_line(reading)
        except TimeoutError:
            number = ""
        finally:
            os.close(reading)
        if not number.isdigit():
            await self.stop()
            raise ExitError(EXIT_FAILED, f"{self._kind.program} did not start; see {self._log_path}")
        return f":{number}"

    async def _keep_manager(self, program: str) -> None:
        """Run openbox, again whenever it ends while the server lives."""
        environ = {**_base_environment(), **self.own_environment, "HOME": str(self._home)}
        while self._server is not None and not self._server.ended.done():
            self._manager = self._children.spawn([program, "--config-file", str(self._config)], environ=environ, stderr=asyncio.subprocess.DEVNULL)
            await asyncio.wait({self._manager.ended})
            # Not at full speed when it cannot run at all.
            await asyncio.wait({self._server.ended}, timeout=1.0)

    async def _set_up(self) -> None:
        async with connect(self.name, self._cookie) as client:
            if self._kind.shows:
                await self._set_layout()
                await client.bind(LETTERS)
            await client.watch()
            while not await client.numbers(client.root, "_NET_SUPPORTING_WM_CHECK"):
                await client.wait_for_any_change()

    async def _set_layout(self) -> None:
        try:
            setter = self._children.spawn(
                ["setxkbmap", "-layout", LAYOUT], environ={**_base_environment(), **self.own_environment}, stderr=asyncio.subprocess.DEVNULL
            )
        except OSError as error:
            log.warning("the keyboard of the display stays American: setxkbmap: %s", error.strerror)
            return
        if await setter.ended:
            log.warning("the keyboard of the display stays American: setxkbmap ended with code %d", setter.ended.result())

    @property
    def lost(self) -> bool:
        return self._server is None or self._server.ended.done()

    async def wait_lost(self) -> str:
        assert self._server is not None
        code = await asyncio.shield(self._server.ended)
        return f"{self._kind.program} ended with code {code}"

    async def stop(self) -> None:
        for task in (self._keeping, self._manager_task):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        self._keeping = self._manager_task = None
        for child in (self._manager, self._server):
            if child is not None and child.signal(signal.SIGTERM):
                done, _ = await asyncio.wait({child.ended}, timeout=STOP_DEADLINE)
                if not done and kill_group(child.pid):
                    await child.ended
        self._manager = self._server = None
        for path in (self._record, self._authority, self._config, self._socket) if self._kind.shows else (self._record, self._authority, self._config):
            with contextlib.suppress(OSError):
                path.unlink()

    def options(self, project: str) -> Sequence[str]:
        # The class of its windows. No page can change it, and popups have it, too.
        return (f"--class={APP_PREFIX}{project}",)

    def environment(self, profile: Profile) -> Mapping[str, str]:
        path = profile.home / ".Xauthority"
        profile.write_file(path, authority(self._cookie))
        return {"DISPLAY": self.name, "XAUTHORITY": str(path)}

    @property
    def own_environment(self) -> Mapping[str, str]:
        return {"DISPLAY": self.name, "XAUTHORITY": str(self._authority)}

    async def raise_window(self, title: str) -> str | None:
        try:
            async with asyncio.timeout(RAISE_DEADLINE), connect(self.name, self._cookie) as client:
                window = await client.find(title)
                if window is None:
                    return f"no window has the title {title}"
                self._keeper.raised(window, f"{APP_PREFIX}{title[1:-1]}")
                await client.activate(window)
                return None
        except TimeoutError:
            return f"the window {title} did not come to the front within {RAISE_DEADLINE:.0f} s"
        except XError as error:
            return str(error)

    async def front(self) -> int:
        with contextlib.suppress(TimeoutError, XError):
            async with asyncio.timeout(RAISE_DEADLINE), connect(self.name, self._cookie) as client:
                return await client.active()
        return 0

    async def settle(self, title: str, before: int) -> None:
        # The keeper puts the window that was there before back; here it is only waited for.
        with contextlib.suppress(TimeoutError, XError):
            async with asyncio.timeout(SETTLE_DEADLINE):
                await self._keeper.until(lambda: self._keeper.front.appeared(title))
                async with connect(self.name, self._cookie) as client:
                    if before not in await client.windows() and (window := await client.find(title)) is not None:
                        await client.activate(window)


async def clear_remains(data: DataDir) -> None:
    """End the views and X servers that a supervisor left behind when it was killed. Only after its browsers have ended."""
    for pattern, what in (("view*.pid", "view"), ("display*.json", "X server")):
        for record in data.run.glob(pattern):
            await end_recorded(record, what)


def _base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}


async def _read_line(descriptor: int) -> str:
    """What comes up to the end of the line, or of the stream."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    text = b""
    while b"\n" not in text:
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(descriptor, resolve, ready)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)
        chunk = os.read(descriptor, 64)
        if not chunk:
            break
        text += chunk
    return text.decode(errors="replace").strip()


def make_display(data: DataDir, children: Children, backend: str, size: str, server: XServer, desktop: str, *, bar: bool = False) -> Display:
    """The display backend that the settings name, for one of the supervisor's desktops."""
    if backend == LabwcDisplay.backend:
        return LabwcDisplay(size)
    return X11Display(data, children, size, server, desktop, bar=bar)

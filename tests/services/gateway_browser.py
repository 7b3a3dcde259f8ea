"""A headful Chromium of a test's own, on a debugging pipe under an X server of its own, and CDP clients of a link."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from telebrowser.cdp.connection import CdpError, Connection
from telebrowser.cdp.transport import PipeTransport
from telebrowser.gateway.browser import BrowserLink
from telebrowser.gateway.tabs import Hooks
from telebrowser.supervisor.chromium import OPTIONS
from telebrowser.supervisor.pipe import Pipe
from tests.support.chromium import binary

FLAGS = ["--no-sandbox", "--disable-gpu", *OPTIONS]
"""Those of the product: without its own, Chromium drops a click that comes before a page's first paint (one in thirty, measured)."""


class PipeBrowser:
    """Xvfb and Chromium; our ends of the two sockets stay open, so that one link after another can use them."""

    def __init__(self, *flags: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tb-pipe-", dir="/tmp"))
        self.downloads, self.uploads = self.root / "downloads", self.root / "uploads"
        for folder in (self.downloads, self.uploads):
            folder.mkdir()
        reading, writing = os.pipe()
        self.display = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1200x800x24", "-nolisten", "tcp", "-noreset"],
            pass_fds=(writing,),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        number = b""
        while not number.endswith(b"\n"):
            number += os.read(reading, 20)
        os.close(reading)
        self.pipe = Pipe()
        self.process = subprocess.Popen(
            [binary(), *FLAGS, *flags, f"--user-data-dir={self.root / 'profile'}", "about:blank"],
            preexec_fn=self.pipe.place,
            close_fds=False,
            start_new_session=True,
            env={**os.environ, "DISPLAY": ":" + number.decode().strip(), "HOME": str(self.root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.pipe.started()
        self.started = False

    async def transport(self) -> PipeTransport:
        """A transport over duplicates of our ends; the second one and later take over."""
        takeover, self.started = self.started, True
        return await PipeTransport(self.pipe.write_end.dup(), self.pipe.read_end.dup(), takeover=takeover).open()

    async def link(self, session_grace: float = 30, hooks: Hooks | None = None, **adopted: Any) -> BrowserLink:
        """A started link."""
        link = BrowserLink(
            await self.transport(), project="p", downloads_dir=self.downloads, uploads_dir=self.uploads, session_grace=session_grace, hooks=hooks
        )
        await link.start(**adopted)
        return link

    def close(self) -> None:
        """Kill both and remove the profile."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)
        self.display.terminate()
        self.display.wait(20)
        self.pipe.write_end.close()
        self.pipe.read_end.close()
        shutil.rmtree(self.root, ignore_errors=True)


class Cdp:
    """A CDP client of a link, with its events kept."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.events: list[tuple[str, dict[str, Any]]] = []
        connection.root.dispatch = lambda name, params: self.events.append((name, params))  # type: ignore[method-assign]

    @classmethod
    async def open(cls, link: BrowserLink, session: str | None) -> Cdp:
        """Connect."""
        return cls(Connection(await link.connect(session)))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A call at the root."""
        return await self.connection.root.call(method, timeout=20, **params)

    async def on(self, session: str, method: str, **params: Any) -> dict[str, Any]:
        """A call on a session."""
        return await self.connection.session(session).call(method, timeout=20, **params)

    async def refused(self, method: str, session: str = "", **params: Any) -> str:
        """The message of the error that a call must have."""
        try:
            await self.connection.session(session).call(method, timeout=20, **params) if session else await self.call(method, **params)
        except CdpError as error:
            return f"{error.code} {error.message}"
        raise AssertionError(f"{method} {params} was answered")

    async def pages(self) -> list[dict[str, Any]]:
        """Own pages."""
        return [info for info in (await self.call("Target.getTargets"))["targetInfos"] if info["type"] == "page"]

    async def attach(self, target: str) -> str:
        """A session on a target."""
        return str((await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"])

    async def eval(self, session: str, expression: str, **more: Any) -> Any:
        """The value of an expression."""
        answer = await self.on(session, "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, **more)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def seen(self, name: str) -> list[dict[str, Any]]:
        """Events of one name at the root."""
        return [params for event, params in self.events if event == name]

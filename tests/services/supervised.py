"""A real supervisor under test, and a gateway played by the test: it holds the descriptors and speaks raw CDP over them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.support import proc

SECONDS = 40.0
SOURCE = Path(__file__).resolve().parents[2] / "files" / "telebrowser" / "src"

Event = dict[str, Any]


class Browser:
    """One browser as its gateway has it: two descriptors."""

    def __init__(self, event: Event, descriptors: list[int], first_id: int = 0) -> None:
        assert len(descriptors) == 2, descriptors
        self.event = event
        self.pid = int(event["pid"])
        self.write_end, self.read_end = (socket.socket(fileno=descriptor) for descriptor in descriptors)
        self.buffer = b""
        self.dropped = 0
        self.events: list[dict[str, Any]] = []
        self._id = first_id
        self.write_end.settimeout(SECONDS)
        self.send(b"\0")
        self._skip_first()

    def _skip_first(self) -> None:
        while b"\0" not in self.buffer:
            self._read()
        head, self.buffer = self.buffer.split(b"\0", 1)
        self.dropped = len(head)

    def _read(self) -> None:
        self.read_end.settimeout(SECONDS)
        chunk = self.read_end.recv(1 << 20)
        if not chunk:
            raise EOFError("the browser closed its pipe")
        self.buffer += chunk

    def send(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.write_end.sendall(data)

    def post(self, method: str, session: str | None = None, **params: Any) -> int:
        """Send one command; its id."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.send(json.dumps(message).encode() + b"\0")
        return self._id

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its result."""
        wanted = self.post(method, session, **params)
        while True:
            message = self.message()
            if message.get("id") == wanted:
                assert "result" in message, message
                return dict(message["result"])
            self.events.append(message)

    def message(self) -> dict[str, Any]:
        """The next message of the browser."""
        while b"\0" not in self.buffer:
            self._read()
        part, self.buffer = self.buffer.split(b"\0", 1)
        return dict(json.loads(part))

    def page(self) -> str:
        """A session on the first tab."""
        pages = [info for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page"]
        return str(self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"])

    def evaluate(self, session: str, expression: str) -> Any:
        """The value of an expression."""
        return self.call("Runtime.evaluate", session, expression=expression, returnByValue=True, awaitPromise=True)["result"].get("value")

    def visit(self, url: str) -> str:
        """Open an address in the first tab and give the text of the page, once it has loaded."""
        session = self.page()
        self.call("Page.enable", session)
        self.events.clear()
        self.call("Page.navigate", session, url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        text = str(self.evaluate(session, "document.body.innerText"))
        self.call("Target.detachFromTarget", sessionId=session)
        return text

    def close(self) -> None:
        """Close both ends, as a gateway does."""
        self.write_end.close()
        self.read_end.close()


class Gateway:
    """The other end of the supervisor's socket. It passes `close` on to the browser unless told otherwise."""

    def __init__(self, path: Path, *, obedient: bool = True) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        self.obedient = obedient
        self.browsers: dict[str, Browser] = {}
        self.seen: list[Event] = []
        self.send(cmd="hello", version="test")

    def send(self, **command: Any) -> None:
        """Send one command."""
        self.socket.send(json.dumps(command).encode())

    def receive(self, seconds: float = SECONDS) -> Event:
        """The next event; new browsers are kept in `browsers`."""
        self.socket.settimeout(seconds)
        data, descriptors, flags, _ = socket.recv_fds(self.socket, 1 << 16, 8)
        assert not flags & socket.MSG_TRUNC
        if not data:
            raise EOFError("the supervisor closed the connection")
        event: Event = json.loads(data)
        self.seen.append(event)
        if event["event"] == "up":
            self.forget(event["project"])
            self.browsers[event["project"]] = Browser(event, descriptors)
        else:
            assert descriptors == [], (event, descriptors)
        if event["event"] == "close" and self.obedient:
            self.browsers[event["project"]].post("Browser.close")
        if event["event"] == "down":
            self.forget(event["project"])
        return event

    def wait(self, kind: str, project: str | None = None, seconds: float = SECONDS) -> Event:
        """The next event of this kind (for this project)."""
        end = time.monotonic() + seconds
        while True:
            try:
                event = self.receive(max(0.01, end - time.monotonic()))
            except TimeoutError:
                raise AssertionError(f"no {kind} event for {project} in {seconds} s; seen {self.seen[-6:]}") from None
            if event["event"] == kind and project in (None, event.get("project")):
                return event

    def forget(self, project: str) -> None:
        """Close the descriptors of a browser."""
        if project in self.browsers:
            self.browsers.pop(project).close()

    def close(self) -> None:
        """End as a gateway does: the socket and every descriptor."""
        for project in list(self.browsers):
            self.forget(project)
        self.socket.close()


class Supervised:
    """A supervisor process on a data directory of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.run = self.data / "run"
        self.process: subprocess.Popen[bytes] | None = None
        self.gateways: list[Gateway] = []
        self.log = root / "supervisor.out"
        self.more: dict[str, str] = {}

    def env(self, **more: str) -> dict[str, str]:
        """The environment of the supervisor: little, what `more` holds for all its starts, and ``more`` for this one."""
        base = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {
            **base,
            "HOME": str(self.root),
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TELEBROWSER_VIEW": "screencast",
            **self.more,
            **more,
        }

    def command(self, *options: str) -> list[str]:
        """Its command line: isolated from site-packages, so that only the standard library is there."""
        return [sys.executable, "-S", "-m", "telebrowser.supervisor", "--data", str(self.data), *options]

    def start(self, *options: str, **env: str) -> Supervised:
        """Start it and wait for its socket."""
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                self.command(*options), env=self.env(**env), cwd=self.root, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        process = self.process
        proc.until(lambda: process.poll() is not None or ((self.run / "supervisor.pid").exists() and self.answers()), "the supervisor opens its socket")
        assert process.poll() is None, self.output()
        return self

    def answers(self) -> bool:
        """Whether something listens at the socket; the connection is closed again."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            try:
                probe.connect(str(self.run / "supervisor.sock"))
            except OSError:
                return False
            return True

    def refuse(self, *options: str, **env: str) -> tuple[int, str]:
        """Start one that must refuse; its exit code and all it printed."""
        done = subprocess.run(
            self.command(*options), env=self.env(**env), cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
        return done.returncode, done.stderr + done.stdout

    def output(self) -> str:
        """What it wrote so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def gateway(self, **options: bool) -> Gateway:
        """Connect a gateway; it has heard `hello`."""
        made = Gateway(self.run / "supervisor.sock", **options)
        self.gateways.append(made)
        assert made.receive()["event"] == "hello"
        return made

    @property
    def pid(self) -> int:
        """The supervisor's pid."""
        assert self.process is not None
        return self.process.pid

    def want(self, project: str) -> None:
        """Want a browser by a plain file."""
        (self.run / "want" / project).touch()

    def unwant(self, project: str) -> None:
        """Want it no more."""
        (self.run / "want" / project).unlink()

    def up(self, project: str) -> dict[str, Any]:
        """What the supervisor recorded of a running browser, once it does."""
        path = self.run / "up" / project
        proc.until(path.exists, f"run/up/{project} appears; log: {self.output()[-1500:]}", SECONDS)
        return dict(json.loads(path.read_text()))

    def down(self, project: str) -> None:
        """Wait until a browser is recorded no more."""
        path = self.run / "up" / project
        proc.until(lambda: not path.exists(), f"run/up/{project} disappears", SECONDS)

    def browser(self, gateway: Gateway, project: str) -> Browser:
        """Start a browser through the gateway."""
        self.want(project)
        gateway.send(cmd="look")
        gateway.wait("up", project)
        return gateway.browsers[project]

    def signal(self, number: signal.Signals) -> None:
        """Send the supervisor a signal."""
        os.kill(self.pid, number)

    def wait(self, seconds: float = SECONDS) -> int:
        """Its exit code, once it has ended."""
        assert self.process is not None
        code = self.process.wait(seconds)
        self.process = None
        return code

    def stop(self) -> None:
        """End it; nothing of it may be left."""
        try:
            for gateway in self.gateways:
                gateway.close()
            if self.process is not None:
                if self.process.poll() is None:
                    self.signal(signal.SIGTERM)
                self.wait()
            proc.gone(str(self.root))
        finally:
            proc.kill_all(proc.mentioning(str(self.root)))
            if self.process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(10)

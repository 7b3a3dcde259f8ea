"""A whole stack as real processes: supervisor and gateway on a data directory, a port and a home of their own."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from . import proc

LAUNCHER = str(Path(sys.executable).parent / "telebrowser")
SECRET = "5ec7e7" * 10 + "0a1b"


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def token(project: str, secret: str = SECRET) -> str:
    """The token of a project, derived here without the product's own code."""
    return f"{project}.{hmac.new(secret.encode(), project.encode(), hashlib.sha256).hexdigest()}"


class Reply:
    """An HTTP answer: status, headers, body, and the body as JSON where it is JSON."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {self.body[:300]!r}>"


def request(url: str, method: str = "GET", body: bytes | None = None, timeout: float = 60, **headers: str) -> Reply:
    """One HTTP request, whatever its status."""
    wanted = urllib.request.Request(url, data=body, method=method, headers={name.replace("_", "-"): value for name, value in headers.items()})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(wanted, timeout=timeout) as answer:
            return Reply(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
    except urllib.error.HTTPError as answer:
        with answer:
            return Reply(answer.code, {k.lower(): v for k, v in answer.headers.items()}, answer.read())


class Stack:
    """`start` and `stop` the two parts; every process of the stack has `root` in its command line, environment or directory."""

    def __init__(self, root: Path, session_grace: int = 2, idle_minutes: int = 30, prefix: tuple[str, ...] = (), **settings: str) -> None:
        self.root = root
        self.data, self.home, self.temp = root / "data", root / "home", root / "tmp"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.secret_file = self.home / ".config" / "telebrowser" / "secret"
        self.prefix = prefix
        self.settings = {
            "TELEBROWSER_SESSION_GRACE": str(session_grace),
            "TELEBROWSER_IDLE_MINUTES": str(idle_minutes),
            "TELEBROWSER_PORT": str(self.port),
            "TELEBROWSER_PEOPLE_PORT": "0",
            "TELEBROWSER_VIEW": "screencast",
            "LOG_LEVEL": "debug",
            **settings,
        }
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        for folder in (self.home, self.temp, self.secret_file.parent):
            folder.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(mode=0o700, exist_ok=True)
        self.secret_file.write_text(SECRET + "\n")
        self.secret_file.chmod(0o600)

    def env(self, **more: str) -> dict[str, str]:
        """The environment of the stack's processes and of launchers that talk to it."""
        base = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return {**base, "HOME": str(self.home), "TMPDIR": str(self.temp), "TELEBROWSER_URL": self.url, "PYTHONDONTWRITEBYTECODE": "1", **more}

    def spawn(self, part: str, *options: str) -> subprocess.Popen[bytes]:
        """Start one part, its output appended to ``<part>.out`` under the root."""
        with open(self.root / f"{part}.out", "ab") as out:
            child = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", f"telebrowser.{part}", "--data", str(self.data), *options],
                env=self.env(**self.settings),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self.children[part] = child
        return child

    def output(self, part: str) -> str:
        """What a part wrote to its output so far."""
        path = self.root / f"{part}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def start_supervisor(self) -> None:
        """Start the supervisor and wait for its socket."""
        child = self.spawn("supervisor")
        sock = self.data / "run" / "supervisor.sock"
        proc.until(lambda: sock.exists() or child.poll() is not None, "the supervisor opens its socket")
        assert child.poll() is None, f"the supervisor ended with {child.returncode}: {self.output('supervisor')[-2000:]}"

    def start_gateway(self) -> None:
        """Start the gateway and wait until it answers."""
        child = self.spawn("gateway")
        proc.until(lambda: child.poll() is not None or self.healthy(), "the gateway answers /healthz", 40)
        assert child.poll() is None, f"the gateway ended with {child.returncode}: {self.output('gateway')[-2000:]}"

    def healthy(self) -> bool:
        """Whether the gateway answers."""
        try:
            return request(self.url + "/healthz", timeout=5).status == 200
        except OSError:
            return False

    def start(self) -> Stack:
        """Start both parts."""
        self.start_supervisor()
        self.start_gateway()
        return self

    def signal(self, part: str, number: int) -> None:
        """Send a signal to one part's own process."""
        os.kill(self.children[part].pid, number)

    def wait(self, part: str, seconds: float = 40) -> int:
        """Wait until a part has ended; gives its exit status."""
        return self.children.pop(part).wait(seconds)

    def stop(self) -> None:
        """End the gateway, then the supervisor, and fail if anything of the stack is left."""
        try:
            for part in ("gateway", "supervisor"):
                if part in self.children:
                    if self.children[part].poll() is None:
                        self.signal(part, signal.SIGTERM)
                    self.wait(part)
            proc.gone(str(self.root), seconds=20)
        finally:
            proc.kill_all(proc.mentioning(str(self.root)))
            for child in self.children.values():
                child.wait(20)

    # the gateway

    def path(self, path: str, project: str, scheme: str = "http", secret: str = SECRET) -> str:
        """The address of a path below a project's token."""
        return f"{scheme}://127.0.0.1:{self.port}/t/{token(project, secret)}/{path}"

    def http(self, method: str, path: str, project: str, body: bytes | None = None, **headers: str) -> Reply:
        """One request below a project's token."""
        return request(self.path(path, project), method, body, 60, **headers)

    def ws(self, project: str, session: str | None = None) -> str:
        """The CDP endpoint of a project: unscoped, or that of one session."""
        return self.path(("" if session is None else f"s/{session}/") + "devtools/browser", project, "ws")

    def status(self, project: str) -> dict[str, Any]:
        """The status document of a project."""
        reply = self.http("GET", "status", project)
        assert reply.status == 200, reply
        return dict(reply.json)

    def browser_pid(self, project: str) -> int:
        """The pid of a project's browser, by what the supervisor wrote."""
        up = self.data / "run" / "up" / project
        proc.until(up.exists, f"run/up/{project} appears", 40)
        return int(json.loads(up.read_text())["pid"])

    def launcher(self, *arguments: str, cwd: Path | None = None, timeout: float = 60, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run one verb of the launcher to its end."""
        return subprocess.run(
            [LAUNCHER, *arguments],
            env=self.env(**(env or {})),
            cwd=cwd or self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def local(self, verb: str) -> subprocess.CompletedProcess[str]:
        """Run ``up`` or ``down`` on this stack's data directory."""
        return self.launcher(verb, env={"TELEBROWSER_DATA": str(self.data), **self.settings})

"""One deployment: the host's folders, and both containers, as the roles lay them out and start them."""

from __future__ import annotations

import base64
import itertools
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.stack import LAUNCHER, SECRET, Reply, free_port, request, token

from .engine import BROWSER_IMAGE, ROOT, docker, gateway_image, images, inspect, logs

PUID = 1234
UP_SECONDS = 120
NUMBERS = itertools.count()
TREE = ROOT / "files/browser/root"
ENVIRONMENT = {
    "TITLE": "telebrowser",
    "TELEBROWSER_DATA": "/data",
    "TELEBROWSER_DISPLAY": "labwc",
    "TELEBROWSER_SECRETS_DIR": "/telebrowser-view",
    "TELEBROWSER_WALLS": "required",
    "HARDEN_DESKTOP": "true",
    "SELKIES_ENCODER": "jpeg,h264enc",
    "SELKIES_COMMAND_ENABLED": "false",
    "SELKIES_AUDIO_ENABLED": "false",
    "SELKIES_MICROPHONE_ENABLED": "false",
    "SELKIES_GAMEPAD_ENABLED": "false",
    "SELKIES_WEBCAM_ENABLED": "false",
    "SELKIES_FILE_TRANSFERS": "",
    "NO_GAMEPAD": "true",
    "START_DOCKER": "false",
    "S6_SERVICES_GRACETIME": "20000",
    "TZ": "Etc/UTC",
}
STOP_SECONDS = 30


class Deployment:
    """`start` it, use it, `remove` it. ``environment`` overrides variables of the browser's container."""

    def __init__(self, **environment: str) -> None:
        images()
        self.name = f"tb-test-{os.getpid()}-{next(NUMBERS)}"
        self.gateway = f"{self.name}-gateway"
        self.root = Path(tempfile.mkdtemp(prefix="tb-deploy-", dir="/tmp"))
        # Everyone may pass through, as through /srv and /etc.
        self.root.chmod(0o755)
        self.data, self.config = self.root / "data", self.root / "config"
        self.port, self.view_port, self.people_port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.password = secrets.token_urlsafe(24)
        self.environment = {"PUID": str(PUID), "PGID": str(PUID), **ENVIRONMENT, **environment}
        self.gateway_environment: dict[str, str] = {"TELEBROWSER_SESSION_GRACE": "2", "TELEBROWSER_PEOPLE_URL": f"http://127.0.0.1:{self.people_port}"}
        self._lay_out()

    def _lay_out(self) -> None:
        for name in (".", "desktop", "projects", "run", "audit"):
            self._own_folder(self.data / name)
        browser = self.config / "browser"
        shutil.copytree(TREE, browser)
        shutil.copytree(ROOT / "files/telebrowser/src/telebrowser", browser / "opt/telebrowser/telebrowser", ignore=shutil.ignore_patterns("__pycache__"))
        for folder, content in (("secrets", {"secret": SECRET}), ("view", {"password": self.password})):
            self._own_folder(self.config / folder)
            for name, text in content.items():
                path = self.config / folder / name
                path.write_text(text + "\n")
                path.chmod(0o600)
                os.chown(path, PUID, PUID)
        home = self.root / "agent" / ".config" / "telebrowser"
        home.mkdir(parents=True)
        (home / "secret").write_text(SECRET + "\n")
        (home / "secret").chmod(0o600)

    def _own_folder(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chown(path, PUID, PUID)

    # the containers

    def browser_mounts(self) -> list[str]:
        """Every mount that files/browser/README.md lists."""
        text = (ROOT / "files/browser/README.md").read_text().partition("## Mounts")[2].partition("## Environment")[0]
        rows = [tuple(cell.strip().strip("`") for cell in line.split("|")[1:4]) for line in text.splitlines() if line.startswith("| `")]
        mounts = []
        for source, target, mode in rows:
            path = (
                source.replace("{{ telebrowser_config_dir }}", str(self.config)).replace("BROWSER/", f"{self.config}/browser/").replace("DATA", str(self.data))
            )
            place = target if target.startswith("/") and "`" not in target else "/" + source.removeprefix("BROWSER/")
            mounts.append(f"{path}:{place}:{mode}")
        assert len(mounts) >= 10, mounts
        return mounts

    def start_browser(self, restart: str = "unless-stopped") -> None:
        """Start the browser's container."""
        arguments = ["run", "--detach", "--name", self.name, "--hostname", "telebrowser", "--restart", restart, "--shm-size", "1g"]
        arguments += [
            "--stop-timeout",
            str(STOP_SECONDS),
            "--security-opt",
            "no-new-privileges",
            "--security-opt",
            f"seccomp={ROOT}/files/browser/seccomp.json",
        ]
        arguments += ["--publish", f"127.0.0.1:{self.port}:5858", "--publish", f"127.0.0.1:{self.view_port}:3000"]
        arguments += ["--publish", f"127.0.0.1:{self.people_port}:5859"]
        for mount in self.browser_mounts():
            arguments += ["--volume", mount]
        for name, value in self.environment.items():
            arguments += ["--env", f"{name}={value}"]
        docker(*arguments, BROWSER_IMAGE)

    def start_gateway(self, restart: str = "unless-stopped") -> None:
        """Start the gateway's container in the network of the browser's."""
        arguments = ["run", "--detach", "--name", self.gateway, "--network", f"container:{self.name}", "--restart", restart, "--read-only", "--tmpfs", "/tmp"]
        arguments += ["--user", f"{PUID}:{PUID}", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        arguments += ["--volume", f"{self.data}:/data", "--volume", f"{self.config}/secrets:/secrets:ro"]
        for name, value in self.gateway_environment.items():
            arguments += ["--env", f"{name}={value}"]
        docker(*arguments, gateway_image())

    def start(self) -> Deployment:
        """Start both, and wait until the gateway has found the supervisor."""
        self.start_browser()
        self.start_gateway()
        self.wait_ready()
        return self

    def wait_ready(self, seconds: float = UP_SECONDS) -> float:
        """Wait until everything answers; the seconds that it took."""
        began = time.monotonic()
        try:
            proc.until(lambda: self.ready() and self.view("/api/status").status == 200, "the deployment answers", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from None
        return time.monotonic() - began

    def ready(self) -> bool:
        """Whether the gateway answers and has found the supervisor."""
        try:
            return bool(request(self.url + "/healthz", timeout=5).json["supervisor"])
        except (OSError, ValueError):
            return False

    def tail(self) -> str:
        """The last lines of both containers' logs and of the supervisor's, for a failure."""
        return "\n".join([*(logs(name, "--tail", "15") for name in (self.name, self.gateway)), self.supervisor_log()[-1500:]])

    def supervisor_log(self) -> str:
        """What the supervisor wrote."""
        path = self.data / "run" / "supervisor.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def remove(self) -> None:
        """Remove containers and folders."""
        docker("rm", "--force", "--volumes", self.gateway, self.name, check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, *command: str, user: str = "root", check: bool = True) -> str:
        """Run a command in the browser's container."""
        return docker("exec", "--user", user, self.name, *command, check=check)

    def main_pid(self, name: str | None = None) -> int:
        """Process 1 of a container, as the host numbers it; 0 when it does not run."""
        return int(inspect(name or self.name)["State"]["Pid"])

    # the view

    def view(self, path: str, credential: bool = True) -> Reply:
        """One request to the view through its published port; status 0 when nothing answers."""
        headers = {"Authorization": "Basic " + base64.b64encode(f"telebrowser:{self.password}".encode()).decode()} if credential else {}
        try:
            return request(f"http://127.0.0.1:{self.view_port}{path}", timeout=10, **headers)
        except OSError:
            return Reply(0, {}, b"")

    def screenshot(self) -> bytes:
        """The desktop as a person sees it, as PNG."""
        reply = self.view("/api/screenshot")
        assert reply.status == 200, reply
        return reply.body

    # agents

    def agent_environment(self, **more: str) -> dict[str, str]:
        """The environment of an agent host's processes."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.root / "agent"), "TELEBROWSER_URL": self.url, "PYTHONDONTWRITEBYTECODE": "1", **more}

    async def agent(self, project: str) -> McpClient:
        """An agent of a project: ``telebrowser mcp`` on this machine."""
        return await McpClient.start("mcp", "--project", project, env=self.agent_environment(), cwd=self.root / "agent")

    def verb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One verb of the launcher on the agent host."""
        return subprocess.run(
            [LAUNCHER, *arguments], env=self.agent_environment(), cwd=self.root / "agent", capture_output=True, text=True, timeout=90, check=False
        )

    def http(self, method: str, path: str, project: str) -> Reply:
        """One request below a project's token."""
        return request(f"{self.url}/t/{token(project)}/{path}", method)

    def status(self, project: str) -> dict[str, Any]:
        """The status document of a project."""
        return dict(self.http("GET", "status", project).json)

    def browser_pid(self, project: str) -> int:
        """The main process of a project's browser, as the host numbers it."""
        return self.browsers()[project]

    def browsers(self) -> dict[str, int]:
        """The main process of each project's browser, as the host numbers it."""
        return proc.browsers(self.container_id)

    @property
    def container_id(self) -> str:
        """The id of the browser's container."""
        return str(inspect(self.name)["Id"])

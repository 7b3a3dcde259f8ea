"""A deployed stack as its molecule scenario describes it: names, ports, directories, and the containers' ids after the first run."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.stack import LAUNCHER, Reply, request

ANSWER_SECONDS = 20.0
"""Within so many seconds the gateway answers again after whatever happened to the containers."""
READY_SECONDS = 90.0
"""Within so many seconds browsers can be started again: that is the desktop's own start, on a machine that may be busy."""

REPOSITORY = Path(__file__).parents[2]


def say(line: str) -> None:
    """One line for the log of the scenario."""
    print(line, flush=True)


class Site:
    """Reads the scenario's description; `close` removes the agent host that tests act as."""

    def __init__(self, description: Path) -> None:
        self._description = description
        facts: dict[str, Any] = json.loads(description.read_text())
        self.facts = facts
        self.browser, self.gateway = str(facts["browser_name"]), str(facts["gateway_name"])
        self.data, self.config, self.secrets = Path(facts["data_dir"]), Path(facts["config_dir"]), Path(facts["secrets_dir"])
        self.url = f"http://127.0.0.1:{facts['port']}"
        self.view = f"http://127.0.0.1:{facts['view_port']}"
        self.home = Path(tempfile.mkdtemp(prefix="tb-agent-", dir="/tmp"))
        self._give_secret()

    def _give_secret(self) -> None:
        folder = self.home / ".config" / "telebrowser"
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        (folder / "url").write_text(self.url + "\n")
        secret = folder / "secret"
        secret.write_bytes((self.secrets / "secret").read_bytes())
        secret.chmod(0o600)

    def renew_secret(self) -> None:
        """Take the secret that is in force now, as an agent host does after a rotation."""
        self._give_secret()

    def close(self) -> None:
        """Remove the agent host."""
        shutil.rmtree(self.home)

    # the engine

    def docker(self, *arguments: str, check: bool = True) -> str:
        """One command of the engine's client; its output."""
        done = subprocess.run(["docker", "-H", self.facts["docker_host"], *arguments], capture_output=True, text=True, timeout=120)
        assert not check or done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr.strip()}"
        return done.stdout + ("" if check else done.stderr)

    def inspect(self, name: str) -> dict[str, Any]:
        """The whole description of a container."""
        return dict(json.loads(self.docker("inspect", name))[0])

    def ids(self) -> dict[str, str]:
        """The containers' ids."""
        return {name: str(self.inspect(name)["Id"]) for name in (self.browser, self.gateway)}

    def remember(self) -> None:
        """Take the containers of now for those that later runs must leave alone."""
        self.facts["ids"] = self.ids()
        self._description.write_text(json.dumps(self.facts))

    def started(self) -> dict[str, str]:
        """When the containers were started."""
        return {name: str(self.inspect(name)["State"]["StartedAt"]) for name in (self.browser, self.gateway)}

    def neighbour(self) -> str:
        """The address under which pages in the containers reach this machine."""
        network = json.loads(self.docker("network", "inspect", self.browser))[0]
        return str(network["IPAM"]["Config"][0]["Gateway"])

    # the gateway and the view

    def wait_answer(self, what: str, since: float | None = None) -> None:
        """Wait until the gateway answers, which must be soon, and until it has its supervisor, which takes what the desktop takes to start."""
        begin = time.monotonic() if since is None else since
        answered: float | None = None
        while True:
            told = self.health()
            took = time.monotonic() - begin
            if told.startswith("{"):
                answered = answered or took
                if json.loads(told).get("supervisor"):
                    break
            problem = f"{what}: {self._states()}; the gateway says: {told[:300]}"
            assert answered is not None or took < ANSWER_SECONDS, f"no answer in {ANSWER_SECONDS:.0f} s after {problem}"
            assert took < READY_SECONDS, f"no supervisor in {READY_SECONDS:.0f} s after {problem}"
            time.sleep(0.25)
        say(f"{what}: the port answered after {answered or 0:.1f} s, browsers could be started after {took:.1f} s")

    def _states(self) -> dict[str, str]:
        return {name: self.docker("inspect", "-f", "{{.State.Status}} {{.State.Error}}", name, check=False).strip() for name in (self.browser, self.gateway)}

    def health(self) -> str:
        """What the gateway says about itself, or why it says nothing."""
        try:
            return request(self.url + "/healthz", timeout=5).body.decode()
        except OSError as error:
            return str(error)

    def password(self) -> str:
        """The view's password."""
        return (self.config / "view" / "password").read_text().strip()

    def authorization(self) -> str:
        """The view's credential as a header."""
        return "Basic " + base64.b64encode(f"telebrowser:{self.password()}".encode()).decode()

    def screenshot(self) -> bytes:
        """A picture of the whole desktop."""
        answer: Reply = request(self.view + "/api/screenshot", Authorization=self.authorization())
        assert answer.status == 200, answer
        return answer.body

    # the agent host

    def env(self) -> dict[str, str]:
        """The environment of launchers; the secret is in a file."""
        base = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return {**base, "HOME": str(self.home), "TMPDIR": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}

    def launcher(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One verb of the launcher."""
        return subprocess.run([LAUNCHER, *arguments], env=self.env(), cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)

    def status(self, project: str) -> dict[str, Any]:
        """The status document of a project."""
        return dict(json.loads(self.launcher("status", "--project", project, "--json").stdout))

    def browser_pid(self, project: str) -> int:
        """The main process of a project's browser, as this host numbers it."""
        return proc.browsers(self.ids()[self.browser])[project]

    async def agent(self, project: str) -> McpClient:
        """An agent of a project: `telebrowser mcp` and a client of it."""
        return await McpClient.start("mcp", "--project", project, env=self.env(), cwd=self.home)

    # Ansible

    def play(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """``ansible-playbook`` with the scenario's own inventory and environment."""
        env = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
        command = [os.environ.get("TELEBROWSER_ANSIBLE_PLAYBOOK", "ansible-playbook"), "-i", str(self.facts["inventory"]), *arguments]
        done = subprocess.run(command, env=env, cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        assert not check or done.returncode == 0, f"{' '.join(arguments)}:\n{done.stdout[-3000:]}\n{done.stderr[-1500:]}"
        return done


def processes_that_know(needles: list[bytes]) -> list[str]:
    """Processes whose arguments or environment hold one of the needles."""
    found = []
    for row in proc.table():
        for name in ("environ", "cmdline"):
            try:
                text = Path(f"/proc/{row.pid}/{name}").read_bytes()
            except OSError:
                continue
            if any(needle in text for needle in needles):
                found.append(f"/proc/{row.pid}/{name} ({proc.read_text(f'/proc/{row.pid}/comm').strip()})")
    return found

"""The role agent, played for a user of the test's own against a real stack."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import scratch_dir
from tests.support.plays import Played, good, messages, play_role, refused
from tests.support.stack import SECRET, Stack, token

USER = "tb-agent-test"
# The first play fetches the launcher's packages; on a busy machine each takes its time.
pytestmark = pytest.mark.timeout(900)
CLAUDE = {"numStartups": 3, "mcpServers": {"other": {"command": "other"}}, "projects": {"/x": {"history": ["é"]}}}
CODEX = '# mine\nmodel = "o9"\n\n[mcp_servers.other] # theirs\ncommand = "other"\n'


class Host:
    """An agent host: a user with a home, and folders for the launcher."""

    def __init__(self, place: Path, stack: Stack) -> None:
        self.place, self.stack = place, stack
        self.home = place / "home"
        self.config = self.home / ".config" / "telebrowser"
        self.bin = place / "bin"
        self.bin.mkdir()
        (place / "controller-secret").write_text(SECRET + "\n")

    def play(self, *options: str, **settings: Any) -> Played:
        """The role."""
        given = {**self.settings, **{name: value for name, value in settings.items() if not name.startswith("telebrowser_")}}
        own = {name: value for name, value in settings.items() if name.startswith("telebrowser_")}
        return play_role("agent", self.place, *options, **{f"telebrowser_agent_{name}": value for name, value in given.items()}, **own)

    @property
    def settings(self) -> dict[str, Any]:
        """The variables of the role, without its prefix."""
        return {
            "users": [USER],
            "url": self.stack.url,
            "secret_file": str(self.place / "controller-secret"),
            "dir": str(self.place / "opt"),
            "bin_dir": str(self.bin),
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The launcher as the user."""
        command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", str(self.bin / "telebrowser"), *words]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, timeout=60)

    def mode(self, name: str) -> tuple[str, int]:
        """Owner and mode of a file in the launcher's folder."""
        status = (self.config / name).stat()
        return pwd.getpwuid(status.st_uid).pw_name, status.st_mode & 0o777


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that the user may enter. The launcher is installed there once for all tests."""
    made = scratch_dir("agent")
    made.chmod(0o755)
    subprocess.run(["useradd", "--no-log-init", "--home-dir", str(made / "home"), "--no-create-home", "--user-group", USER], check=True)
    yield made
    subprocess.run(["userdel", USER], check=True)
    shutil.rmtree(made)


@pytest.fixture
def host(place: Path, stack: Stack) -> Iterator[Host]:
    """The host with a fresh home."""
    (place / "home").mkdir()
    shutil.chown(place / "home", USER, USER)
    shutil.rmtree(place / "bin", ignore_errors=True)
    yield Host(place, stack)
    shutil.rmtree(place / "home")


def own(host: Host, name: str, text: str) -> Path:
    """A file that the user had before."""
    path = host.home / name
    for folder in reversed([parent for parent in path.parents if parent.is_relative_to(host.home) and parent != host.home]):
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, USER, USER)
    path.write_text(text)
    shutil.chown(path, USER, USER)
    return path


def test_a_host_gets_the_launcher_and_keeps_it_without_a_change(host: Host) -> None:
    claude = own(host, ".claude.json", json.dumps(CLAUDE, indent=4, ensure_ascii=False))
    codex = own(host, ".codex/config.toml", CODEX)
    assert good(host.play("--check", "--diff")).changed > 0
    assert not host.config.exists() and claude.read_text() == json.dumps(CLAUDE, indent=4, ensure_ascii=False) and codex.read_text() == CODEX

    played = good(host.play("-vvv", "--diff"))
    assert SECRET not in played.output
    assert host.mode("secret") == (USER, 0o600) and host.mode("url") == (USER, 0o644) and not (host.config / "tokens").exists()
    assert json.loads(host.run("status", "--json", "--project", "agent-test").stdout)["project"] == "agent-test"

    launcher = f"{host.place}/opt/current/bin/telebrowser"
    data = json.loads(claude.read_text())
    assert data["mcpServers"].pop("telebrowser") == {"command": launcher, "args": ["mcp"]}
    assert data == CLAUDE
    text = codex.read_text()
    assert text.startswith(CODEX)
    assert tomllib.loads(text)["mcp_servers"]["telebrowser"] == {"command": launcher, "args": ["mcp"], "tool_timeout_sec": 180}
    opencode = json.loads((host.home / ".config/opencode/opencode.json").read_text())
    assert opencode["mcp"]["telebrowser"] == {"type": "local", "command": [launcher, "mcp"], "enabled": True}
    for path in host.home.rglob("*"):
        assert path.owner() == USER, path
    # The file from before lies beside.
    assert [path.read_text() for path in host.home.glob(".claude.json.*~")] == [json.dumps(CLAUDE, indent=4, ensure_ascii=False)]

    for options in ((), ("--check",)):
        assert good(host.play(*options)).changed == 0


def test_each_client_gets_what_the_launcher_prints_for_it(host: Host) -> None:
    files = {"claude": ".claude.json", "codex": "x/config.toml", "cursor": "c.json", "opencode": "o.json", "vscode": "a/b/mcp.json"}
    good(host.play(clients=list(files), client_files=files))
    printed = json.loads(host.run("config", "--json").stdout)
    for client, name in files.items():
        text = (host.home / name).read_text().replace(f"{host.place}/opt/current/bin/telebrowser", printed["command"])
        read = tomllib.loads if client == "codex" else json.loads
        assert read(text) == read(printed["clients"][client]), client
    skill = json.loads(host.run("config", "--skill", "--json").stdout)["text"]
    for folder in (".claude/skills", ".agents/skills"):
        given = host.home / folder / "telebrowser" / "SKILL.md"
        assert given.read_text() == skill and given.owner() == USER, folder


def test_a_host_with_tokens_has_no_secret_and_reaches_its_own_projects_only(host: Host) -> None:
    good(host.play(clients=[]))
    played = good(host.play("-vvv", "--diff", clients=[], projects=["shop", "blog"]))
    made = [token("shop"), token("blog")]
    assert not any(one in played.output for one in [*made, SECRET])
    assert (host.config / "tokens").read_text().split() == made
    assert host.mode("tokens") == (USER, 0o600) and not (host.config / "secret").exists()
    assert host.run("status", "--project", "shop").returncode == 0
    other = host.run("status", "--project", "bank")
    assert other.returncode == 3 and "no token for the project bank" in other.stderr
    assert good(host.play(clients=[], projects=["shop", "blog"])).changed == 0

    played = good(host.play("-vvv", "--diff", clients=[], secret_file="", tokens=[made[1]]))
    assert made[1] not in played.output
    assert (host.config / "tokens").read_text().split() == [made[1]]
    assert host.run("status", "--project", "blog").returncode == 0


def test_the_secret_comes_from_the_browser_host_of_the_inventory(host: Host) -> None:
    secrets = host.place / "secrets"
    secrets.mkdir(mode=0o700, exist_ok=True)
    (secrets / "secret").write_text(SECRET + "\n")
    (secrets / "secret").chmod(0o600)
    common = {"clients": [], "secret_file": "", "browser_host": "here", "telebrowser_secrets_dir": str(secrets)}
    played = good(host.play("-vvv", "--diff", **common))
    assert SECRET not in played.output
    assert (host.config / "secret").read_text().strip() == SECRET
    played = good(host.play("-vvv", "--diff", projects=["shop"], **common))
    assert token("shop") not in played.output
    assert (host.config / "tokens").read_text().split() == [token("shop")]
    shutil.rmtree(secrets)
    assert good(host.play("--check", projects=["shop"], verify=False, **common))


def test_absent_takes_away_what_was_put_there_and_nothing_else(host: Host) -> None:
    claude = own(host, ".claude.json", json.dumps(CLAUDE, indent=2))
    codex = own(host, ".codex/config.toml", CODEX)
    good(host.play())
    good(host.play(telebrowser_state="absent", dir=str(host.place / "nothing-here")))
    assert json.loads(claude.read_text()) == CLAUDE
    assert codex.read_text() == CODEX
    assert not host.config.exists() and not os.path.lexists(host.bin / "telebrowser")
    assert good(host.play(telebrowser_state="absent", dir=str(host.place / "nothing-here"))).changed == 0


def test_a_file_that_cannot_be_changed_without_loss_stays(host: Host) -> None:
    path = own(host, ".config/opencode/opencode.json", '{\n  // mine\n  "theme": "dark"\n}\n')
    refused(host.play(clients=["opencode"]), "was left as it is: it is not plain JSON")
    assert path.read_text() == '{\n  // mine\n  "theme": "dark"\n}\n'


def test_links_in_a_home_give_nothing_that_the_user_could_not_write(host: Host) -> None:
    target = host.place / "roots.json"
    target.write_text("{}")
    (host.home / ".claude.json").symlink_to(target)
    refused(host.play(clients=["claude"]), "cannot write")
    assert target.read_text() == "{}"
    shutil.rmtree(host.home / ".config")
    (host.home / ".config").symlink_to(host.place / "opt")
    refused(host.play(clients=[]), "must be a folder of")
    assert not (host.place / "opt" / "telebrowser").exists()


def test_settings_that_cannot_work_are_refused_with_what_to_do(host: Host) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"users": []}, "telebrowser_agent_users is empty"),
        ({"users": ["nobody-here"]}, "there is no user nobody-here on here"),
        ({"secret_file": ""}, "set exactly one of"),
        ({"browser_host": "here"}, "set exactly one of"),
        ({"url": "gateway:5858"}, "must look like http://127.0.0.1:5858"),
        ({"client_files": {"claude": "x"}}, "must name the file of each client"),
        ({"python": "/bin/false"}, "older than 3.11, or has no venv module"),
        ({"clients": ["vim"]}, "value of telebrowser_agent_clients must be one"),
        ({"url": "http://127.0.0.1:9", "clients": []}, "the gateway at http://127.0.0.1:9 does not answer"),
    ]
    settings = [{f"telebrowser_agent_{name}": value for name, value in {**host.settings, **case}.items()} for case, _ in cases]
    for (case, words), said in zip(cases, messages("agent", host.place, settings), strict=True):
        assert words in said, (case, said)


def test_a_new_version_leaves_the_one_that_runs(host: Host, place: Path) -> None:
    good(host.play(clients=[]))
    old = os.readlink(place / "opt" / "current")
    # What an older version left.
    for name, time in (("0" * 12, 50), ("1" * 12, 100)):
        (place / "opt" / name).mkdir()
        os.utime(place / "opt" / name, (time, time))
    (place / "opt" / "current").unlink()
    (place / "opt" / "current").symlink_to("1" * 12)
    good(host.play(clients=[]))
    assert os.readlink(place / "opt" / "current") == old
    assert sorted(path.name for path in (place / "opt").iterdir() if path.is_dir() and not path.is_symlink()) == sorted([old, "1" * 12])

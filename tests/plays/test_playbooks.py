"""The playbooks beside site, against real stacks on this machine."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import scratch_dir
from tests.support.pages import Pages
from tests.support.plays import ANSIBLE, ROOT, Played, collections, good, play, refused
from tests.support.stack import SECRET, Stack, request, token

PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))
# What the gateways here are told; the playbook's own day is longer, which harms nothing.
GRACE = 25
pytestmark = pytest.mark.timeout(900)


class Hosts:
    """Stacks as browser hosts of an inventory."""

    def __init__(self, place: Path, **stacks: Stack) -> None:
        self.place, self.stacks = place, stacks
        hosts = {
            name: {
                "ansible_connection": "local",
                "telebrowser_data_dir": str(stack.data),
                "telebrowser_secrets_dir": str(stack.secret_file.parent),
                "telebrowser_port": stack.port,
            }
            for name, stack in stacks.items()
        }
        self.inventory = place / "inventory.yml"
        self.inventory.write_text(yaml.safe_dump({"telebrowser_browser_hosts": {"hosts": hosts}, "telebrowser_agent_hosts": {"hosts": {}}}))

    def play(self, name: str, *options: str, **settings: Any) -> Played:
        """One of the collection's playbooks."""
        return play(f"telebrowser.telebrowser.{name}", self.inventory, self.place, *options, settings=settings)

    def secret(self, name: str) -> str:
        """The secret of a host as it is now."""
        return self.stacks[name].secret_file.read_text().strip()

    def status(self, name: str, secret: str) -> int:
        """What a gateway answers to a token of a secret."""
        return request(f"{self.stacks[name].url}/t/{token('shop', secret)}/status").status


@pytest.fixture
def two(new_stack: Callable[..., Stack]) -> Iterator[Hosts]:
    """Two browser hosts."""
    place = scratch_dir("play")
    made = {name: new_stack(TELEBROWSER_SECRET_GRACE=str(GRACE)) for name in ("one", "two")}
    for stack in made.values():
        stack.start()
    yield Hosts(place, **made)
    shutil.rmtree(place)


def fingerprints(played: Played) -> dict[str, str]:
    """What the playbook says of each host."""
    return dict(re.findall(r"\b(one|two): ([0-9a-f]{12});", played.output))


async def test_a_rotation_cuts_nobody_off_and_the_old_token_dies_after_the_grace(two: Hosts, clients: Callable[..., Any], pages: Pages) -> None:
    stack = two.stacks["one"]
    agent = await clients("mcp", "--project", "shop", env=stack.env(), cwd=stack.home)
    await agent.ok("browser_navigate", url=pages.add("rotation.html", "<title>before the rotation</title>"))
    checked = good(two.play("rotate_tokens", "--check", "--diff"))
    assert checked.changed == 2 and two.secret("one") == SECRET

    started = time.monotonic()
    played = good(two.play("rotate_tokens", "-vvv", "--diff"))
    new = {name: two.secret(name) for name in two.stacks}
    assert SECRET not in new.values() and new["one"] != new["two"]
    for secret in (SECRET, *new.values()):
        assert secret not in played.output and token("scratch", secret) not in played.output
    for name in two.stacks:
        assert two.status(name, new[name]) == 200
    assert "the gateway takes it" in played.output
    if time.monotonic() - started < GRACE:
        assert two.status("one", SECRET) == 200
    # The very session that was open goes on, on its page.
    assert (await agent.ok("browser_evaluate", expression="document.title")).says("before the rotation")

    told = fingerprints(played)
    for options in ((), ("--limit", "two"), ("--check",)):
        again = good(two.play("rotate_tokens", *options))
        assert again.changed == 0
        assert fingerprints(again).items() <= told.items() and "two" in fingerprints(again)
    assert {name: two.secret(name) for name in two.stacks} == new

    deadline = time.monotonic() + GRACE + 10
    while two.status("one", SECRET) != 403:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.5)
    assert two.status("one", new["one"]) == 200
    assert (await agent.ok("browser_evaluate", expression="document.title")).says("before the rotation")


def test_a_leak_kills_the_old_token_at_once_and_hosts_can_share_a_secret(two: Hosts) -> None:
    played = good(two.play("rotate_tokens", "-vvv", "--diff", telebrowser_rotate_leaked=True, telebrowser_rotate_shared_with="one"))
    shared = two.secret("one")
    assert shared != SECRET and two.secret("two") == shared and shared not in played.output
    told = fingerprints(played)
    assert told["one"] == told["two"]
    for name in two.stacks:
        deadline = time.monotonic() + 5
        while two.status(name, SECRET) != 403:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert two.status(name, shared) == 200
    # A host that was away takes it later, without the one that made it in the run.
    two.stacks["two"].secret_file.write_text("another secret that is long enough\n")
    good(two.play("rotate_tokens", "--limit", "two", telebrowser_rotate_shared_with="one"))
    assert two.secret("two") == shared == two.secret("one")


def test_scratch_is_wiped_unless_an_agent_works_there(two: Hosts) -> None:
    stack = two.stacks["one"]
    base = f"{stack.url}/t/{token('scratch', SECRET)}"
    assert request(f"{base}/start", "POST").status == 200
    profile = stack.data / "projects" / "scratch" / "profile"
    assert profile.is_dir()
    assert request(f"{base}/hold?minutes=5", "POST").status == 200
    refused(two.play("wipe_scratch"), "hold")
    assert request(f"{base}/hold?minutes=0", "POST").status == 200
    assert good(two.play("wipe_scratch")).changed == 1
    assert not profile.exists()
    assert good(two.play("wipe_scratch")).changed == 0


def test_a_backup_that_takes_profiles_is_found(two: Hosts, tmp_path: Path) -> None:
    data = two.stacks["one"].data
    (tmp_path / "restic.txt").write_text(f"/home\n{data.parent}\n")
    named = {"telebrowser_backup_files": [{"path": str(tmp_path / "restic.txt")}]}
    one = ("--limit", "one")
    assert good(two.play("backup_check", "--limit", "two", **named))
    played = refused(two.play("backup_check", *one, **named), f"{tmp_path}/restic.txt takes {data.parent}, and with it {data}/projects; leave that folder out")
    assert f"read: {tmp_path}/restic.txt" in played.output
    (tmp_path / "restic.txt").write_text(f"/home\n{data.parent}\n!{data}\n")
    assert good(two.play("backup_check", *one, **named)).changed == 0
    refused(two.play("backup_check", *one, telebrowser_backup_files=[]), "no configuration of a backup was found")
    good(two.play("backup_check", *one, telebrowser_backup_files=[], telebrowser_backup_expected=False))
    refused(two.play("backup_check", *one, telebrowser_backup_files=[*named["telebrowser_backup_files"], {"path": "/no.txt"}]), "correct the path")


@pytest.mark.parametrize("example", ["homelab", "hosts"])
def test_an_example_inventory_is_whole(example: str, tmp_path: Path) -> None:
    folder = ROOT / "examples" / "inventory" / example
    environment = {"PATH": f"{ANSIBLE}:/usr/bin:/bin", "HOME": str(tmp_path), "ANSIBLE_COLLECTIONS_PATH": collections(), "LANG": "C.UTF-8"}
    environment["ANSIBLE_CONFIG"] = str(ROOT / "tests" / "ansible" / "ansible.cfg")
    listed = subprocess.run([ANSIBLE / "ansible-inventory", "-i", folder, "--list"], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(listed.stdout)
    assert {"telebrowser_browser_hosts", "telebrowser_proxy_hosts", "telebrowser_agent_hosts"} <= found.keys()
    known = {name for role in (ROOT / "roles").glob("*/defaults/main.yml") for name in yaml.safe_load(role.read_text())}
    known |= set(re.findall(r"telebrowser_(?:rotate|wipe|upgrade|backup)_\w+", "".join(path.read_text() for path in (ROOT / "playbooks").glob("*.yml"))))
    used = {name for values in found["_meta"]["hostvars"].values() for name in values if name.startswith("telebrowser_")}
    assert used and used <= known, used - known
    for name in PLAYBOOKS:
        command = [ANSIBLE / "ansible-playbook", "-i", folder, "--syntax-check", f"telebrowser.telebrowser.{name}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "WARNING" not in done.stderr, done.stderr


def test_the_readmes_of_the_roles_say_what_their_specs_say() -> None:
    done = subprocess.run([ROOT / ".venv" / "bin" / "python", ROOT / "scripts" / "role_docs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_deployment_page_names_every_playbook_and_role_and_no_variable_that_is_not_there() -> None:
    page = (ROOT / "docs" / "DEPLOY.md").read_text()
    for name in PLAYBOOKS:
        assert f"telebrowser.telebrowser.{name}" in page
    for role in (ROOT / "roles").iterdir():
        assert f"(../roles/{role.name}/README.md)" in page
    text = "".join(path.read_text() for path in [*(ROOT / "roles").glob("*/defaults/main.yml"), *(ROOT / "playbooks").glob("*.yml")])
    words = set(re.findall(r"`(telebrowser_[a-z_]+)[`:]", page)) - {f"telebrowser_{group}_hosts" for group in ("browser", "proxy", "agent")}
    missing = {word for word in words if not re.search(rf"\b{word}\b", text) and not word.endswith("_")}
    assert not missing, missing

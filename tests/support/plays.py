"""Plays playbooks and roles of the collection on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
ANSIBLE = Path(os.environ.get("TELEBROWSER_ANSIBLE_BIN", ROOT / ".venv-ansible" / "bin"))
RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.M)
MESSAGE = re.compile(r'"msg": "((?:[^"\\]|\\.)*)"|\[ERROR\]: (?:Task failed: )?(.*)')


class Played(NamedTuple):
    """What a run gave."""

    status: int
    output: str

    @property
    def changed(self) -> int:
        """How many tasks changed something, on all hosts."""
        return sum(int(row[2]) for row in RECAP.findall(self.output))


@lru_cache(maxsize=1)
def collections() -> str:
    """The folder for ANSIBLE_COLLECTIONS_PATH, with the collection as it is now."""
    if not (ANSIBLE / "ansible-playbook").exists():
        raise AssertionError(f"{ANSIBLE} has no ansible-playbook; run scripts/ansible_venv.sh, or set TELEBROWSER_ANSIBLE_BIN")
    return subprocess.run([ROOT / "scripts" / "collection.sh"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def play(playbook: Path | str, inventory: Path | str, place: Path, *options: str, settings: Mapping[str, Any] | None = None, timeout: float = 150) -> Played:
    """Play a playbook (a path, or the name of one in the collection); ``settings`` go in by a file, so that no secret is in an argument."""
    given = place / "settings.json"
    given.write_text(json.dumps({"ansible_python_interpreter": str(ANSIBLE / "python"), **(settings or {})}))
    given.chmod(0o600)
    command = [str(ANSIBLE / "ansible-playbook"), "-i", str(inventory), "-e", f"@{given}", *options, str(playbook)]
    home = place / "controller"
    home.mkdir(exist_ok=True)
    env = {"PATH": f"{ANSIBLE}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    # Where packages come from is this machine's matter.
    env.update({name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_PROXY") or name.endswith("_proxy")})
    env.update(ANSIBLE_COLLECTIONS_PATH=collections(), ANSIBLE_CONFIG=str(ROOT / "tests" / "ansible" / "ansible.cfg"), ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="false")
    done = subprocess.run(command, env=env, cwd=place, capture_output=True, text=True, timeout=timeout)
    return Played(done.returncode, done.stdout + done.stderr)


def play_role(role: str, place: Path, *options: str, times: int = 1, **settings: Any) -> Played:
    """Play one role on this machine. The output and the counts are those of the last of ``times``; a run that fails ends it."""
    playbook = place / f"{role}.yml"
    playbook.write_text(f"- hosts: all\n  gather_facts: false\n  roles: [telebrowser.telebrowser.{role}]\n")
    inventory = place / "inventory.yml"
    inventory.write_text("all: {hosts: {here: {ansible_connection: local}}}\n")
    for _ in range(times):
        played = play(playbook, inventory, place, *options, settings=settings)
        if played.status:
            break
    return played


def good(played: Played) -> Played:
    """The run, which must have succeeded."""
    assert played.status == 0, played.output[-4000:]
    return played


def refused(played: Played, words: str) -> Played:
    """The run, which must have failed with these words in one line."""
    assert played.status != 0, played.output[-2000:]
    lines = [" ".join(json.loads(f'"{one}"').split()) if one else two for one, two in MESSAGE.findall(played.output)]
    assert any(words in line for line in lines), (words, lines, played.output[-3000:])
    return played

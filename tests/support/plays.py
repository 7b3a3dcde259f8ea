"""Plays playbooks and roles of the collection on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
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


def play(playbook: Path | str, inventory: Path | str, place: Path, *options: str, settings: Mapping[str, Any] | None = None, timeout: float = 400) -> Played:
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
    env.update(
        ANSIBLE_PIPELINING="1",
        ANSIBLE_COLLECTIONS_PATH=collections(),
        ANSIBLE_CONFIG=str(ROOT / "tests" / "ansible" / "ansible.cfg"),
        ANSIBLE_NOCOLOR="1",
        ANSIBLE_LOCALHOST_WARNING="false",
    )
    done = subprocess.run(command, env=env, cwd=place, capture_output=True, text=True, timeout=timeout)
    return Played(done.returncode, done.stdout + done.stderr)


def play_role(role: str, place: Path, *options: str, **settings: Any) -> Played:
    """Play one role on this machine, as the host ``here``."""
    return play_role_on(role, place, {"here": {}}, *options, **settings)


def play_role_on(role: str, place: Path, hosts: Mapping[str, Mapping[str, Any]], *options: str, **settings: Any) -> Played:
    """Play one role on hosts that are all this machine, each with settings of its own, beside each other."""
    playbook = place / f"{role}.yml"
    playbook.write_text(f"- hosts: all\n  gather_facts: false\n  roles: [telebrowser.telebrowser.{role}]\n")
    inventory = place / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {name: {"ansible_connection": "local", **own} for name, own in hosts.items()}}}))
    return play(playbook, inventory, place, *options, settings=settings)


def messages(role: str, place: Path, cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a role says to each of these settings, in one run; an empty text where it goes through."""
    blocks = [
        {
            "block": [{"ansible.builtin.include_role": {"name": f"telebrowser.telebrowser.{role}"}, "vars": dict(case)}],
            "rescue": [{"ansible.builtin.debug": {"msg": f"case {number}: {{{{ ansible_failed_result | to_json }}}}"}}],
        }
        for number, case in enumerate(cases)
    ]
    playbook = place / "cases.json"
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": blocks}]))
    inventory = place / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"here": {"ansible_connection": "local"}}}}))
    output = good(play(playbook, inventory, place)).output
    found = dict(re.findall(r'"msg": "case (\d+): (.*)"$', output, re.M))
    return [found.get(str(number), "").replace('\\\\\\"', '"') for number in range(len(cases))]


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

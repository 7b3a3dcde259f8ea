"""Plays small playbooks with the collection as it would be installed, on this machine, in folders of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
ANSIBLE = Path(os.environ.get("TELEBROWSER_ANSIBLE_BIN", ROOT / ".venv-ansible" / "bin"))
RECAP = re.compile(r"ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)")


def collections() -> str:
    """The folder for ANSIBLE_COLLECTIONS_PATH."""
    return subprocess.run([ROOT / "scripts" / "collection.sh"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


class Played:
    """What a run said and changed."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.output = done.stdout + done.stderr
        self.code = done.returncode
        recap = RECAP.search(done.stdout)
        assert recap, self.output[-3000:]
        self.changed = int(recap.group(2))


class Player:
    """Plays roles of the collection on this machine; each run says everything."""

    def __init__(self, place: Path, *roles: str) -> None:
        self.place = place
        self.collections = collections()
        names = ", ".join(f"telebrowser.telebrowser.{role}" for role in roles)
        (place / "play.yml").write_text(f"- hosts: all\n  gather_facts: false\n  roles: [{names}]\n")

    def play(self, *options: str, ok: bool = True, **settings: object) -> Played:
        """One run with ``-vvv --diff``."""
        values = self.place / "settings.json"
        values.write_text(json.dumps({"ansible_python_interpreter": str(ANSIBLE / "python"), **settings}))
        values.chmod(0o600)
        env = {
            "PATH": f"{ANSIBLE}:{os.environ['PATH']}",
            "HOME": str(self.place),
            "LANG": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": self.collections,
            "ANSIBLE_CONFIG": str(ROOT / "tests" / "ansible" / "ansible.cfg"),
        }
        command = [ANSIBLE / "ansible-playbook", "-i", "localhost,", "-c", "local", "-vvv", "--diff", "-e", f"@{values}", *options, self.place / "play.yml"]
        done = subprocess.run(command, env=env, cwd=self.place, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=160)
        played = Played(done)
        assert (played.code == 0) is ok, played.output[-4000:]
        return played

"""Ansible tells no secret, however much it is asked to tell: a first run, a run that changes secrets, and a removal, with ``-vvv --diff``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.stack import token

ROOT = Path(__file__).parents[2]
ANSIBLE = Path(os.environ.get("TELEBROWSER_ANSIBLE_BIN", ROOT / ".venv-ansible" / "bin"))
OWN = {"telebrowser_secrets_value": "a-secret-from-a-vault-0123456789", "telebrowser_secrets_view_password": "a password from a vault"}
PROJECTS = ("shop", "scratch")


class Secrets:
    """The role secrets in a folder of its own."""

    def __init__(self, place: Path) -> None:
        self.place, self.config = place, place / "config"
        self.collections = subprocess.run([ROOT / "scripts" / "collection.sh"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
        (place / "play.yml").write_text("- hosts: all\n  gather_facts: false\n  roles: [telebrowser.telebrowser.secrets]\n")

    def play(self, **settings: object) -> str:
        """One run that tells all it can."""
        (self.place / "vars.json").write_text(
            json.dumps({"telebrowser_config_dir": str(self.config), "telebrowser_puid": os.geteuid(), "telebrowser_pgid": os.getegid(), **settings})
        )
        env = {"PATH": f"{ANSIBLE}:{os.environ['PATH']}", "HOME": str(self.place), "LANG": "C.UTF-8", "ANSIBLE_COLLECTIONS_PATH": self.collections}
        command = [ANSIBLE / "ansible-playbook", "-i", "localhost,", "-c", "local", "-vvv", "--diff", "-e", f"@{self.place}/vars.json", self.place / "play.yml"]
        done = subprocess.run(command, env={**env, "ANSIBLE_CONFIG": "/dev/null"}, cwd=self.place, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        return done.stdout + done.stderr

    def known(self) -> list[str]:
        """All that nobody may read in an output."""
        found = [(self.config / "view" / "password").read_text().strip()]
        for path in (self.config / "secrets").iterdir():
            secret = path.read_text().strip()
            found += [secret, *(token(project, secret).rpartition(".")[2] for project in PROJECTS)]
        return found


@pytest.mark.timeout(300)
def test_no_run_tells_a_secret(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path)
    outputs = [secrets.play()]
    known = secrets.known()
    first = (secrets.config / "secrets" / "secret").read_bytes()

    again = secrets.play()
    assert "changed=0" in again and (secrets.config / "secrets" / "secret").read_bytes() == first, "a second run made other secrets"

    outputs += [again, secrets.play(**OWN)]
    known += [*secrets.known(), *OWN.values()]
    assert (secrets.config / "secrets" / "secret.previous").read_bytes() == first, "the secret before is not kept"
    for folder, mode in ((secrets.config / "secrets", 0o700), (secrets.config / "secrets" / "secret", 0o600), (secrets.config / "view" / "password", 0o600)):
        assert folder.stat().st_mode & 0o777 == mode, folder

    outputs.append(secrets.play(telebrowser_state="absent"))
    assert (secrets.config / "secrets" / "secret").exists(), "a removal without telebrowser_remove_data took the secret"
    outputs.append(secrets.play(telebrowser_state="absent", telebrowser_remove_data=True))
    assert not list(secrets.config.rglob("*")), list(secrets.config.rglob("*"))

    hits = [(number, index) for number, output in enumerate(outputs) for index, needle in enumerate(known) if needle in output]
    assert not hits, f"(run, needle) that tell a secret: {hits}"

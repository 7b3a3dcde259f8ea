"""Ansible tells no secret, however much it is asked to tell: a first run, a run that changes secrets, and a removal, with ``-vvv --diff``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.stack import token

from .playing import Player

OWN = {"telebrowser_secrets_value": "a-secret-from-a-vault-0123456789", "telebrowser_secrets_view_password": "a password from a vault"}
PROJECTS = ("shop", "scratch")


class Secrets:
    """The role secrets in a folder of its own."""

    def __init__(self, place: Path) -> None:
        self.config = place / "config"
        self._player = Player(place, "secrets")

    def play(self, **settings: object) -> str:
        """One run that tells all it can."""
        owner = {"telebrowser_config_dir": str(self.config), "telebrowser_puid": os.geteuid(), "telebrowser_pgid": os.getegid()}
        return self._player.play(**owner, **settings).output

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

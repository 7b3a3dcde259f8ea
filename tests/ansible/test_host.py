"""The role host on a real engine: a look changes nothing, directories get their owner at the top and never deeper, and what goes is what came."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .playing import Player

NAME = "telebrowser-test-host"
TOP = ("", "desktop", "projects", "run", "audit")


def networks() -> str:
    """The engine's networks."""
    return subprocess.run(["docker", "network", "ls", "--format", "{{.Name}}"], capture_output=True, text=True, check=True).stdout


@pytest.mark.timeout(300)
def test_a_host_from_nothing_to_nothing(tmp_path: Path) -> None:
    assert os.geteuid() == 0, "run this as root: it makes files of other users"
    data, config = tmp_path / "data", tmp_path / "config"
    settings = {
        "telebrowser_data_dir": str(data),
        "telebrowser_config_dir": str(config),
        "telebrowser_puid": 1234,
        "telebrowser_pgid": 1235,
        "telebrowser_browser_name": NAME,
        "telebrowser_gateway_name": NAME + "-gateway",
        **{f"telebrowser_{kind}port": 26900 + number for number, kind in enumerate(("", "people_", "view_"))},
    }
    host = Player(tmp_path, "host")
    try:
        assert host.play("--check", **settings).changed > 0
        assert not data.exists() and not config.exists() and NAME not in networks(), "a check made something"

        # What Docker leaves when it makes the directories itself, and a profile whose files are the browsers' business.
        deep = data / "projects" / "shop" / "profile"
        deep.mkdir(parents=True)
        (deep / "file").write_text("")
        for path in (deep.parent, deep):
            os.chown(path, 1234, 1235)

        host.play(**settings)
        for name in TOP:
            seen = (data / name).stat()
            assert (seen.st_uid, seen.st_gid, seen.st_mode & 0o777) == (1234, 1235, 0o700), name
        assert (deep / "file").stat().st_uid == 0, "the role went deeper than its own directories"
        assert NAME in networks()

        assert host.play(**settings).changed == 0
        assert host.play("--check", **settings).changed == 0

        host.play(**settings, telebrowser_state="absent")
        assert (deep / "file").exists() and NAME not in networks(), "logins went with the rest, or the network stayed"
        host.play(**settings, telebrowser_state="absent", telebrowser_remove_data=True)
        assert not data.exists() and not config.exists()
    finally:
        subprocess.run(["docker", "network", "rm", NAME], capture_output=True)

"""The display that shows itself by VNC, and displays a project: where they listen, what they take down with them, what they leave."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from telebrowser.errors import EXIT_CONFIG
from tests.support import proc
from tests.support.pages import Pages

from .supervised import Gateway, Supervised

VNC = {"TELEBROWSER_VIEW": "vnc"}
APART = {"TELEBROWSER_DISPLAYS": "per-project"}
BACKENDS = pytest.mark.parametrize(("view", "program"), [("screencast", "Xvfb"), ("vnc", "Xvnc")])


def announced(supervised: Supervised) -> dict[str, Path]:
    """The desktops that can be seen, with their sockets."""
    try:
        told: dict[str, Any] = json.loads((supervised.run / "view.json").read_text())
    except FileNotFoundError:
        return {}
    assert told["backend"] == "vnc"
    return {name: Path(each["socket"]) for name, each in told["desktops"].items()}


def servers(supervised: Supervised, program: str) -> set[int]:
    """The X servers of a supervisor."""
    return {row.pid for row in proc.mentioning(str(supervised.run)) if row.cmdline.split(" ")[0].endswith(f"/{program}")}


def greeting(path: Path) -> bytes:
    """What a VNC server says first."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(path))
        return client.recv(12)


def ports(pid: int) -> list[str]:
    """The TCP ports on which a process listens, as the kernel lists them."""
    sockets = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def screen_of(supervised: Supervised, project: str) -> str:
    """The name of the display of a project that is up."""
    return str(supervised.up(project)["display"])


def titles(supervised: Supervised, project: str) -> str:
    """The names of the windows on a project's display."""
    environ = {"PATH": os.environ["PATH"], "DISPLAY": screen_of(supervised, project), "XAUTHORITY": str(supervised.run / f"xauthority-{project}")}
    return subprocess.run(["xwininfo", "-root", "-tree"], env=environ, capture_output=True, text=True, timeout=20, check=True).stdout


def raised(supervised: Supervised, gateway: Gateway, project: str) -> bool:
    (supervised.run / "raise").write_text(project)
    gateway.send(cmd="look")
    return gateway.wait("raised", project)["ok"] is True


def test_vnc_listens_on_a_closed_socket_only(supervised: Supervised) -> None:
    supervised.start(**VNC)
    socket_path = announced(supervised)["shared"]
    assert stat.S_IMODE(os.stat(socket_path).st_mode) == 0o600 and socket_path.parent == supervised.run
    assert greeting(socket_path) == b"RFB 003.008\n"
    (server,) = servers(supervised, "Xvnc")
    assert ports(server) == []
    os.kill(server, signal.SIGKILL)
    proc.until(lambda: servers(supervised, "Xvnc") - {server} and announced(supervised), "another is there and announced")
    assert greeting(socket_path) == b"RFB 003.008\n"
    supervised.signal(signal.SIGTERM)
    assert supervised.wait() == 0
    assert not socket_path.exists() and announced(supervised) == {}


def test_no_browser_sees_the_socket(supervised: Supervised) -> None:
    """Neither the picture's nor the run folder is in a browser's namespace."""
    gateway = supervised.start(TELEBROWSER_WALLS="required", **VNC).gateway()
    pid = supervised.browser(gateway, "walled").pid
    inside = [row.pid for row in proc.descendants([pid]) if "--type=renderer" in row.cmdline or "--type=zygote" in row.cmdline]
    assert inside, "processes of Chromium are found"
    socket_path = announced(supervised)["shared"]

    def seen(each: int, path: Path) -> bool:
        return subprocess.run(["nsenter", f"--target={each}", "--mount", "stat", str(path)], capture_output=True, timeout=10).returncode == 0

    for each in inside:
        assert seen(each, supervised.data / "projects" / "walled"), "what is its own is seen"
        assert not seen(each, socket_path) and not seen(each, supervised.run / "view.json")
    assert seen(os.getpid(), socket_path)


def test_a_lost_vnc_display_takes_browsers_down_and_brings_them_back(supervised: Supervised, pages: Pages) -> None:
    gateway = supervised.start(**VNC).gateway()
    supervised.browser(gateway, "shown").visit(f"{pages.base}/set")
    (server,) = servers(supervised, "Xvnc")
    os.kill(server, signal.SIGKILL)
    assert gateway.wait("down", "shown")["message"] == "the display was lost"
    gateway.wait("up", "shown")
    assert gateway.browsers["shown"].visit(f"{pages.base}/who")
    proc.until(lambda: raised(supervised, gateway, "shown"), "its window is there and comes to the front")


@BACKENDS
def test_each_project_has_its_own(supervised: Supervised, view: str, program: str, pages: Pages) -> None:
    gateway = supervised.start(TELEBROWSER_VIEW=view, **APART).gateway()
    assert servers(supervised, program) == set(), "none before the first browser"
    for project in ("one", "two"):
        supervised.browser(gateway, project)
    assert len(servers(supervised, program)) == 2 and screen_of(supervised, "one") != screen_of(supervised, "two")
    for project in ("one", "two"):
        proc.until(lambda project=project: raised(supervised, gateway, project), "its window is there and comes to the front")
    assert "[one]" in titles(supervised, "one") and "[two]" not in titles(supervised, "one")
    if view == "vnc":
        sockets = announced(supervised)
        assert set(sockets) == {"project one", "project two"} and len(set(sockets.values())) == 2
        assert {greeting(path) for path in sockets.values()} == {b"RFB 003.008\n"}
    # What one loses is nothing to the other.
    record = json.loads((supervised.run / "display-one.json").read_text())
    two = gateway.browsers["two"].pid
    os.kill(record["pid"], signal.SIGKILL)
    assert gateway.wait("down", "one")["message"] == "the display was lost"
    gateway.wait("up", "one")
    assert gateway.browsers["two"].pid == two and gateway.browsers["two"].visit(f"{pages.base}/who")
    # A display ends with its browser, and nothing of it is left.
    supervised.unwant("one")
    gateway.wait("down", "one")
    proc.until(lambda: len(servers(supervised, program)) == 1, "the display of one has ended")
    proc.until(lambda: all(path.suffix == ".log" for path in supervised.run.glob("*-one*")), "nothing but logs is left of it")
    assert not raised(supervised, gateway, "one")
    assert view != "vnc" or set(announced(supervised)) == {"project two"}


@BACKENDS
def test_those_of_a_killed_supervisor_are_ended(supervised: Supervised, view: str, program: str) -> None:
    supervised.start(TELEBROWSER_VIEW=view, **APART)
    for project in ("one", "two"):
        supervised.want(project)
    for project in ("one", "two"):
        supervised.up(project)
    old = servers(supervised, program)
    assert len(old) == 2
    supervised.signal(signal.SIGKILL)
    supervised.wait()
    for project in ("one", "two"):
        supervised.unwant(project)
    supervised.start(TELEBROWSER_VIEW=view, **APART)
    assert servers(supervised, program) == set()
    assert announced(supervised) == {}


def test_settings_that_do_not_fit_are_refused(supervised: Supervised, tmp_path: Path) -> None:
    code, said = supervised.refuse(TELEBROWSER_DISPLAYS="per-project", TELEBROWSER_DISPLAY="labwc")
    assert code == EXIT_CONFIG and "TELEBROWSER_DISPLAYS=per-project needs TELEBROWSER_DISPLAY=xvfb" in said
    code, said = supervised.refuse(TELEBROWSER_VIEW="vnc", PATH=str(tmp_path))
    assert code == EXIT_CONFIG and "apt-get install tigervnc-standalone-server" in said and said.strip().count("\n") == 0

"""The view Selkies beside the display: where it listens, what it lets be known, and that it comes back."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
from pathlib import Path
from typing import Any

from telebrowser.errors import EXIT_CONFIG
from tests.support import proc
from tests.support.selkies import PYTHON, SETTINGS

from .supervised import Supervised

SECONDS = 40.0


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self._path)


def get(path: str, what: str) -> tuple[int, bytes]:
    connection = UnixConnection(path)
    try:
        connection.request("GET", what)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def announced(supervised: Supervised) -> dict[str, Any] | None:
    try:
        return dict(json.loads((supervised.data / "run" / "view.json").read_text()))
    except FileNotFoundError:
        return None


def ready(supervised: Supervised) -> tuple[str, int]:
    """The socket and the pid of the view, once it is announced."""
    told = proc.until(lambda: announced(supervised), "the view is announced", SECONDS)
    assert told["backend"] == "selkies-x11" and set(told["desktops"]) == {"shared"}
    return told["desktops"]["shared"]["socket"], int(json.loads((supervised.data / "run" / "view.pid").read_text())["pid"])


def listening(pids: set[int]) -> list[str]:
    """The TCP ports, as the kernel lists them, on which these processes listen."""
    sockets = {os.readlink(f"/proc/{pid}/fd/{name}") for pid in pids for name in os.listdir(f"/proc/{pid}/fd") if Path(f"/proc/{pid}/fd/{name}").is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def test_it_listens_on_a_closed_socket_only(supervised: Supervised) -> None:
    supervised.start(**SETTINGS)
    path, pid = ready(supervised)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(supervised.data / "run" / "view.json").st_mode) == 0o600
    status, page = get(path, "/")
    assert status == 200 and b"<title>Selkies</title>" in page
    status, picture = get(path, "/api/screenshot")
    assert status == 200 and picture.startswith(b"\x89PNG")
    assert listening({pid, *(each.pid for each in proc.descendants([pid]))}) == []
    command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    assert command[0] == PYTHON and "--encoder=jpeg,h264enc" in command and "--file-transfers=none" in command


def test_it_comes_back_and_what_it_shows_runs_on(supervised: Supervised) -> None:
    supervised.start(**SETTINGS)
    gateway = supervised.gateway()
    browser = supervised.browser(gateway, "shown")
    path, pid = ready(supervised)
    os.kill(pid, signal.SIGKILL)
    proc.until(lambda: announced(supervised) is None, "the announcement is withdrawn", 5)
    again, other = ready(supervised)
    assert again == path and other != pid and get(path, "/api/health")[0] == 200
    assert browser.call("Browser.getVersion")["product"].startswith("Chrome/")
    assert "the view of shared has ended (code -9)" in supervised.output()
    browser.close()
    gateway.close()


def test_one_that_hangs_is_started_again(supervised: Supervised) -> None:
    supervised.start(**SETTINGS)
    _, pid = ready(supervised)
    os.kill(pid, signal.SIGSTOP)
    proc.until(lambda: announced(supervised) is None, "the announcement is withdrawn", 60)
    assert ready(supervised)[1] != pid
    assert "did not answer 2 times" in supervised.output()


def test_it_follows_the_display(supervised: Supervised) -> None:
    supervised.start(**SETTINGS)
    _, pid = ready(supervised)
    os.kill(int(json.loads((supervised.data / "run" / "display.json").read_text())["pid"]), signal.SIGKILL)
    proc.until(lambda: proc.process(pid) is None, "the view of the lost display is gone", 20)
    path, other = ready(supervised)
    assert other != pid and get(path, "/api/screenshot")[0] == 200


def test_nothing_is_left_of_a_supervisor_that_was_killed(supervised: Supervised) -> None:
    supervised.start(**SETTINGS)
    _, pid = ready(supervised)
    supervised.signal(signal.SIGKILL)
    supervised.wait()
    supervised.start(**SETTINGS)
    assert proc.process(pid) is None
    assert ready(supervised)[1] != pid


def test_without_the_package_it_is_refused_or_left_out(supervised: Supervised) -> None:
    code, said = supervised.refuse(TELEBROWSER_VIEW="selkies", TELEBROWSER_SELKIES_PYTHON="/nowhere/python")
    assert code == EXIT_CONFIG and "/nowhere/python has no package selkies; install it with" in said
    code, said = supervised.refuse(TELEBROWSER_ENCODERS="x264enc")
    assert code == EXIT_CONFIG and "TELEBROWSER_ENCODERS may hold jpeg, h264enc" in said
    supervised.start(TELEBROWSER_VIEW="screencast", TELEBROWSER_SELKIES_PYTHON=PYTHON)
    assert not (supervised.data / "run" / "view.pid").exists() and announced(supervised) is None

"""The verbs as processes, against a small real gateway."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.launcher_gateway import Gateway
from tests.support.stack import LAUNCHER, SECRET, free_port, token


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One gateway for all tests here."""
    made = Gateway().start()
    yield made
    made.kill()


class Shell:
    """Runs the launcher in a home of its own."""

    def __init__(self, gateway: Gateway, home: Path) -> None:
        self.home = home
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TELEBROWSER_URL": gateway.url, "TELEBROWSER_SECRET": SECRET}

    def run(self, *arguments: str, **environ: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        environment = {**self.environment, **environ}
        done = subprocess.run([LAUNCHER, *arguments], env=environment, cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert "Traceback" not in done.stderr
        for secret in (SECRET, environ.get("TELEBROWSER_SECRET") or SECRET):
            assert secret not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    def error(self, *arguments: str, **environ: str) -> tuple[int, str]:
        """Exit code and the one line on stderr."""
        code, out, err = self.run(*arguments, **environ)
        assert out == "" and err.startswith("telebrowser: ") and err.count("\n") == 1, (code, out, err)
        assert "/t/" not in err
        return code, err


@pytest.fixture
def shell(gateway: Gateway, home: Path) -> Shell:
    return Shell(gateway, home)


def test_start_status_stop(shell: Shell) -> None:
    assert shell.run("status", "--project", "verbs")[:2] == (0, shell.run("status", "--project", "verbs")[1])
    code, out, err = shell.run("start", "--project", "verbs", "--json")
    assert (code, err) == (0, "") and json.loads(out)["state"] == "up"
    assert "up (pid 4321" in shell.run("status", "--project", "verbs")[1]
    assert json.loads(shell.run("stop", "--project", "verbs", "--json")[1])["state"] == "stopped"


def test_hold_and_focus(shell: Shell) -> None:
    assert json.loads(shell.run("hold", "--json")[1])["hold_until"] == "60"
    assert json.loads(shell.run("hold", "5", "--json")[1])["hold_until"] == "5"
    assert json.loads(shell.run("hold", "007", "--json")[1])["hold_until"] == "7"
    assert shell.run("focus")[0] == 0
    for word in ("soon", "-1", "10081", "1.5", "²"):
        assert shell.error("hold", *(("--",) if word.startswith("-") else ()), word)[0] == 2


def test_downloads(shell: Shell) -> None:
    code, out, _ = shell.run("downloads", "--project", "shop")
    assert code == 0 and out.startswith("/data/projects/shop/downloads: 1 file\n") and "\x1b" not in out
    assert json.loads(shell.run("downloads", "--json")[1])["files"][0]["size"] == 12


def test_ws_and_http_hold_the_token_and_nothing_else_does(shell: Shell, gateway: Gateway) -> None:
    assert shell.run("ws", "--project", "shop")[1] == f"ws://127.0.0.1:{gateway.port}/t/{token('shop')}/devtools/browser\n"
    assert shell.run("http", "--project", "shop")[1] == f"http://127.0.0.1:{gateway.port}/t/{token('shop')}\n"
    assert json.loads(shell.run("http", "--project", "shop", "--json")[1])["project"] == "shop"
    for verb in (("status",), ("start",), ("downloads",), ("config",), ("doctor",), ("project",)):
        assert token("scratch").partition(".")[2] not in "".join(map(str, shell.run(*verb)[1:])), verb


def test_project(shell: Shell) -> None:
    assert shell.run("project") == (0, "scratch\n", "")
    assert json.loads(shell.run("project", "--json", "--project", "my shop")[1])["project"].startswith("my-shop-")
    assert shell.run("project", TELEBROWSER_PROJECT="x")[1] == "x\n"


def test_the_project_of_a_directory_that_is_gone(shell: Shell) -> None:
    done = subprocess.run(["sh", "-c", f"mkdir gone && cd gone && rmdir ../gone && exec {LAUNCHER} project"], cwd=shell.home, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "scratch\n"), done.stderr


def test_a_browser_that_cannot_start(shell: Shell) -> None:
    code, line = shell.error("start", "--project", "broken")
    assert code == 6 and "no Chromium here" in line


def test_a_wrong_secret(shell: Shell) -> None:
    code, line = shell.error("status", TELEBROWSER_SECRET="quite another secret value")
    assert code == 5 and "does not accept the token" in line


def test_no_secret_and_bad_secret_files(shell: Shell) -> None:
    code, line = shell.error("status", TELEBROWSER_SECRET="")
    assert code == 3 and "there is no secret" in line
    folder = shell.home / ".config" / "telebrowser"
    folder.mkdir(parents=True)
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o644)
    code, line = shell.error("status", TELEBROWSER_SECRET="")
    assert code == 3 and "chmod 600" in line
    (folder / "secret").chmod(0o600)
    assert shell.run("status", TELEBROWSER_SECRET="")[0] == 0
    (folder / "secret").write_text("")
    assert shell.error("status", TELEBROWSER_SECRET="")[0] == 3


def test_a_gateway_that_is_away(shell: Shell) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    code, line = shell.error("status", "--url", url)
    assert code == 4 and url in line and "telebrowser up" in line
    assert shell.error("status", "--url", "http://no-such-host.invalid")[0] == 4


def test_a_proxy_is_not_asked(shell: Shell) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    assert shell.run("status", http_proxy=nowhere, HTTP_PROXY=nowhere, ALL_PROXY=nowhere)[0] == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"a":1}',
        b"",
    ],
)
def test_something_else_on_the_port(shell: Shell, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        stranger = threading.Thread(target=serve)
        stranger.start()
        code, line = shell.error("status", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}")
        stranger.join()
    assert code == 4, line


@pytest.mark.parametrize("line", [(), ("nothing",), ("status", "--surprise"), ("status", "extra"), ("status", "--project"), ("status", "--project", "")])
def test_a_wrong_command_line(shell: Shell, line: tuple[str, ...]) -> None:
    assert shell.error(*line)[0] == 2


def test_a_bad_setting(shell: Shell) -> None:
    code, line = shell.error("status", "--url", "nonsense")
    assert code == 3 and "nonsense" not in line.partition("must")[0]
    assert shell.error("up", "--port", "99999")[0] == 3
    assert shell.error("up", TELEBROWSER_IDLE_MINUTES="soon")[0] == 3
    assert shell.error("up", "--surprise", "1")[0] == 2

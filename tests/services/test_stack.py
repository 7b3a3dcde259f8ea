"""The embedded stack: `telebrowser up` and `down` with real parts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser import config
from telebrowser.local import stack as embedded
from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, Stack, free_port, request
from tests.support.truth import Truth

SECONDS = 60.0
PARTS = ("stack", "supervisor", "gateway")


class Embedded(Stack):
    """A stack that the launcher starts and stops; the harness only looks."""

    def up(self, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        """`telebrowser up` on this stack's data directory."""
        return self.launcher("up", "--data", str(self.data), *options, timeout=SECONDS, env={**self.settings, **env})

    def down(self) -> subprocess.CompletedProcess[str]:
        """`telebrowser down`."""
        return self.launcher("down", "--data", str(self.data), timeout=SECONDS)

    def pids(self) -> dict[str, int]:
        """The pids of the parts, by their pid files."""
        return {part: json.loads((self.data / "run" / f"{part}.pid").read_text())["pid"] for part in PARTS}

    def state(self) -> dict[str, Any]:
        """What the product says of the stack."""
        return embedded.status(config.load(config.GATEWAY, config.SUPERVISOR, environ={"TELEBROWSER_DATA": str(self.data)}))

    def nothing_runs(self) -> None:
        """No process of this stack is left, at once: `down` and a failed `up` return only then."""
        assert proc.mentioning(str(self.root)) == []


@pytest.fixture
def embedding(tmp_path: Path) -> Iterator[Embedded]:
    """A stack of the test's own; it must be gone at the end."""
    root = Path("/tmp") / f"tb-emb-{os.getpid()}-{tmp_path.name[-24:]}"
    root.mkdir()
    one = Embedded(root)
    try:
        yield one
        one.down()
        proc.gone(str(one.root), seconds=10)
    finally:
        proc.kill_all(proc.mentioning(str(one.root)))
        subprocess.run(["rm", "-rf", str(root)], check=True)


def test_up_twice_and_down(embedding: Embedded) -> None:
    first = embedding.up()
    assert (first.returncode, first.stdout.strip(), first.stderr) == (0, embedding.url, ""), first
    assert embedding.healthy()
    pids = embedding.pids()
    assert all(proc.process(pid) for pid in pids.values())
    state = embedding.state()
    assert (state["state"], state["url"], state["pids"]) == ("ready", embedding.url, pids)
    for part in PARTS:
        assert os.readlink(f"/proc/{pids[part]}/fd/0") == "/dev/null"
        assert (embedding.data / "run" / f"{part}.log").stat().st_mode & 0o777 == 0o600
    second = embedding.up()
    assert (second.returncode, second.stdout.strip()) == (0, embedding.url), second
    assert embedding.pids() == pids
    other = embedding.up("--port", str(embedding.port + 1))
    assert other.returncode == 3 and embedding.url in other.stderr and str(embedding.port + 1) in other.stderr, other
    assert other.stderr.strip().count("\n") == 0
    assert embedding.pids() == pids
    done = embedding.down()
    assert (done.returncode, done.stdout.strip()) == (0, "stopped"), done
    embedding.nothing_runs()
    assert embedding.state()["state"] == "stopped"
    assert not list((embedding.data / "run").glob("*.pid")) and not (embedding.data / "run" / "supervisor.sock").exists()
    again = embedding.down()
    assert (again.returncode, again.stdout.strip()) == (0, "nothing runs")


def test_down_without_any_data(embedding: Embedded) -> None:
    embedding.data.rmdir()
    done = embedding.down()
    assert (done.returncode, done.stdout.strip()) == (0, "nothing runs")
    assert not embedding.data.exists()


async def visit(truth: Truth, url: str) -> str:
    """Open an address in the first tab; the text of the page."""
    target = (await truth.targets())[0]["targetId"]
    session = await truth.attach(target)
    await truth.call("Page.navigate", {"url": url}, session)
    await truth.detach(session)
    assert await truth.wait(target, "location.href + document.readyState", url + "complete") == url + "complete"
    return str(await truth.eval(target, "document.body.innerText"))


async def test_a_cookie_survives_down(embedding: Embedded, pages: Pages, truths: Callable[..., Any]) -> None:
    assert embedding.up().returncode == 0
    await visit(await truths(embedding.ws("kept")), f"{pages.base}/set")
    pid = embedding.browser_pid("kept")
    assert embedding.down().returncode == 0
    assert proc.process(pid) is None
    embedding.nothing_runs()
    assert embedding.up().returncode == 0
    assert not (embedding.data / "run" / "up" / "kept").exists(), "nothing is started that nobody wants"
    assert "login=yes" in await visit(await truths(embedding.ws("kept")), f"{pages.base}/who")


def test_a_port_in_use(embedding: Embedded) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", embedding.port))
        taken.listen()
        done = embedding.up()
    assert done.returncode == 1 and str(embedding.port) in done.stderr and done.stderr.strip().count("\n") == 0, done
    assert done.stdout == ""
    embedding.nothing_runs()


def test_port_zero_takes_a_free_one(embedding: Embedded) -> None:
    done = embedding.up("--port", "0")
    assert done.returncode == 0
    assert done.stdout.strip() == embedding.state()["url"] != embedding.url
    assert embedding.up("--port", "0").stdout == done.stdout


def test_a_secret_is_made_when_there_is_none(embedding: Embedded) -> None:
    embedding.secret_file.unlink()
    assert embedding.up().returncode == 0
    assert len(embedding.secret_file.read_text().strip()) == 64 and embedding.secret_file.stat().st_mode & 0o777 == 0o600
    assert embedding.launcher("status", "--project", "p", "--json").returncode == 0


def test_a_secret_readable_by_others(embedding: Embedded) -> None:
    embedding.secret_file.chmod(0o644)
    done = embedding.up()
    assert done.returncode == 3 and str(embedding.secret_file) in done.stderr and done.stderr.strip().count("\n") == 0, done
    embedding.nothing_runs()


def test_the_secret_of_the_environment_reaches_no_part(embedding: Embedded) -> None:
    done = embedding.up(TELEBROWSER_SECRET="another secret that is long enough")
    assert done.returncode == 0 and "TELEBROWSER_SECRET differs" in done.stdout, done
    for part, pid in embedding.pids().items():
        assert "another secret" not in proc.read_text(f"/proc/{pid}/environ"), part


@pytest.mark.parametrize("part", ["gateway", "supervisor"])
def test_a_part_that_dies_is_started_again(embedding: Embedded, part: str) -> None:
    assert embedding.up().returncode == 0
    assert embedding.http("POST", "start", "lives", b"").status == 200
    pids = embedding.pids()
    os.kill(pids[part], signal.SIGKILL)
    proc.until(lambda: proc.process(pids[part]) is None, "the part is dead")
    proc.until(lambda: (embedding.data / "run" / f"{part}.pid").exists() and embedding.pids()[part] != pids[part], "another one runs", 30)
    proc.until(lambda: embedding.healthy() and embedding.http("POST", "start", "lives", b"").status == 200, "the stack works again", 40)
    assert embedding.pids()["stack"] == pids["stack"]
    assert embedding.state()["state"] == "ready"


def test_a_part_that_cannot_be_kept_running(embedding: Embedded) -> None:
    assert embedding.up().returncode == 0
    parent = embedding.pids()["stack"]
    killed: set[int] = set()
    while proc.process(parent) is not None:
        for row in proc.descendants([parent]):
            if "telebrowser.gateway" in row.cmdline and row.pid not in killed:
                killed.add(row.pid)
                os.kill(row.pid, signal.SIGKILL)
    assert len(killed) == 5
    state = embedding.state()
    assert state["state"] == "failed" and "gateway ended 5 times in a row" in state["reason"], state
    embedding.nothing_runs()
    assert embedding.up().returncode == 0, "it can be started again"
    assert embedding.state()["reason"] is None


def test_a_part_that_never_starts(embedding: Embedded, tmp_path: Path) -> None:
    done = subprocess.run(
        [LAUNCHER, "up", "--data", str(embedding.data)],
        env={**embedding.env(**embedding.settings), "PATH": str(tmp_path)},
        cwd=embedding.root,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 1 and "Xvfb is not installed" in done.stderr and done.stderr.strip().count("\n") == 0, done
    embedding.nothing_runs()


@pytest.mark.parametrize("verb", ["up", "down"])
def test_the_parent_is_killed(embedding: Embedded, verb: str) -> None:
    """Its parts run on; `down` ends them, `up` puts a new stack in their place."""
    assert embedding.up().returncode == 0
    assert embedding.http("POST", "start", "left", b"").status == 200
    pids = embedding.pids()
    os.kill(pids["stack"], signal.SIGKILL)
    proc.until(lambda: proc.process(pids["stack"]) is None, "the parent is dead")
    assert embedding.healthy() and embedding.state()["state"] == "failed"
    done = embedding.up() if verb == "up" else embedding.down()
    assert done.returncode == 0, done
    assert all(proc.process(pid) is None for pid in pids.values())
    assert not list((embedding.data / "run" / "want").iterdir()), "nothing is started that nobody wants any more"
    if verb == "up":
        assert embedding.healthy() and embedding.state()["state"] == "ready"
        assert embedding.down().returncode == 0
    embedding.nothing_runs()


def test_up_status_and_doctor_say_where_people_look(embedding: Embedded) -> None:
    people = f"http://127.0.0.1:{free_port()}"
    port = people.rpartition(":")[2]
    done = embedding.up("--people-port", port, "--view", "vnc")
    assert done.returncode == 0 and done.stdout.strip() == embedding.url, done
    assert done.stderr == f"pages for people: {people}; `telebrowser open --all` gives a link that lets you in\n"
    assert embedding.state()["people_url"] == people and request(people).status in (200, 403)
    assert embedding.status("seen")["people"] == {"url": people, "view": "vnc", "setting": "vnc", "displays": "shared"}
    assert f"people      {people}, by vnc" in embedding.launcher("status", "--project", "seen").stdout
    checks = {check["name"]: check for check in json.loads(embedding.launcher("doctor", "--json").stdout)["checks"]}
    assert checks["view"]["outcome"] == "passed" and checks["view"]["detail"] == f"vnc at {people}", checks["view"]


def test_everything_is_killed(embedding: Embedded) -> None:
    """`down` also ends what nobody looks after any more: the display of a killed supervisor."""
    assert embedding.up().returncode == 0
    assert embedding.http("POST", "start", "left", b"").status == 200
    for pid in embedding.pids().values():
        os.kill(pid, signal.SIGKILL)
    assert any(name in row.cmdline for row in proc.mentioning(str(embedding.root)) for name in ("Xvfb", "Xvnc"))
    assert embedding.down().returncode == 0
    embedding.nothing_runs()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_foreground(embedding: Embedded, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [LAUNCHER, "up", "--foreground", "--data", str(embedding.data)],
        env=embedding.env(**embedding.settings),
        cwd=embedding.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout and process.stderr
    with process.stdout, process.stderr:
        assert process.stdout.readline().strip() == embedding.url
        assert embedding.healthy()
        assert embedding.pids()["stack"] == process.pid
        process.send_signal(number)
        assert process.wait(SECONDS) == 0
        assert process.stdout.read() == "" and "Traceback" not in process.stderr.read()
    embedding.nothing_runs()


def test_two_at_once(embedding: Embedded) -> None:
    command = [LAUNCHER, "up", "--data", str(embedding.data)]
    both = [
        subprocess.Popen(command, env=embedding.env(**embedding.settings), cwd=embedding.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    answers = [(process.communicate(timeout=SECONDS)[0].strip(), process.returncode) for process in both]
    assert answers == [(embedding.url, 0)] * 2, answers
    assert len([row for row in proc.mentioning(str(embedding.root)) if "telebrowser.local.parent" in row.cmdline]) == 1


def test_a_data_directory_of_someone_else(embedding: Embedded) -> None:
    assert os.getuid() == 0, "only root can give a directory away"
    os.chown(embedding.data, 65534, 65534)
    for done in (embedding.up(), embedding.down()):
        assert done.returncode == 3 and str(embedding.data) in done.stderr and done.stderr.strip().count("\n") == 0, done
    embedding.nothing_runs()


def test_a_recycled_pid_is_left_alone(embedding: Embedded) -> None:
    """Pid files of a former boot may name processes that are something else by now."""
    run = embedding.data / "run"
    (embedding.data / "projects").mkdir()
    run.mkdir()
    bystander = subprocess.Popen(["sleep", "600"], cwd="/")
    try:
        for part in PARTS:
            (run / f"{part}.pid").write_text(json.dumps({"pid": bystander.pid, "start": 1}))
        (run / "display.json").write_text(json.dumps({"pid": bystander.pid, "start": 1}))
        assert embedding.down().stdout.strip() == "nothing runs"
        assert embedding.up().returncode == 0
        assert embedding.down().returncode == 0
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()

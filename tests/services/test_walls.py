"""Walls below CDP: what a browser can see of the machine, tried by raw CDP without the gateway's filter before it."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser.supervisor import walls
from tests.support import proc
from tests.support.pages import Pages

from .supervised import Browser, Gateway, Supervised

MINE, OTHER = "mine", "other"
MARK = "only-for-the-other-project"
UNPRIVILEGED = "nobody"


class OrdinarySupervised(Supervised):
    """A supervisor that runs as an ordinary user."""

    def command(self, *options: str) -> list[str]:
        entry = pwd.getpwnam(UNPRIVILEGED)
        for path in (self.root, *([self.data] if self.data.exists() else [])):
            os.chown(path, entry.pw_uid, entry.pw_gid)
        return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", *super().command(*options)]


def start(supervised: Supervised, who: str, **environ: str) -> Gateway:
    """Start with walls, or not at all; browsers run as root, as a user of their own, or as the ordinary user who started all."""
    if who == "browser user":
        environ["TELEBROWSER_BROWSER_USER"] = UNPRIVILEGED
        supervised.root.chmod(0o711)
    supervised.start(TELEBROWSER_WALLS="required", **environ)
    return supervised.gateway()


@pytest.fixture(params=["root", "browser user", "ordinary user"])
def who(request: pytest.FixtureRequest) -> str:
    """As whom supervisor and browsers run."""
    return str(request.param)


@pytest.fixture
def supervised(request: pytest.FixtureRequest, supervised: Supervised) -> Iterator[Supervised]:
    """The supervisor; it runs as an ordinary user where the test says so."""
    assert os.getuid() == 0, "the users can only be changed as root"
    if "who" in request.fixturenames and request.getfixturevalue("who") == "ordinary user":
        supervised.__class__ = OrdinarySupervised
    yield supervised


def folder(supervised: Supervised, project: str) -> Path:
    """The folder of a project."""
    return supervised.data / "projects" / project


def give(path: Path, text: str = MARK) -> Path:
    """Write a file that belongs to whom its folder belongs to."""
    path.write_text(text)
    owner = path.parent.stat()
    os.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(0o600)
    return path


def open_address(browser: Browser, url: str) -> tuple[str, str | None]:
    """Open an address in the first tab: a session there, once the page has loaded, and the error."""
    session = browser.page()
    browser.call("Page.enable", session)
    browser.events.clear()
    error = browser.call("Page.navigate", session, url=url).get("errorText")
    while not any(event.get("method") == "Page.loadEventFired" and event.get("sessionId") == session for event in browser.events):
        browser.events.append(browser.message())
    return session, error


def read(browser: Browser, path: Path | str) -> str | None:
    """What the browser shows of a file or folder; None when it cannot open it."""
    session, error = open_address(browser, f"file://{path}")
    text = browser.evaluate(session, "document.documentElement.outerHTML")
    browser.call("Target.detachFromTarget", sessionId=session)
    return None if error else str(text)


def choose_file(browser: Browser, pages: Pages, path: Path) -> Any:
    """What a page gets of a file that CDP puts into its file input: the text, or nothing."""
    session, _ = open_address(browser, pages.add("choose.html", "<input type=file>"))
    root = browser.call("DOM.getDocument", session)["root"]["nodeId"]
    node = browser.call("DOM.querySelector", session, nodeId=root, selector="input")["nodeId"]
    browser.call("DOM.setFileInputFiles", session, nodeId=node, files=[str(path)])
    text = browser.evaluate(session, "document.querySelector('input').files[0]?.text().catch(error => null)")
    browser.call("Target.detachFromTarget", sessionId=session)
    return text


def inside(pid: int) -> set[int]:
    """The pids, as seen from here, of the processes in the pid namespace of a process."""
    own = os.readlink(f"/proc/{pid}/ns/pid")
    found = set()
    for row in proc.table():
        try:
            if os.readlink(f"/proc/{row.pid}/ns/pid") == own:
                found.add(row.pid)
        except OSError:
            continue
    return found


def test_another_project_is_not_there(supervised: Supervised, pages: Pages, who: str) -> None:
    secrets = supervised.root / "secrets"
    secrets.mkdir()
    gateway = start(supervised, who, TELEBROWSER_SECRETS_DIR=str(secrets))
    give(secrets / "secret")
    other = supervised.browser(gateway, OTHER)
    other.visit(f"{pages.base}/set")
    mine = supervised.browser(gateway, MINE)
    assert mine.event["walls"] is True and mine.event["warnings"] == ([] if who != "root" else mine.event["warnings"][:1])
    for name in ("downloads/hers.txt", "uploads/hers.txt", "profile/hers.txt", "home/hers.txt", "tmp/hers.txt"):
        give(folder(supervised, OTHER) / name)
        assert MARK in str(read(other, folder(supervised, OTHER) / name)), "the check can see: its own browser reads it"
        assert read(mine, folder(supervised, OTHER) / name) is None
        assert choose_file(mine, pages, folder(supervised, OTHER) / name) in (None, "")
    cookies = next((folder(supervised, OTHER) / "profile").rglob("Cookies"))
    assert choose_file(mine, pages, cookies) in (None, "")
    own = give(folder(supervised, MINE) / "uploads" / "own.txt", "my own text")
    assert choose_file(mine, pages, own) == "my own text"
    shown = str(read(mine, supervised.data / "projects"))
    assert MINE in shown and OTHER not in shown
    assert {path.name for path in Path(f"/proc/{mine.pid}/root{supervised.data}").iterdir()} == {"projects"}
    assert {path.name for path in Path(f"/proc/{mine.pid}/root{supervised.root}").iterdir()} == {"data"}
    for hidden in (
        secrets,
        secrets / "secret",
        supervised.run,
        supervised.run / "supervisor.sock",
        supervised.run / "xauthority",
        supervised.log,
        "/root",
        "/home",
    ):
        assert os.path.exists(hidden) and read(mine, hidden) is None, hidden


def test_what_a_browser_plants_is_not_followed(supervised: Supervised, pages: Pages) -> None:
    """A browser that has been broken out of cannot make the parts outside work on another project's files by links or by claims."""
    gateway = start(supervised, "root")
    supervised.browser(gateway, OTHER)
    mine = supervised.browser(gateway, MINE)
    theirs = folder(supervised, OTHER) / "profile"
    enter = ["nsenter", "-t", str(mine.pid), "-U", "-m", "-p", "--"]
    script = f"""cd {folder(supervised, MINE)} || exit
    for name in profile downloads uploads home tmp; do
        mv $name away && echo moved $name; rmdir $name && echo removed $name
    done
    ln -s /etc planted; touch uploads/x && echo wrote; touch downloads/x && echo right"""
    done = subprocess.run([*enter, "sh", "-c", script], capture_output=True, text=True, timeout=20)
    assert done.stdout.split() == ["right"], done
    assert sorted(path.name for path in folder(supervised, MINE).iterdir()) == ["downloads", "home", "profile", "tmp", "uploads"]
    # A process that claims to be the browser of the other project keeps that from nothing.
    claim = f"exec -a chromium bash -c 'sleep 300; :' x --user-data-dir={theirs}"
    claiming = subprocess.Popen([*enter, "bash", "-c", claim], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        proc.until(lambda: [row for row in proc.table() if f"user-data-dir={theirs}" in row.cmdline and row.cmdline.startswith("chromium")], "it claims")
        supervised.unwant(OTHER)
        gateway.wait("down", OTHER)
        supervised.browser(gateway, OTHER)
    finally:
        claiming.kill()
        claiming.wait()
    # Links inside the profile: the other's preferences are neither read nor changed, and the browser itself does not see them.
    supervised.unwant(MINE)
    gateway.wait("down", MINE)
    supervised.unwant(OTHER)
    gateway.wait("down", OTHER)
    hers = theirs / "Default" / "Preferences"
    hers.write_text(json.dumps({**json.loads(hers.read_text()), "mark": MARK}))
    text = hers.read_text()
    preferences = folder(supervised, MINE) / "profile" / "Default" / "Preferences"
    preferences.unlink()
    preferences.symlink_to(hers)
    supervised.browser(gateway, MINE)
    assert hers.read_text() == text
    assert preferences.is_symlink() or MARK not in preferences.read_text()
    supervised.unwant(MINE)
    gateway.wait("down", MINE)
    home = folder(supervised, MINE) / "home"
    shutil.rmtree(home)
    home.symlink_to(theirs)
    supervised.want(MINE)
    gateway.send(cmd="look")
    assert "is a link" in gateway.wait("failed", MINE)["message"]


def test_the_rest_of_the_machine(supervised: Supervised, who: str) -> None:
    """Temporary files, devices and kernel files of others, and what in /etc is not open to everyone, are not there."""
    outside = Path("/tmp") / f"outside-{supervised.root.name}"
    outside.write_text(MARK)
    outside.chmod(0o644)
    shared = Path("/dev/shm") / outside.name
    shared.write_text(MARK)
    shared.chmod(0o644)
    try:
        gateway = start(supervised, who)
        mine = supervised.browser(gateway, MINE)
        assert read(mine, outside) is None and read(mine, shared) is None
    finally:
        outside.unlink()
        shared.unlink()
    assert "root:" in str(read(mine, "/etc/passwd"))
    for closed in ("/etc/shadow", "/etc/ssl/private/key.pem", "/proc/kcore", "/dev/mem"):
        assert "root:" not in str(read(mine, closed)), closed
    top = {path.name for path in Path(f"/proc/{mine.pid}/root").iterdir()}
    assert not top & {"home", "root", "var", "srv", "mnt", "media", "boot"} - ({"var"} if Path("/var/cache/fontconfig").exists() else set())
    sockets = Path(f"/proc/{mine.pid}/root/tmp/.X11-unix")
    assert [path.name for path in sockets.iterdir()] == [f"X{supervised.up(MINE)['display'].removeprefix(':')}"]
    mounts = [line.split() for line in proc.read_text(f"/proc/{mine.pid}/mounts").splitlines()]
    writable = {fields[1] for fields in mounts if "rw" in fields[3].split(",") and not fields[1].startswith("/dev")}
    assert writable <= {"/proc", "/tmp", *(str(folder(supervised, MINE) / name) for name in ("profile", "downloads", "home", "tmp"))}, writable


def test_processes_of_others(supervised: Supervised, who: str) -> None:
    gateway = start(supervised, who)
    mine = supervised.browser(gateway, MINE)
    other = supervised.browser(gateway, OTHER)
    assert not inside(mine.pid) & inside(other.pid) and supervised.pid not in inside(mine.pid)
    seen = {name for name in os.listdir(f"/proc/{mine.pid}/root/proc") if name.isdigit()}
    # Chromium's own sandbox makes pid namespaces of its own below, whose processes have numbers here too.
    assert {"1", "2"} <= seen and len(seen) < 40
    lines = [Path(f"/proc/{mine.pid}/root/proc/{name}/cmdline").read_bytes() for name in seen if Path(f"/proc/{mine.pid}/root/proc/{name}/cmdline").exists()]
    assert any(MINE.encode() in line for line in lines)
    assert not any(OTHER.encode() in line or b"supervisor" in line for line in lines)


def test_the_sandbox_of_chromium_stays_on(supervised: Supervised) -> None:
    gateway = start(supervised, "browser user")
    mine = supervised.browser(gateway, MINE)
    assert mine.event["sandbox"] is True
    session = mine.page()
    mine.call("Page.navigate", session, url="chrome://sandbox")
    proc.until(lambda: "adequately sandboxed" in str(mine.evaluate(session, "document.body.innerText")), "chrome://sandbox says that all is well")


def walls_of(browser: Browser) -> tuple[int, int]:
    """The pids of bubblewrap: outside, and the first process inside."""
    row = proc.process(browser.pid)
    assert row is not None
    first = proc.process(row.ppid)
    assert first is not None and "bwrap" in first.cmdline.split(" ")[0]
    return first.ppid, first.pid


@pytest.mark.parametrize("victim", ["Chromium", "first inside", "bubblewrap"])
def test_a_death_takes_all_and_is_a_crash(supervised: Supervised, pages: Pages, victim: str) -> None:
    gateway = start(supervised, "browser user")
    mine = supervised.browser(gateway, MINE)
    mine.visit(f"{pages.base}/set")
    outside, first = walls_of(mine)
    members = inside(mine.pid) | {outside}
    assert len(members) > 4
    os.kill({"Chromium": mine.pid, "first inside": first, "bubblewrap": outside}[victim], signal.SIGKILL)
    down = gateway.wait("down", MINE)
    assert (down["reason"], down["exit_code"]) == ("crashed", -9)
    assert not [row for row in proc.table() if row.pid in members], "nothing was left when it was reported"
    gateway.wait("up", MINE)
    assert gateway.browsers[MINE].pid not in members
    # Of a bubblewrap that is killed Chromium knows nothing: it is ended as cleanly as ever.
    assert victim != "bubblewrap" or "login=yes" in gateway.browsers[MINE].visit(f"{pages.base}/who")


def test_what_hides_from_its_group_is_ended_too(supervised: Supervised) -> None:
    """Without walls a process that leaves group and session outlives the browser."""
    program = supervised.root / "chromium"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo \'Chromium 1.2.3\' && exit 0\nsetsid setsid sleep 4711 &\nexec /usr/bin/chromium "$@"\n')
    program.chmod(0o755)
    gateway = start(supervised, "root", CHROMIUM_PATH=str(program))
    supervised.browser(gateway, MINE)
    hidden = next(row for row in proc.mentioning(str(supervised.root)) if "sleep 4711" in row.cmdline and "setsid" not in row.cmdline)
    supervised.unwant(MINE)
    gateway.wait("down", MINE)
    assert proc.process(hidden.pid) is None


def test_a_download_lands(supervised: Supervised, pages: Pages, who: str) -> None:
    gateway = start(supervised, who)
    mine = supervised.browser(gateway, MINE)
    url = pages.add("report.bin", b"x" * 100_000, "application/octet-stream", **{"Content-Disposition": "attachment"})
    mine.post("Page.navigate", mine.page(), url=url)
    landed = folder(supervised, MINE) / "downloads" / "report.bin"
    proc.until(lambda: landed.exists() and landed.stat().st_size == 100_000, "the download lands on the host")
    assert landed.read_bytes() == b"x" * 100_000


def without(where: Path, *missing: str) -> str:
    """A PATH with every program but some."""
    where.mkdir()
    for path in Path("/usr/bin").iterdir():
        if path.name not in missing:
            (where / path.name).symlink_to(path)
    return str(where)


def broken_bubblewrap(where: Path, script: str) -> str:
    """A PATH on which bubblewrap is another program."""
    where.mkdir()
    (where / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (where / "bwrap").chmod(0o755)
    return f"{where}:{os.environ['PATH']}"


REFUSED = "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"
# Walls would work, but nothing inside may make namespaces, which Chromium's own sandbox needs.
NOT_NESTED = 'case "$*" in *map-root-user*) echo "unshare: Operation not permitted" >&2; exit 1;; esac; exec /usr/bin/bwrap "$@"'


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("missing", "util-linux is not installed"),
        ("refused", "No permissions to create new namespace"),
        ("not nested", "own sandbox"),
        ("off", "TELEBROWSER_WALLS"),
    ],
)
def test_without_walls_everybody_is_told(supervised: Supervised, pages: Pages, kind: str, said: str) -> None:
    paths = {
        "missing": lambda: without(supervised.root / "bin", "setsid"),
        "refused": lambda: broken_bubblewrap(supervised.root / "bin", REFUSED),
        "not nested": lambda: broken_bubblewrap(supervised.root / "bin", NOT_NESTED),
        "off": lambda: os.environ["PATH"],
    }
    environ = {"PATH": paths[kind](), "TELEBROWSER_BROWSER_USER": UNPRIVILEGED}
    supervised.root.chmod(0o711)
    if kind != "off":
        code, output = supervised.refuse(TELEBROWSER_WALLS="required", **environ)
        assert code == 3 and output.strip().count("\n") == 0 and "TELEBROWSER_WALLS" in output and said in output, output
    supervised.start(TELEBROWSER_WALLS="off" if kind == "off" else "auto", **environ)
    gateway = supervised.gateway()
    assert any("without walls" in warning and said in warning for warning in gateway.seen[0]["warnings"]), gateway.seen[0]
    mine = supervised.browser(gateway, MINE)
    assert mine.event["walls"] is False and any(said in warning for warning in mine.event["warnings"])
    assert "without walls" in supervised.output()
    assert mine.visit(f"{pages.base}/who")
    assert os.readlink(f"/proc/{mine.pid}/ns/mnt") == os.readlink(f"/proc/{supervised.pid}/ns/mnt")


@pytest.mark.parametrize("victim", ["Chromium", "first inside", "outside"])
def test_without_bubblewrap_the_supervisor_builds_them(supervised: Supervised, pages: Pages, victim: str) -> None:
    # Whether it is installed is asked by PATH, where the programs are found that the walls are tried with, too; so it stands in.
    gateway = start(supervised, "root", PATH=broken_bubblewrap(supervised.root / "bin", f'exec {shlex.join(walls.MASON)} "$@"'))
    give(folder(supervised, MINE).parent / "hers.txt")
    mine = supervised.browser(gateway, MINE)
    assert mine.event["walls"] is True and read(mine, folder(supervised, MINE).parent / "hers.txt") is None
    mine.visit(f"{pages.base}/set")
    row = proc.process(mine.pid)
    assert row is not None
    first = proc.process(row.ppid)
    assert first is not None and "mason.py" in first.cmdline
    members = inside(mine.pid) | {first.ppid}
    assert len(members) > 4
    os.kill({"Chromium": mine.pid, "first inside": first.pid, "outside": first.ppid}[victim], signal.SIGKILL)
    down = gateway.wait("down", MINE)
    assert (down["reason"], down["exit_code"]) == ("crashed", -9)
    assert not [row for row in proc.table() if row.pid in members], "nothing was left when it was reported"
    gateway.wait("up", MINE)
    assert victim != "outside" or "login=yes" in gateway.browsers[MINE].visit(f"{pages.base}/who")


@pytest.mark.parametrize("script", [None, REFUSED])
def test_walls_that_fail_later(supervised: Supervised, pages: Pages, script: str | None) -> None:
    """bubblewrap is removed, or refuses, after the supervisor has started: nothing runs without walls that was to run inside."""
    path = broken_bubblewrap(supervised.root / "bin", 'exec /usr/bin/bwrap "$@"')
    gateway = start(supervised, "root", PATH=path)
    before = proc.descriptors(supervised.pid)
    bwrap = supervised.root / "bin" / "bwrap"
    bwrap.rename(bwrap.with_name("away"))
    if script is not None:
        bwrap.write_text(f"#!/bin/sh\n{script}\n")
        bwrap.chmod(0o755)
    supervised.want(MINE)
    gateway.send(cmd="look")
    failed = gateway.wait("failed", MINE)
    assert failed["code"] == "BROWSER_UNAVAILABLE" and ("bwrap" in failed["message"] or "ended with code 1" in failed["message"]), failed
    assert script is None or "No permissions" in (supervised.run / f"chromium-{MINE}.log").read_text()
    proc.until(lambda: len(proc.descriptors(supervised.pid)) <= len(before), f"no descriptor is left: {before}, {proc.descriptors(supervised.pid)}", 5)
    assert "Traceback" not in supervised.output()
    bwrap.with_name("away").rename(bwrap)
    assert supervised.browser(gateway, MINE).visit(f"{pages.base}/who")


def test_a_data_directory_below_what_is_shown(supervised: Supervised, pages: Pages) -> None:
    """Of a data directory below /usr there is the own project only, as of any other."""
    data = Path(f"/usr/local/{supervised.root.name}")
    supervised.data, supervised.run = data, data / "run"
    try:
        gateway = start(supervised, "root")
        other = supervised.browser(gateway, OTHER)
        mine = supervised.browser(gateway, MINE)
        give(folder(supervised, OTHER) / "downloads" / "hers.txt")
        assert MARK in str(read(other, folder(supervised, OTHER) / "downloads" / "hers.txt"))
        assert read(mine, folder(supervised, OTHER) / "downloads" / "hers.txt") is None
        assert read(mine, data / "run") is None
        assert mine.visit(f"{pages.base}/who")
    finally:
        supervised.stop()
        shutil.rmtree(data, ignore_errors=True)

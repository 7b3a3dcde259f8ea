"""How browsers are started: locks, users, sandbox, environment, and what is refused."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import proc
from tests.support.chromium import FLAGS, binary
from tests.support.pages import Pages

from .supervised import Browser, Supervised

PROJECT = "starts"
SECRET = "very-secret-value-of-this-test"


def variables(pid: int) -> dict[str, str]:
    """The environment of a process."""
    return dict(entry.split("=", 1) for entry in proc.read_text(f"/proc/{pid}/environ").split("\0") if "=" in entry)


def test_command_line_and_environment(supervised: Supervised, pages: Pages) -> None:
    supervised.start(
        DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere",
        DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nowhere",
        TELEBROWSER_SECRET=SECRET,
        SOME_TOKEN=SECRET,
        WAYLAND_DISPLAY="wayland-9",
        http_proxy="",
    )
    gateway = supervised.gateway()
    browser = supervised.browser(gateway, PROJECT)
    arguments = proc.read_text(f"/proc/{browser.pid}/cmdline").split("\0")
    home = supervised.data / "projects" / PROJECT / "home"
    for wanted in (
        f"--user-data-dir={supervised.data}/projects/{PROJECT}/profile",
        f"--window-name=[{PROJECT}]",
        "about:blank",
        "--remote-debugging-pipe",
        "--password-store=basic",
        "--disable-background-timer-throttling",
        "--disable-renderer-backgrounding",
        "--disable-backgrounding-occluded-windows",
    ):
        assert wanted in arguments, wanted
    assert not any(argument.startswith(("--remote-debugging-port", "--enable-automation", "--headless")) for argument in arguments)
    environ = variables(browser.pid)
    assert SECRET not in str(environ)
    assert not any(name.startswith("DBUS_") for name in environ)
    assert "WAYLAND_DISPLAY" not in environ
    assert environ["HOME"] == str(home)
    assert environ["XDG_CONFIG_HOME"] == str(home / ".config")
    assert environ["XDG_CACHE_HOME"] == str(home / ".cache")
    stat = proc.read_text(f"/proc/{browser.pid}/stat").rpartition(")")[2].split()
    assert (int(stat[2]), int(stat[3])) == (browser.pid, browser.pid), "a group and a session of its own"


def listening_processes(pids: list[int]) -> list[int]:
    """Those of the processes that listen on a TCP port."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in proc.read_text(table).splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                inodes.add(f"socket:[{fields[9]}]")
    return [pid for pid in pids if inodes & set(proc.descriptors(pid))]


def test_no_port_is_opened(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    gateway = supervised.gateway()
    supervised.browser(gateway, PROJECT).visit(f"{pages.base}/clock.html")
    mine = [row.pid for row in proc.mentioning(str(supervised.root))]
    assert len(mine) > 4
    assert listening_processes(mine) == []


def no_bar(browser: Browser, session: str) -> bool:
    """No bar about unsupported options takes a part of the page: tabs and tool bar alone stand above it."""
    return bool(browser.evaluate(session, "outerHeight - innerHeight < 100"))


def test_a_page_cannot_tell_that_it_is_driven(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    browser = supervised.browser(supervised.gateway(), PROJECT)
    browser.visit(f"{pages.base}/clock.html")
    session = browser.page()
    assert browser.evaluate(session, "navigator.webdriver") is False
    assert "Headless" not in browser.evaluate(session, "navigator.userAgent")
    assert no_bar(browser, session)


def test_downloads_land_in_the_project_without_a_question(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    browser = supervised.browser(supervised.gateway(), PROJECT)
    session = browser.page()
    browser.call("Page.enable", session)
    browser.post("Page.navigate", session, url=f"{pages.base}/file.bin")
    landed = supervised.data / "projects" / PROJECT / "downloads" / "file.bin"
    proc.until(lambda: landed.exists() and landed.stat().st_size == 4096, "the file lands")


def test_modes_and_the_record(supervised: Supervised) -> None:
    supervised.start()
    supervised.want(PROJECT)
    record = supervised.up(PROJECT)
    assert record["window"] == f"[{PROJECT}]" and record["pgid"] == record["pid"] and record["display"].startswith(":")
    assert record["version"].split(".")[0].isdigit()
    for path in (supervised.data, supervised.data / "projects" / PROJECT, supervised.data / "projects" / PROJECT / "profile", supervised.run):
        assert path.stat().st_mode & 0o777 == 0o700, path
    assert (supervised.run / "supervisor.sock").stat().st_mode & 0o777 == 0o600
    assert json.loads((supervised.run / "supervisor.pid").read_text())["pid"] == supervised.pid


def test_a_stale_lock_of_another_host(supervised: Supervised, pages: Pages) -> None:
    """Chromium itself would wait for ever with a dialog."""
    profile = supervised.data / "projects" / PROJECT / "profile"
    profile.mkdir(parents=True, mode=0o700)
    supervised.data.chmod(0o700)
    (profile / "SingletonLock").symlink_to("another-host-4711")
    (profile / "SingletonSocket").symlink_to("/tmp/org.chromium.Chromium.nowhere/SingletonSocket")
    (profile / "SingletonCookie").symlink_to("123456789")
    supervised.start()
    browser = supervised.browser(supervised.gateway(), PROJECT)
    assert browser.visit(f"{pages.base}/who")
    # Inside walls the browser has another pid than from here.
    number = proc.read_text(f"/proc/{browser.pid}/status").split("NSpid:")[1].splitlines()[0].split()[-1]
    assert os.readlink(profile / "SingletonLock") == f"{socket.gethostname()}-{number}"


@pytest.mark.parametrize("extra", [{}, {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}])
def test_a_profile_that_a_live_process_has(supervised: Supervised, extra: dict[str, str]) -> None:
    """A foreign browser on the profile is neither unlocked nor joined, and stays as it was."""
    profile = supervised.data / "projects" / PROJECT / "profile"
    profile.mkdir(parents=True, mode=0o700)
    supervised.data.chmod(0o700)
    foreign = subprocess.Popen(
        [binary(), *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"],
        # With an address of a bus, Chromium replaces its arguments by one text with blanks in it.
        env={"PATH": os.environ["PATH"], "HOME": str(supervised.root), **extra},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        proc.until((profile / "DevToolsActivePort").exists, "the foreign browser runs")
        lock = os.readlink(profile / "SingletonLock")
        supervised.start()
        gateway = supervised.gateway()
        supervised.want(PROJECT)
        failed = gateway.wait("failed", PROJECT)
        assert failed["code"] == "BROWSER_UNAVAILABLE" and str(foreign.pid) in failed["message"], failed
        assert not (supervised.run / "want" / PROJECT).exists()
        assert os.readlink(profile / "SingletonLock") == lock
        assert foreign.poll() is None
        gateway.send(cmd="wipe", project=PROJECT)
        assert str(foreign.pid) in gateway.wait("wiped", PROJECT)["error"]
        assert (profile / "DevToolsActivePort").exists()
    finally:
        os.killpg(foreign.pid, signal.SIGKILL)
        foreign.wait()
    proc.until(lambda: not proc.mentioning(str(profile)), "the foreign browser is gone")
    supervised.browser(gateway, PROJECT)


def test_a_second_supervisor(supervised: Supervised) -> None:
    supervised.start()
    before = (supervised.run / "supervisor.pid").read_text()
    code, output = supervised.refuse()
    assert code == 3 and output.strip().count("\n") == 0 and str(supervised.data) in output, output
    assert (supervised.run / "supervisor.pid").read_text() == before
    assert supervised.answers(), "the first one goes on"


@pytest.mark.parametrize(
    ("options", "environ", "code", "named"),
    [
        (("--surprise",), {}, 2, "--surprise"),
        (("--screen",), {}, 2, "--screen"),
        (("--screen", "wide"), {}, 3, "TELEBROWSER_SCREEN"),
        (("--screen=99999x10",), {}, 3, "TELEBROWSER_SCREEN"),
        (("--display", "mirror"), {}, 3, "--display"),
        ((), {"TELEBROWSER_BROWSER_USER": "nobody-at-all"}, 3, "TELEBROWSER_BROWSER_USER"),
        ((), {"TELEBROWSER_BROWSER_USER": "root"}, 3, "TELEBROWSER_BROWSER_USER"),
        ((), {"LOG_LEVEL": "loud"}, 3, "LOG_LEVEL"),
    ],
)
def test_bad_settings(supervised: Supervised, options: tuple[str, ...], environ: dict[str, str], code: int, named: str) -> None:
    got, output = supervised.refuse(*options, **environ)
    assert got == code and named in output and output.strip().count("\n") == 0, output


def test_a_display_server_that_is_missing(supervised: Supervised, tmp_path: Path) -> None:
    code, output = supervised.refuse(PATH=str(tmp_path))
    assert code == 1 and "Xvfb is not installed" in output.strip().splitlines()[-1], output


def test_chromium_missing(supervised: Supervised) -> None:
    supervised.start(CHROMIUM_PATH="/nowhere/chromium")
    gateway = supervised.gateway()
    hello = gateway.seen[0]
    assert hello["chromium"] == {"path": None, "version": None} and any("/nowhere/chromium" in warning for warning in hello["warnings"])
    supervised.want(PROJECT)
    failed = gateway.wait("failed", PROJECT)
    assert failed["code"] == "BROWSER_UNAVAILABLE" and "/nowhere/chromium" in failed["message"]
    assert not (supervised.run / "want" / PROJECT).exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "ended with code 0"),
        ("exit 7", "ended with code 7"),
        ("kill -9 $$", "ended with code -9"),
        ("sleep 300 & exit 8", "ended with code 8"),
        ("(trap '' INT; sleep 300) & exit 9", "ended with code 9"),
    ],
)
def test_a_chromium_that_ends_at_once(supervised: Supervised, script: str, said: str) -> None:
    program = supervised.root / "chromium"
    program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'Chromium 1.2.3' && exit 0\n{script}\n")
    program.chmod(0o755)
    supervised.start(CHROMIUM_PATH=str(program))
    gateway = supervised.gateway()
    assert gateway.seen[0]["chromium"]["version"] == "Chromium 1.2.3"
    supervised.want(PROJECT)
    failed = gateway.wait("failed", PROJECT)
    assert failed["code"] == "BROWSER_UNAVAILABLE" and said in failed["message"], failed
    assert not (supervised.run / "up" / PROJECT).exists()
    assert not any("sleep" in row.cmdline for row in proc.mentioning(str(supervised.root))), "what it started is ended with it"


def test_a_stop_before_the_browser_is_ready(supervised: Supervised) -> None:
    """A browser that neither answers nor minds SIGINT is ended with all its processes when it is no longer wanted."""
    program = supervised.root / "chromium"
    program.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'Chromium 1.2.3' && exit 0\ntrap '' INT\nsleep 300\n")
    program.chmod(0o755)
    supervised.start(CHROMIUM_PATH=str(program))
    gateway = supervised.gateway()
    supervised.want(PROJECT)
    gateway.send(cmd="look")
    proc.until(lambda: any("sleep 300" in row.cmdline for row in proc.mentioning(str(supervised.root))), "the program runs")
    supervised.unwant(PROJECT)
    gateway.send(cmd="look")
    down = gateway.wait("down", PROJECT)
    assert (down["reason"], down["exit_code"]) == ("stopped", -9)
    assert not any("sleep 300" in row.cmdline for row in proc.mentioning(str(supervised.root)))


def test_odd_names_in_the_want_folder(supervised: Supervised) -> None:
    supervised.start()
    for name in (".hidden", "a b", "-x", "x" * 65, "é"):
        (supervised.run / "want" / name).touch()
    supervised.want(PROJECT)
    supervised.up(PROJECT)
    assert sorted(path.name for path in (supervised.run / "up").iterdir()) == [PROJECT]
    assert sorted(path.name for path in (supervised.data / "projects").iterdir()) == [PROJECT]
    assert supervised.output().count("no project's name") == 5


def test_packets_that_are_no_commands(supervised: Supervised) -> None:
    supervised.start()
    gateway = supervised.gateway()
    for packet in (b"not json", b"[]", b'{"cmd":7}', b'{"cmd":"dance"}', b'{"cmd":"wipe"}', b'{"cmd":"wipe","project":"../x"}', b"\xff" * 70000):
        gateway.socket.send(packet)
    with open(supervised.root / "gift", "wb") as gift:
        socket.send_fds(gateway.socket, [b'{"cmd":"look"}'], [gift.fileno()])
    supervised.browser(gateway, PROJECT)
    assert not any("gift" in name for name in proc.descriptors(supervised.pid))
    assert "Traceback" not in supervised.output()


@pytest.fixture
def unprivileged() -> Any:
    """A user without rights that exists everywhere."""
    return pwd.getpwnam("nobody")


def test_an_unprivileged_browser_user(supervised: Supervised, pages: Pages, unprivileged: Any) -> None:
    """As root with a configured user: browsers run as that user, with the sandbox on, and keep their profile."""
    assert os.getuid() == 0, "the supervisor can only change users as root"
    supervised.root.chmod(0o711)
    supervised.start("--browser-user", "nobody")
    gateway = supervised.gateway()
    assert gateway.seen[0]["warnings"] == []
    browser = supervised.browser(gateway, PROJECT)
    assert browser.event["sandbox"] is True and browser.event["warnings"] == []
    owners = {os.stat(f"/proc/{row.pid}").st_uid for row in proc.mentioning(f"{supervised.data}/projects/{PROJECT}/profile")}
    uids = {proc.read_text(f"/proc/{row.pid}/status").split("Uid:")[1].split()[0] for row in proc.descendants([browser.pid])}
    assert uids == {str(unprivileged.pw_uid)}, (uids, owners)
    assert "--no-sandbox" not in proc.read_text(f"/proc/{browser.pid}/cmdline")
    browser.visit(f"{pages.base}/set")
    assert no_bar(browser, browser.page())
    project = supervised.data / "projects" / PROJECT
    for folder in (project, project / "profile", project / "downloads", project / "home"):
        info = folder.stat()
        assert (info.st_uid, info.st_mode & 0o777) == (unprivileged.pw_uid, 0o700), folder
    supervised.unwant(PROJECT)
    gateway.wait("down", PROJECT)
    assert "login=yes" in supervised.browser(gateway, PROJECT).visit(f"{pages.base}/who")
    # The user cannot make root write or delete elsewhere by planting a link.
    supervised.unwant(PROJECT)
    gateway.wait("down", PROJECT)
    outside = supervised.root / "outside"
    outside.mkdir(mode=0o700)
    (outside / "kept").write_text("kept")
    shutil.rmtree(project / "home")
    (project / "home").symlink_to(outside)
    supervised.want(PROJECT)
    assert gateway.wait("failed", PROJECT)["code"] == "BROWSER_UNAVAILABLE"
    gateway.send(cmd="wipe", project=PROJECT)
    assert gateway.wait("wiped", PROJECT)["error"] is None
    assert [path.name for path in outside.iterdir()] == ["kept"] and outside.stat().st_uid == 0


def test_a_browser_user_who_cannot_reach_the_data(supervised: Supervised) -> None:
    assert os.getuid() == 0, "the supervisor can only change users as root"
    supervised.root.chmod(0o700)
    code, output = supervised.refuse("--browser-user", "nobody")
    assert code == 3 and "TELEBROWSER_BROWSER_USER" in output and str(supervised.root) in output.strip().splitlines()[-1], output

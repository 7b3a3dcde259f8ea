"""What happens while browsers run: crashes, wipes, windows, the display, and many starts and stops."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support import proc
from tests.support.pages import Pages

from .supervised import Browser, Gateway, Supervised

CYCLES = 20


def kill(browser: Browser) -> None:
    """Crash a browser."""
    os.kill(browser.pid, signal.SIGKILL)


def test_three_crashes_in_a_minute(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    gateway = supervised.gateway()
    browser = supervised.browser(gateway, "crashing")
    for _ in range(2):
        kill(browser)
        down = gateway.wait("down", "crashing")
        assert (down["reason"], down["exit_code"]) == ("crashed", -9)
        gateway.wait("up", "crashing")
        assert gateway.browsers["crashing"].pid != browser.pid
        browser = gateway.browsers["crashing"]
    kill(browser)
    gateway.wait("down", "crashing")
    failed = gateway.wait("failed", "crashing")
    assert failed["code"] == "BROWSER_CRASHED" and "3 times" in failed["message"] and "signal 9" in failed["message"]
    assert not (supervised.run / "want" / "crashing").exists()
    assert not (supervised.run / "up" / "crashing").exists()
    # Wanting it again at once is refused with the same reason, other projects are not affected, and a reset helps.
    supervised.want("crashing")
    gateway.send(cmd="look")
    assert gateway.wait("failed", "crashing")["code"] == "BROWSER_CRASHED"
    supervised.browser(gateway, "other")
    gateway.send(cmd="failed-reset", project="crashing")
    assert supervised.browser(gateway, "crashing").visit(f"{pages.base}/who")


def test_a_crash_of_the_browser_itself(supervised: Supervised) -> None:
    supervised.start()
    gateway = supervised.gateway()
    supervised.browser(gateway, "crashing").post("Browser.crash")
    down = gateway.wait("down", "crashing")
    assert down["reason"] == "crashed" and down["exit_code"] != 0
    gateway.wait("up", "crashing")


def test_the_last_tab_is_closed(supervised: Supervised) -> None:
    """A person did it: the browser is down, wanted no more, and no crash is counted."""
    supervised.start()
    gateway = supervised.gateway()
    browser = supervised.browser(gateway, "closed")
    pages = [info for info in browser.call("Target.getTargets")["targetInfos"] if info["type"] == "page"]
    browser.post("Target.closeTarget", targetId=pages[0]["targetId"])
    down = gateway.wait("down", "closed")
    assert (down["reason"], down["exit_code"]) == ("exited", 0)
    assert not (supervised.run / "want" / "closed").exists()
    supervised.browser(gateway, "closed")


def test_scratch_is_wiped_whenever_it_stops(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    gateway = supervised.gateway()
    supervised.browser(gateway, "scratch").visit(f"{pages.base}/set")
    folder = supervised.data / "projects" / "scratch"
    (folder / "downloads" / "kept.txt").write_text("kept")
    supervised.unwant("scratch")
    gateway.wait("down", "scratch")
    proc.until(lambda: not (folder / "profile").exists(), "the profile is gone")
    assert (folder / "downloads" / "kept.txt").read_text() == "kept"
    assert "login" not in supervised.browser(gateway, "scratch").visit(f"{pages.base}/who")
    supervised.signal(signal.SIGTERM)
    gateway.wait("down", "scratch")
    assert supervised.wait() == 0
    assert not (folder / "profile").exists()


def test_wipe_follows_no_link(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    gateway = supervised.gateway()
    supervised.browser(gateway, "wiped").visit(f"{pages.base}/set")
    outside = supervised.root / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    folder = supervised.data / "projects" / "wiped"
    (folder / "profile" / "Default" / "link").symlink_to(outside)
    gateway.send(cmd="wipe", project="wiped")
    gateway.wait("down", "wiped")
    assert gateway.wait("wiped", "wiped")["error"] is None
    assert not (folder / "profile").exists() and (outside / "kept").exists()
    assert not (supervised.run / "want" / "wiped").exists()
    # The profile, then the whole project, are links out of the data directory.
    (folder / "profile").symlink_to(outside)
    gateway.send(cmd="wipe", project="wiped")
    assert gateway.wait("wiped", "wiped")["error"] is None
    assert not (folder / "profile").is_symlink() and (outside / "kept").exists()
    (supervised.data / "projects" / "linked").symlink_to(outside)
    gateway.send(cmd="wipe", project="linked")
    assert gateway.wait("wiped", "linked")["error"]
    assert (outside / "kept").exists()
    assert "login" not in supervised.browser(gateway, "wiped").visit(f"{pages.base}/who")


def windows(supervised: Supervised, *command: str) -> str:
    """What a tool says about the windows of the supervisor's display."""
    environ = {"PATH": os.environ["PATH"], "DISPLAY": display(supervised), "XAUTHORITY": str(supervised.run / "xauthority")}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=20, check=True).stdout


def display(supervised: Supervised) -> str:
    """The name of its display, by the command line of its browsers' environment."""
    record = next(iter((supervised.run / "up").iterdir()))
    return str(supervised.up(record.name)["display"])


def top(supervised: Supervised) -> str:
    """The title of the topmost window, which must also be the active one."""
    stacking = windows(supervised, "xprop", "-root", "_NET_CLIENT_LIST_STACKING").strip().split(" ")[-1]
    active = windows(supervised, "xprop", "-root", "_NET_ACTIVE_WINDOW").strip().split(" ")[-1]
    assert int(stacking, 16) == int(active, 16), (stacking, active)
    return windows(supervised, "xprop", "-id", stacking, "_NET_WM_NAME").strip().split(" = ")[1].strip('"')


def raise_window(supervised: Supervised, gateway: Gateway, project: str) -> dict[str, object]:
    """Raise by the file, and give the event."""
    (supervised.run / "raise").write_text(project)
    gateway.send(cmd="look")
    event = gateway.wait("raised", project)
    assert not (supervised.run / "raise").exists()
    return event


def test_raise_matches_the_exact_window(supervised: Supervised) -> None:
    supervised.start()
    gateway = supervised.gateway()
    for project in ("a", "a.x", "ba", "A"):
        supervised.browser(gateway, project)
    for project in ("a.x", "a", "ba", "A", "a"):
        assert raise_window(supervised, gateway, project)["ok"] is True
        assert top(supervised) == f"[{project}]"
    for missing in ("x", "b", "a.", "a.xx"):
        event = raise_window(supervised, gateway, missing)
        assert event["ok"] is False and f"[{missing}]" in str(event["message"])
    assert raise_window(supervised, gateway, "../a")["ok"] is False
    assert top(supervised) == "[a]"


def test_a_new_window_takes_nothing_and_fills_the_screen(supervised: Supervised) -> None:
    supervised.start("--screen", "1024x700")
    gateway = supervised.gateway()
    supervised.browser(gateway, "first")
    proc.until(lambda: top(supervised) == "[first]", "the only window has the keyboard")
    second = supervised.browser(gateway, "second")
    session = second.page()
    proc.until(lambda: second.evaluate(session, "[outerWidth, outerHeight]") == [1024, 700], "the window fills the screen")
    assert top(supervised) == "[first]"
    supervised.unwant("first")
    gateway.wait("down", "first")
    assert raise_window(supervised, gateway, "second")["ok"] is True
    assert top(supervised) == "[second]"


def test_the_display_dies(supervised: Supervised, pages: Pages) -> None:
    """Browsers end with it; both come back, and that counts as no crash of theirs."""
    supervised.start()
    gateway = supervised.gateway()
    supervised.browser(gateway, "shown")
    for _ in range(3):
        server = next(row for row in proc.mentioning(str(supervised.run)) if row.cmdline.startswith("/usr/bin/Xvfb"))
        os.kill(server.pid, signal.SIGKILL)
        assert gateway.wait("down", "shown")["message"] == "the display was lost"
        gateway.wait("up", "shown")
    assert gateway.browsers["shown"].visit(f"{pages.base}/who")
    assert raise_window(supervised, gateway, "shown")["ok"] is True


def test_the_window_manager_dies(supervised: Supervised) -> None:
    supervised.start()
    gateway = supervised.gateway()
    browser = supervised.browser(gateway, "managed")
    manager = next(row for row in proc.mentioning(str(supervised.run)) if "openbox" in row.cmdline.split(" ")[0])
    os.kill(manager.pid, signal.SIGKILL)
    proc.until(
        lambda: any("openbox" in row.cmdline.split(" ")[0] and row.pid != manager.pid for row in proc.mentioning(str(supervised.run))), "another openbox runs"
    )
    proc.until(lambda: raise_window(supervised, gateway, "managed")["ok"], "windows can be raised again")
    assert proc.process(browser.pid) is not None


def test_the_display_of_a_killed_supervisor_is_ended(supervised: Supervised) -> None:
    supervised.start()
    supervised.want("left")
    supervised.up("left")
    old = {row.pid for row in proc.mentioning(str(supervised.run)) if "Xvfb" in row.cmdline.split(" ")[0]}
    assert len(old) == 1
    supervised.signal(signal.SIGKILL)
    supervised.wait()
    supervised.start()
    new = {row.pid for row in proc.mentioning(str(supervised.run)) if "Xvfb" in row.cmdline.split(" ")[0]}
    assert len(new) == 1 and not new & old


def test_many_browsers_stop_side_by_side(supervised: Supervised) -> None:
    """None of them closes when asked: one after another they would need the ladder's ten seconds each."""
    supervised.start()
    gateway = supervised.gateway(obedient=False)
    for number in range(3):
        supervised.browser(gateway, f"p{number}")
    supervised.signal(signal.SIGTERM)
    asked = {gateway.wait("close")["project"] for _ in range(3)}
    assert asked == {"p0", "p1", "p2"}, "all are asked before the first has ended"
    assert {gateway.wait("down")["project"] for _ in range(3)} == asked
    assert supervised.wait() == 0


def rest(supervised: Supervised) -> set[str]:
    """Every file outside of profiles, and leftovers in the shared temporary folder."""
    found = {str(path) for path in supervised.run.rglob("*")} | {str(path) for path in supervised.data.glob("projects/*/*")}
    return found | {str(path) for path in Path("/tmp").glob("*") if str(supervised.data) in str(path) or path.name.startswith("telebrowser-")}


@pytest.mark.timeout(400)
def test_many_starts_and_stops(supervised: Supervised) -> None:
    supervised.start()
    gateway = supervised.gateway()
    before: tuple[int, set[str], int] | None = None
    for number in range(CYCLES):
        supervised.browser(gateway, "cycle")
        supervised.unwant("cycle")
        gateway.send(cmd="look")
        gateway.wait("down", "cycle")
        if number == 2:
            before = (len(proc.descriptors(supervised.pid)), rest(supervised), len(proc.mentioning(str(supervised.root))))
    assert before is not None
    assert len(proc.descriptors(supervised.pid)) == before[0], proc.descriptors(supervised.pid)
    assert rest(supervised) == before[1]
    assert len(proc.mentioning(str(supervised.root))) == before[2]
    zombies = [pid for pid in os.listdir("/proc") if pid.isdigit() and f") Z {supervised.pid} " in proc.read_text(f"/proc/{pid}/stat")]
    assert zombies == []

"""A cookie of a moment ago survives every way to end a browser but SIGKILL of the browser itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import proc
from tests.support.pages import Pages

from .supervised import SOURCE, Gateway, Supervised

PROJECT = "cookies"

WALLS = {
    "no walls": {"TELEBROWSER_WALLS": "off"},
    "walls": {"TELEBROWSER_WALLS": "required", "TELEBROWSER_BROWSER_USER": "nobody"},
}

# A gateway that is killed: it has a browser, a reply of 30 MB on its way to it and a request half written.
DOOMED = """
import sys
from pathlib import Path
from tests.services.supervised import Gateway
gateway = Gateway(Path(sys.argv[1]))
gateway.wait("up", sys.argv[2])
browser = gateway.browsers[sys.argv[2]]
browser.visit(sys.argv[3])
session = browser.page()
browser.post("Runtime.evaluate", session, expression="'x'.repeat(30000000)", returnByValue=True)
while len(browser.buffer) < 100000:
    browser._read()
browser.send(b'{"id":9999,"method":"Brow')
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True, params=list(WALLS))
def walls(request: pytest.FixtureRequest, supervised: Supervised) -> None:
    """Every way is tried without walls, and inside walls with Chromium's own sandbox on."""
    supervised.root.chmod(0o711)
    supervised.more = WALLS[request.param]


def log_in(supervised: Supervised, pages: Pages) -> Gateway:
    """A gateway whose browser has just got the cookie."""
    gateway = supervised.gateway()
    supervised.browser(gateway, PROJECT).visit(f"{pages.base}/set")
    return gateway


def logged_in(supervised: Supervised, pages: Pages) -> bool:
    """Whether a new start of the browser still has the cookie."""
    gateway = supervised.gateway()
    return "login=yes" in supervised.browser(gateway, PROJECT).visit(f"{pages.base}/who")


def test_want_file_removed_with_a_gateway(supervised: Supervised, pages: Pages) -> None:
    gateway = log_in(supervised.start(), pages)
    supervised.unwant(PROJECT)
    assert gateway.wait("close", PROJECT)
    down = gateway.wait("down", PROJECT)
    assert (down["reason"], down["exit_code"]) == ("stopped", 0)
    assert not (supervised.run / "up" / PROJECT).exists()
    assert logged_in(supervised, pages)


def test_want_file_removed_without_a_gateway(supervised: Supervised, pages: Pages) -> None:
    gateway = log_in(supervised.start(), pages)
    pid = gateway.browsers[PROJECT].pid
    gateway.close()
    supervised.unwant(PROJECT)
    supervised.down(PROJECT)
    assert proc.process(pid) is None
    assert logged_in(supervised, pages)


def test_a_gateway_that_does_not_pass_the_request_on(supervised: Supervised, pages: Pages) -> None:
    """Ten seconds after it was asked, SIGINT ends the browser as cleanly."""
    supervised.start()
    gateway = supervised.gateway(obedient=False)
    supervised.browser(gateway, PROJECT).visit(f"{pages.base}/set")
    supervised.unwant(PROJECT)
    gateway.send(cmd="look")
    down = gateway.wait("down", PROJECT)
    assert (down["reason"], down["exit_code"]) == ("stopped", 0), "SIGINT reached Chromium itself, not what it runs in"
    assert "interrupted" in supervised.output()
    assert logged_in(supervised, pages)


def test_a_gateway_that_dies_while_it_was_asked(supervised: Supervised, pages: Pages) -> None:
    supervised.start()
    gateway = supervised.gateway(obedient=False)
    supervised.browser(gateway, PROJECT).visit(f"{pages.base}/set")
    supervised.unwant(PROJECT)
    gateway.send(cmd="look")
    gateway.wait("close", PROJECT)
    gateway.close()
    supervised.down(PROJECT)
    assert "interrupted" not in supervised.output(), "the supervisor must write the request itself"
    assert logged_in(supervised, pages)


def test_a_newer_gateway_is_asked_too(supervised: Supervised, pages: Pages) -> None:
    """The one that it replaces was asked and did nothing."""
    supervised.start()
    older = supervised.gateway(obedient=False)
    supervised.browser(older, PROJECT).visit(f"{pages.base}/set")
    supervised.unwant(PROJECT)
    older.send(cmd="look")
    older.wait("close", PROJECT)
    newer = supervised.gateway()
    newer.wait("close", PROJECT)
    assert newer.wait("down", PROJECT)["exit_code"] == 0
    assert "interrupted" not in supervised.output()
    assert logged_in(supervised, pages)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("with_gateway", [True, False])
def test_signals_to_the_supervisor(supervised: Supervised, pages: Pages, number: signal.Signals, with_gateway: bool) -> None:
    gateway = log_in(supervised.start(), pages)
    pid = gateway.browsers[PROJECT].pid
    if not with_gateway:
        gateway.close()
    supervised.signal(number)
    if with_gateway:
        assert gateway.wait("down", PROJECT)["reason"] == "stopped"
    assert supervised.wait() == 0
    assert proc.process(pid) is None
    assert not list((supervised.run / "up").iterdir())
    assert logged_in(supervised.start(), pages)


def test_sigkill_of_the_supervisor(supervised: Supervised, pages: Pages) -> None:
    """The gateway closes its ends when it loses the supervisor; then nobody holds the pipe, which is a clean exit."""
    gateway = log_in(supervised.start(), pages)
    pid = gateway.browsers[PROJECT].pid
    supervised.signal(signal.SIGKILL)
    supervised.wait()
    with pytest.raises(EOFError):
        gateway.receive()
    assert proc.process(pid) is not None, "the gateway's ends alone keep the browser"
    gateway.close()
    proc.until(lambda: proc.process(pid) is None, "the browser exits")
    assert logged_in(supervised.start(), pages)


def test_the_next_supervisor_waits_for_the_browsers_of_a_killed_one(supervised: Supervised, pages: Pages) -> None:
    """They are still on their profile when it starts."""
    gateway = log_in(supervised.start(), pages)
    pid = gateway.browsers[PROJECT].pid
    supervised.signal(signal.SIGKILL)
    supervised.wait()
    # Held back by signal, so that it certainly still lives when the next supervisor looks.
    os.kill(pid, signal.SIGSTOP)
    gateway.close()
    waiting = subprocess.Popen(["sh", "-c", f"sleep 2; kill -CONT {pid}"], cwd=supervised.root)
    supervised.start()
    waiting.wait()
    assert f"waiting for the browser of a former supervisor to end, pid {pid}" in supervised.output()
    assert supervised.output().count("waiting for the browser of a former supervisor") == 1, "what it runs in is no browser"
    assert proc.process(pid) is None
    assert logged_in(supervised, pages)


def test_sigkill_of_the_gateway(supervised: Supervised, pages: Pages) -> None:
    """The browser runs on; the next gateway takes it over in the middle of a reply and of a request."""
    supervised.start()
    supervised.want(PROJECT)
    pid = supervised.up(PROJECT)["pid"]
    doomed = subprocess.Popen(
        [sys.executable, "-c", DOOMED, str(supervised.run / "supervisor.sock"), PROJECT, f"{pages.base}/set"],
        env={**os.environ, "PYTHONPATH": f"{SOURCE}:{Path(__file__).parents[2]}"},
        cwd=supervised.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert doomed.stdout and doomed.stdin
    try:
        assert doomed.stdout.readline() == b"ready\n"
    finally:
        doomed.kill()
        doomed.wait()
        doomed.stdout.close()
        doomed.stdin.close()
    gateway = supervised.gateway()
    assert gateway.wait("up", PROJECT)["pid"] == pid
    browser = gateway.browsers[PROJECT]
    assert "login=yes" in browser.visit(f"{pages.base}/who")
    assert proc.process(pid) is not None
    supervised.unwant(PROJECT)
    gateway.wait("down", PROJECT)
    assert logged_in(supervised, pages)


def test_a_newer_gateway_replaces_the_older(supervised: Supervised, pages: Pages) -> None:
    older = log_in(supervised.start(), pages)
    newer = supervised.gateway()
    with pytest.raises(EOFError):
        older.receive()
    older.close()
    newer.wait("up", PROJECT)
    assert "login=yes" in newer.browsers[PROJECT].visit(f"{pages.base}/who")


def test_nobody_reads_for_a_while(supervised: Supervised, pages: Pages) -> None:
    """Without a gateway the supervisor drains the pipe: the browser does not keep in its memory what nobody reads."""
    gateway = log_in(supervised.start(), pages)
    browser = gateway.browsers[PROJECT]
    session = browser.page()
    browser.call("Runtime.enable", session)
    browser.post("Runtime.evaluate", session, expression=f"for (let i = 0; i < 400; i++) console.log('y'.repeat(100000)); fetch('{pages.base}/who?done')")
    gateway.close()
    proc.until(lambda: pages.asked("/who?done"), "the page is not held up")
    again = supervised.gateway()
    again.wait("up", PROJECT)
    browser = again.browsers[PROJECT]
    browser.call("Browser.getVersion")
    kept = [event for event in browser.events if event.get("method") == "Runtime.consoleAPICalled"]
    assert len(kept) < 200, "what was said before has not been kept for the next gateway"
    assert "login=yes" in browser.visit(f"{pages.base}/who")
    assert json.loads((supervised.run / "up" / PROJECT).read_text())["pid"] == again.browsers[PROJECT].pid

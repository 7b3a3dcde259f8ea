"""What a service manager runs after a supervisor that was killed: browsers end by themselves, with their cookies, and nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.support import proc
from tests.support.pages import Pages

from .supervised import SECONDS, Supervised

PROJECT = "aftermath"


def aftermath(supervised: Supervised, *options: str) -> subprocess.CompletedProcess[str]:
    """One run of it, with the supervisor's own environment."""
    command = [sys.executable, "-m", "telebrowser.supervisor.aftermath", "--data", str(supervised.data), *options]
    return subprocess.run(command, env=supervised.env(), cwd=supervised.root, capture_output=True, text=True, timeout=SECONDS)


def test_after_a_kill(supervised: Supervised, pages: Pages) -> None:
    """It comes back only when the browser and the display have ended, and what the browser had not written yet is there."""
    gateway = supervised.start().gateway()
    supervised.browser(gateway, PROJECT).visit(f"{pages.base}/set")
    pid = gateway.browsers[PROJECT].pid
    supervised.signal(signal.SIGKILL)
    supervised.wait()
    # Held back, so that it certainly still lives when it is looked for.
    os.kill(pid, signal.SIGSTOP)
    gateway.close()
    with subprocess.Popen(["sh", "-c", f"sleep 1; kill -CONT {pid}"], cwd=supervised.root):
        done = aftermath(supervised)
    assert done.returncode == 0, done.stderr
    assert f"waiting for the browser of a former supervisor to end, pid {pid}" in done.stderr
    assert proc.process(pid) is None
    assert not [row for row in proc.mentioning(str(supervised.run)) if "Xvfb" in row.cmdline.split(" ")[0]]
    gateway = supervised.start().gateway()
    assert "login=yes" in supervised.browser(gateway, PROJECT).visit(f"{pages.base}/who")


def test_after_an_orderly_stop(supervised: Supervised) -> None:
    """There is nothing to do, and it says nothing."""
    supervised.start()
    supervised.stop()
    done = aftermath(supervised)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bad_setting(supervised: Supervised) -> None:
    done = aftermath(supervised, "--walls", "perhaps")
    assert done.returncode == 3
    assert "--walls must be one of" in done.stderr

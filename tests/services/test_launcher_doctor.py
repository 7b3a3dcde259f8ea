"""`telebrowser doctor` against a small real gateway: what holds, what does not, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.launcher_gateway import Gateway
from tests.support import proc
from tests.support.stack import LAUNCHER, SECRET, free_port, request, token

STEPS = ["page", "initialize", "tools/list", "browser_navigate", "browser_snapshot", "browser_click", "browser_get_text", "browser_screenshot", "exit", "stop"]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One gateway for all tests here in which nothing is broken."""
    made = Gateway().start()
    yield made
    made.kill()


def doctor(home: Path, url: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the verb; the browser's data would lie in the test's home."""
    folder = home / ".config" / "telebrowser"
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)
        (folder / "secret").touch(mode=0o600)
        (folder / "secret").write_text(SECRET)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TELEBROWSER_URL": url, "TELEBROWSER_DATA": str(home / "data"), **environ}
    done = subprocess.run([LAUNCHER, "doctor", *arguments], env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150)
    assert done.stderr == "" and SECRET not in done.stdout and "/t/" not in done.stdout
    return done


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The checks of ``--json`` by name."""
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_all_holds(gateway: Gateway, home: Path) -> None:
    done = doctor(home, gateway.url)
    assert done.returncode == 0 and "✗" not in done.stdout, done.stdout
    names = ("Python", "secret", "Chromium", "Xvfb", "openbox", "fonts", "/dev/shm", "sandbox", "walls", "disk", "processes", "gateway", "browsers", "view")
    for name in names:
        assert f" {name} " in done.stdout, name
    assert all(" ms" in line for line in done.stdout.splitlines() if line[0] in "✓!✗")
    checks = outcomes(doctor(home, gateway.url, "--json"))
    assert checks["gateway"]["outcome"] == "passed" and gateway.url in checks["gateway"]["detail"]


def test_a_live_session(gateway: Gateway, home: Path) -> None:
    request(f"{gateway.url}/t/{token('doctor')}/start", "POST", b"")
    done = doctor(home, gateway.url, "--live")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines if line[0] == "✓"][-len(STEPS) :] == STEPS
    assert request(f"{gateway.url}/t/{token('doctor')}/status").json["state"] == "stopped", "the check's own browser is stopped"
    assert [row for row in proc.mentioning(str(home)) if "telebrowser" in row.cmdline] == []


@pytest.mark.parametrize(
    ("broken", "step", "said"),
    [
        ("no browser_click", "tools/list", "browser_click"),
        ("browser_snapshot", "browser_snapshot", "no ref"),
        ("browser_click", "browser_click", "[ELEMENT_NOT_CLICKABLE]"),
        ("browser_get_text", "browser_get_text", "did not change"),
        ("browser_screenshot", "browser_screenshot", "no image"),
    ],
)
def test_a_step_that_fails_is_named_and_the_browser_is_stopped(home: Path, broken: str, step: str, said: str) -> None:
    gateway = Gateway(broken=broken).start()
    try:
        done = doctor(home, gateway.url, "--live", "--json")
        assert done.returncode == 1
        checks = outcomes(done)
        assert checks[step]["outcome"] == "failed" and said in checks[step]["detail"] and checks[step]["advice"]
        assert [name for name in checks if name in STEPS] == [*STEPS[: STEPS.index(step) + 1], "stop"]
        assert checks["stop"]["outcome"] == "passed"
    finally:
        gateway.kill()


def test_a_gateway_that_is_away(home: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = doctor(home, url, "--live", "--json")
    checks = outcomes(done)
    assert done.returncode == 1 and checks["gateway"]["outcome"] == "failed" and url in checks["gateway"]["detail"] and "page" not in checks


def test_a_bad_secret_file(gateway: Gateway, home: Path) -> None:
    doctor(home, gateway.url)
    (home / ".config/telebrowser/secret").chmod(0o644)
    checks = outcomes(doctor(home, gateway.url, "--json"))
    assert checks["secret"]["outcome"] == "failed" and "chmod 600" in checks["secret"]["detail"]
    assert checks["gateway"]["outcome"] == "failed"
    (home / ".config/telebrowser/secret").chmod(0o600)
    (home / ".config/telebrowser").chmod(0o777)
    assert "chmod go-w" in outcomes(doctor(home, gateway.url, "--json"))["secret"]["advice"]


def test_missing_programs_and_bad_settings(gateway: Gateway, home: Path) -> None:
    checks = outcomes(doctor(home, gateway.url, "--json", CHROMIUM_PATH="/nowhere/chromium", PATH=str(home)))
    assert checks["Chromium"]["outcome"] == "failed" and "/nowhere/chromium" in checks["Chromium"]["detail"]
    assert checks["Xvfb"]["outcome"] == checks["openbox"]["outcome"] == "failed" and "apt-get install" in checks["Xvfb"]["advice"]
    assert checks["gateway"]["outcome"] == "passed", "the other checks go on"
    assert "LOG_LEVEL" in outcomes(doctor(home, gateway.url, "--json", LOG_LEVEL="loud"))["settings"]["detail"]


def test_a_stack_of_which_only_a_part_runs(gateway: Gateway, home: Path) -> None:
    run = home / "data" / "run"
    run.mkdir(parents=True)
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    (run / "stack.pid").write_text(json.dumps({"pid": os.getpid(), "start": int(start)}))
    (run / "gateway.pid").write_text(json.dumps({"pid": os.getpid(), "start": int(start) + 1}))
    check = outcomes(doctor(home, gateway.url, "--json"))["processes"]
    assert check["outcome"] == "failed" and "supervisor, gateway" in check["detail"] and "supervisor.log" in check["advice"]

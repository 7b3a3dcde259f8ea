"""The rungs of the stop ladder, with processes and browsers that mind less and less."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from telebrowser.processes import start_time
from telebrowser.supervisor import ladder


class Fake:
    """A browser that ends at one rung."""

    def __init__(self, ends_at: str) -> None:
        self.group = -1
        self.ends_at = ends_at
        self.steps: list[str] = []
        self.waited: list[float] = []

    def _step(self, name: str) -> None:
        self.steps.append(name)

    def ask(self) -> bool:
        self._step("ask")
        return self.ends_at != "nobody to ask"

    def interrupt(self) -> None:
        self._step("interrupt")

    async def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        return self.steps[-1] == self.ends_at or (self.ends_at == "nobody to ask" and self.steps[-1] == "interrupt")


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The groups that were killed; none really is."""
    groups: list[int] = []
    monkeypatch.setattr(ladder, "kill_group", groups.append)
    return groups


@pytest.mark.parametrize(
    ("ends_at", "result", "steps", "waited"),
    [
        ("ask", "closed", ["ask"], [10.0]),
        ("interrupt", "interrupted", ["ask", "interrupt"], [10.0, 5.0]),
        ("nobody to ask", "interrupted", ["ask", "interrupt"], [5.0]),
    ],
)
async def test_rungs(killed: list[int], ends_at: str, result: str, steps: list[str], waited: list[float]) -> None:
    fake = Fake(ends_at)
    assert await ladder.stop(fake) == result
    assert (fake.steps, fake.waited, killed) == (steps, waited, [])


async def test_the_last_rung_kills_the_group(killed: list[int]) -> None:
    fake = Fake("never")
    assert await ladder.stop(fake) == "stuck"
    assert killed == [fake.group] and fake.steps == ["ask", "interrupt"]


def test_sigterm_appears_nowhere_on_the_way_to_a_browser() -> None:
    import telebrowser.supervisor.browser
    import telebrowser.supervisor.life
    import telebrowser.supervisor.orphans

    for module in (ladder, telebrowser.supervisor.browser, telebrowser.supervisor.life, telebrowser.supervisor.orphans):
        with open(str(module.__file__)) as file:
            assert "signal.SIGTERM" not in file.read(), module


def sleeper() -> subprocess.Popen[bytes]:
    """A process to wait for."""
    return subprocess.Popen([sys.executable, "-S", "-c", "import time; print(1, flush=True); time.sleep(600)"], stdout=subprocess.PIPE, start_new_session=True)


async def test_waiting_for_a_process_that_is_no_child() -> None:
    process = sleeper()
    assert process.stdout
    with process.stdout:
        process.stdout.readline()
        start = start_time(process.pid)
        assert start is not None
        assert await ladder.wait_for_end(process.pid, start, 0.05) is False
        waiting = asyncio.create_task(ladder.wait_for_end(process.pid, start, 20))
        os.kill(process.pid, signal.SIGKILL)
        assert await waiting is True
        assert await ladder.wait_for_end(process.pid, start, 0) is True
        process.wait()


async def test_a_leftover_is_interrupted_when_it_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "CLOSE_SECONDS", 0.05)
    process = sleeper()
    assert process.stdout
    with process.stdout:
        process.stdout.readline()
        start = start_time(process.pid)
        assert start is not None
        assert await ladder.stop(ladder.Leftover(process.pid, start)) == "interrupted"
        process.wait()


async def test_another_process_with_the_same_pid_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "CLOSE_SECONDS", 0.05)
    process = sleeper()
    assert process.stdout
    with process.stdout:
        process.stdout.readline()
        assert await ladder.stop(ladder.Leftover(process.pid, 12345)) == "closed"
        assert process.poll() is None
        process.kill()
        process.wait()

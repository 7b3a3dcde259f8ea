"""A part of the embedded stack: started again, given up, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from telebrowser.local import part as module
from telebrowser.local.part import GivenUp, Part
from telebrowser.processes import group_members
from telebrowser.supervisor.children import Children


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    """The collector of child processes of this loop."""
    made = Children()
    made.install()
    yield made
    made.uninstall()


@pytest.fixture
def make(tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Part]:
    """Makes a part whose program is a shell script; every run of it adds a line to `runs`."""
    monkeypatch.setattr(module, "DELAYS", (0.0, 0.0, 0.0))

    def build(script: str) -> Part:
        line = f"echo $$ >>{tmp_path}/runs; {script}"
        return Part("thing", ["/bin/sh", "-c", line], {"PATH": os.environ["PATH"]}, tmp_path / "thing.log", children)

    return build


def runs(tmp_path: Path) -> list[int]:
    """The pids of all runs so far."""
    path = tmp_path / "runs"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


async def until(check: Callable[[], object]) -> None:
    """Let the loop run until the check holds."""
    async with asyncio.timeout(20):
        while True:
            if check():
                return
            await asyncio.sleep(0.01)


async def test_it_is_started_again_and_given_up_after_quick_ends(make: Callable[[str], Part], tmp_path: Path) -> None:
    with pytest.raises(GivenUp, match=r"^thing ended 4 times in a row right after its start: the reason$"):
        await make("echo telebrowser thing: the reason >&2; exit 1").keep()
    assert len(runs(tmp_path)) == 4
    assert (tmp_path / "thing.log").read_text().count("the reason") == 4


async def test_a_silent_end_is_named_by_its_code(make: Callable[[str], Part]) -> None:
    with pytest.raises(GivenUp, match=r"it ended with code 9$"):
        await make("exit 9").keep()


@pytest.mark.parametrize("code", [2, 3])
async def test_wrong_settings_are_not_tried_again(make: Callable[[str], Part], tmp_path: Path, code: int) -> None:
    (tmp_path / "thing.log").write_text("a line of a former run\n")
    with pytest.raises(GivenUp, match=r"^thing: no such port$"):
        await make(f"echo no such port; exit {code}").keep()
    assert len(runs(tmp_path)) == 1


async def test_an_end_after_a_long_run_starts_the_count_anew(make: Callable[[str], Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUICK_SECONDS", 0.0)
    part = make("exit 1")
    keeping = asyncio.create_task(part.keep())
    await until(lambda: len(runs(tmp_path)) > 8)
    assert not keeping.done()
    await part.stop(10)
    await keeping


async def test_stop_is_orderly(make: Callable[[str], Part], tmp_path: Path) -> None:
    part = make("trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done")
    keeping = asyncio.create_task(part.keep())
    await until(lambda: runs(tmp_path))
    await asyncio.sleep(0.1)
    await part.stop(10)
    await keeping
    assert "bye" in (tmp_path / "thing.log").read_text() and len(runs(tmp_path)) == 1


async def test_stop_kills_what_does_not_end(make: Callable[[str], Part], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    part = make("trap '' TERM; sleep 600; sleep 600")
    keeping = asyncio.create_task(part.keep())
    await until(lambda: runs(tmp_path))
    await asyncio.sleep(0.1)
    await part.stop(0.2)
    await keeping
    assert "did not end within" in caplog.text
    await until(lambda: not group_members(runs(tmp_path)[0]))


async def test_stop_while_it_waits_to_start_again(make: Callable[[str], Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAYS", (600.0,))
    part = make("exit 1")
    keeping = asyncio.create_task(part.keep())
    await until(lambda: runs(tmp_path))
    await until(lambda: part._child is not None and part._child.ended.done())
    await part.stop(10)
    await keeping
    assert len(runs(tmp_path)) == 1


async def test_stdin_is_closed_and_signals_are_as_new(make: Callable[[str], Part], tmp_path: Path) -> None:
    part = make("readlink /proc/self/fd/0; grep SigIgn /proc/self/status; exit 3")
    with pytest.raises(GivenUp):
        await part.keep()
    text = (tmp_path / "thing.log").read_text()
    assert "/dev/null" in text
    ignored = int(text.split("SigIgn:")[1].split()[0], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1)) and not ignored & (1 << (signal.SIGINT - 1))

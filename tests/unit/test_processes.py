"""Processes by /proc: identity, groups, pid files."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from telebrowser import processes


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own whose name is hard to parse, with a child."""
    script = (
        "import subprocess, sys, time; open('/proc/self/comm', 'w').write('a) Z (b'); subprocess.Popen(['sleep', '600']); print(1, flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-S", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout
    process.stdout.readline()
    yield process
    if process.poll() is None or processes.group_members(process.pid):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_a_process(sleeper: subprocess.Popen[bytes]) -> None:
    found = processes.read_stat(sleeper.pid)
    assert found is not None and found.alive
    assert (found.parent, found.group, found.session) == (os.getpid(), sleeper.pid, sleeper.pid)
    assert processes.start_time(sleeper.pid) == found.start and processes.is_running(sleeper.pid, found.start)
    assert not processes.is_running(sleeper.pid, found.start + 1)
    assert processes.command_line(sleeper.pid)[:2] == [sys.executable, "-S"]
    assert len(processes.group_members(sleeper.pid)) == 2
    assert sleeper.pid in {process.pid for process in processes.everyone()}


def test_a_zombie_has_ended(sleeper: subprocess.Popen[bytes]) -> None:
    start = processes.start_time(sleeper.pid)
    assert start is not None
    descriptor = processes.open_process(sleeper.pid, start)
    assert descriptor is not None
    assert processes.open_process(sleeper.pid, start + 1) is None
    os.kill(sleeper.pid, signal.SIGKILL)
    assert select.select([descriptor], [], [], 10)[0]
    os.close(descriptor)
    found = processes.read_stat(sleeper.pid)
    assert found is not None and not found.alive
    assert processes.start_time(sleeper.pid) is None and not processes.is_running(sleeper.pid, start)
    assert not processes.signal_process(sleeper.pid, start, signal.SIGTERM)
    sleeper.wait()
    assert processes.read_stat(sleeper.pid) is None and processes.command_line(sleeper.pid) == [] and processes.open_process(sleeper.pid, start) is None


def test_signals_reach_only_the_process_that_is_meant(sleeper: subprocess.Popen[bytes]) -> None:
    start = processes.start_time(sleeper.pid)
    assert start is not None
    assert not processes.signal_process(sleeper.pid, start - 1, signal.SIGKILL)
    assert sleeper.poll() is None
    assert processes.signal_process(sleeper.pid, start, signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL


def test_a_group_is_killed_whole(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.kill_group(sleeper.pid) is True
    sleeper.wait()
    while processes.group_members(sleeper.pid):
        pass
    assert processes.kill_group(sleeper.pid) is False


def test_pid_files(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = tmp_path / "pid"
    assert processes.read_pid_file(path) is None
    processes.write_pid_file(path)
    assert processes.read_pid_file(path) == (os.getpid(), processes.start_time(os.getpid()))
    processes.remove_pid_file(path)
    processes.remove_pid_file(path)
    assert not path.exists()
    start = processes.start_time(sleeper.pid)
    for record, alive in (
        ({"pid": sleeper.pid, "start": start}, True),
        ({"pid": sleeper.pid, "start": 1}, False),
        ({"pid": "1", "start": 1}, False),
        ([], False),
    ):
        path.write_text(json.dumps(record))
        assert (processes.read_pid_file(path) is not None) is alive, record
    processes.remove_pid_file(path)
    assert path.exists(), "the file of another process stays"

"""`telebrowser up`, `down` and the state of the embedded stack."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from .. import config, tokens
from ..datadir import DataDir
from ..errors import EXIT_CONFIG, EXIT_FAILED, EXIT_OK, EXIT_TIMEOUT, ConfigError, ExitError
from ..logs import last_line, open_log, rotate
from ..processes import open_process, read_pid_file, start_time
from . import parent, remains
from .health import base_url, is_ready
from .part import MAX_LOG_BYTES

UP_SECONDS = parent.READY_SECONDS + 60.0
DOWN_SECONDS = parent.SUPERVISOR_STOP_SECONDS + parent.GATEWAY_STOP_SECONDS + 10.0
POLL_SECONDS = 0.05


def up(settings: config.Settings, foreground: bool, out: TextIO) -> int:
    """Start the stack and print its address; when it runs already, only print it.

    Returns once the gateway answers and the supervisor is connected; with ``foreground``, once the stack has been stopped.
    Raises `ExitError` with one line when it cannot be started; nothing is left running then.
    """
    data = DataDir(settings.data)
    data.prepare(traversable=bool(settings.browser_user) and os.geteuid() == 0)
    with contextlib.ExitStack() as turn:
        # One `up` at a time: the next one finds what this one has started.
        turn.enter_context(_turn(data))
        running = _running(data)
        if running is not None:
            return _already(settings, running, out)
        # The parts of a parent that was killed hold the port and the profiles.
        _end_remains(data)
        settings = _complete(settings, data, out)
        if foreground:
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)

            def report(state: dict[str, Any]) -> None:
                _announce(state, out)
                turn.close()

            return parent.run(settings, report)
        state = _start_detached(settings, data)
    if state.get("state") != "ready":
        raise ExitError(EXIT_FAILED, str(state.get("reason") or f"the stack did not start; see {data.log_file(parent.NAME)}"))
    _announce(state, out)
    return EXIT_OK


def down(settings: config.Settings, out: TextIO) -> int:
    """End the stack, browsers first and cookies saved. Raises `ExitError` when something does not end."""
    data = DataDir(settings.data)
    if not data.root.exists():
        print("nothing runs", file=out)
        return EXIT_OK
    data.check_owner()
    found = read_pid_file(data.pid_file(parent.NAME))
    if found is not None and not asyncio.run(remains.end_process(*found, DOWN_SECONDS)):
        raise ExitError(EXIT_TIMEOUT, f"the stack's parent process {found[0]} does not end")
    was_running = found is not None or any(read_pid_file(data.pid_file(name)) for name in (config.SUPERVISOR, config.GATEWAY))
    _end_remains(data)
    print("stopped" if was_running else "nothing runs", file=out)
    return EXIT_OK


def status(settings: config.Settings) -> dict[str, Any]:
    """The state of the stack: ``state`` is ``stopped``, ``starting``, ``ready`` or ``failed``, with ``reason`` for the last."""
    data = DataDir(settings.data)
    pids = {name: (read_pid_file(data.pid_file(name)) or (None,))[0] for name in (parent.NAME, config.SUPERVISOR, config.GATEWAY)}
    recorded = parent.read_state(data)
    state = recorded.get("state", "stopped")
    if pids[parent.NAME] is None and state in ("starting", "ready"):
        state, recorded["reason"] = "failed", "its parent process was killed"
    return {
        "state": state,
        "url": recorded.get("url") if pids[parent.NAME] is not None else None,
        "people_url": recorded.get("people_url") if pids[parent.NAME] is not None else None,
        "reason": recorded.get("reason"),
        "started_at": recorded.get("started_at") if pids[parent.NAME] is not None else None,
        "data": str(data.root),
        "pids": pids,
    }


@contextlib.contextmanager
def _turn(data: DataDir) -> Iterator[None]:
    """Wait for this program's turn to start the stack. Raises `ExitError` after `UP_SECONDS`."""
    deadline = time.monotonic() + UP_SECONDS
    with open(data.run / "up.lock", "wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ExitError(EXIT_TIMEOUT, f"another `telebrowser up` on {data.root} does not end") from None
                # A lock cannot be waited for with a deadline.
                time.sleep(POLL_SECONDS)
        yield


def _running(data: DataDir) -> dict[str, Any] | None:
    """What the parent that runs has reported, once it is ready or has failed; None when there is none (any more)."""
    deadline = time.monotonic() + UP_SECONDS
    while read_pid_file(data.pid_file(parent.NAME)) is not None:
        state = parent.read_state(data)
        if state.get("state") == "ready":
            return state
        if time.monotonic() > deadline:
            raise ExitError(EXIT_TIMEOUT, f"the stack that runs on {data.root} does not become ready; end it with `telebrowser down`")
        # It was started by an `up` that is gone, or is just ending; nothing tells another process when.
        time.sleep(POLL_SECONDS)
    return None


def _end_remains(data: DataDir) -> None:
    left = remains.end_all(data)
    if left:
        raise ExitError(EXIT_TIMEOUT, f"these processes of a former stack do not end: {' '.join(map(str, left))}")
    remains.clear_wants(data)


def _already(settings: config.Settings, running: dict[str, Any], out: TextIO) -> int:
    default = config.BY_FIELD["port"].default
    if settings.port not in (0, default, running["port"]):
        raise ExitError(EXIT_CONFIG, f"the stack runs already at {running['url']}; run `telebrowser down` before it can use port {settings.port}")
    if not asyncio.run(is_ready(settings.bind, running["port"], DataDir(settings.data))):
        raise ExitError(EXIT_FAILED, f"the stack at {running['url']} does not answer; see the logs in {DataDir(settings.data).run}")
    _announce(running, out)
    return EXIT_OK


def _announce(state: dict[str, Any], out: TextIO) -> None:
    print(state["url"] if state.get("state") == "ready" else state.get("reason"), file=out, flush=True)


def _complete(settings: config.Settings, data: DataDir, out: TextIO) -> config.Settings:
    """The settings as the parts get them: absolute paths, a port that is free, a secret that exists."""
    changes: dict[str, Any] = {"data": str(data.root), "port": _free_port(settings.bind, settings.port)}
    if settings.people_port:
        # A second stack on a port of its own does not take the usual one of the first for its pages either.
        ordinary = settings.port == config.BY_FIELD["port"].default or settings.people_port != config.BY_FIELD["people_port"].default
        changes["people_port"] = _free_port(settings.bind, settings.people_port if ordinary else 0)
    for setting in config.SETTINGS:
        value = settings.as_dict().get(setting.field)
        if setting.kind == "path" and value is not None and setting.field != "data":
            changes[setting.field] = str(Path(value).absolute())
    path = tokens.ensure_secret(changes["secrets_dir"])
    secret = tokens.read_secret_file(path)
    if settings.as_dict().get("secret") is None and os.environ.get("TELEBROWSER_SECRET", "").strip().encode() not in (b"", secret):
        print(f"note: TELEBROWSER_SECRET differs from {path}, which is what the gateway accepts", file=out)
    return settings.replace(**changes)


def _free_port(bind: str, port: int) -> int:
    """``port`` if nothing listens there, a free one for 0. Raises `ExitError` or `ConfigError` with one line."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(bind or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except socket.gaierror:
        raise ConfigError(f"TELEBROWSER_BIND is no address of this machine: {bind}") from None
    except OSError as error:
        raise ExitError(EXIT_FAILED, f"the gateway cannot listen on {base_url(bind, port).removeprefix('http://')}: {error.strerror}") from None


def _start_detached(settings: config.Settings, data: DataDir) -> dict[str, Any]:
    """Start the parent in a session of its own and wait for its report; empty when it ended without one."""
    path = data.log_file(parent.NAME)
    rotate(path, MAX_LOG_BYTES)
    offset = path.stat().st_size if path.exists() else 0
    environ = {name: value for name, value in os.environ.items() if name != "TELEBROWSER_SECRET"}
    environ.update(config.to_environ(settings, *parent.PARTS))
    reading, writing = os.pipe()
    output = open_log(path)

    def place() -> None:
        os.dup2(writing, parent.REPORT_DESCRIPTOR)

    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "telebrowser.local.parent"],
            env=environ,
            cwd=data.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=place,
            close_fds=False,
        )
    finally:
        os.close(output)
        os.close(writing)
    # It stays when this program ends: nobody here waits for it.
    process.returncode = 0
    try:
        line = _read_report(reading)
    finally:
        os.close(reading)
    if line:
        state: dict[str, Any] = json.loads(line)
        _wait_if_failed(process.pid, state)
        return state
    return {"state": "failed", "reason": last_line(path, offset)}


def _read_report(descriptor: int) -> bytes:
    deadline = time.monotonic() + UP_SECONDS
    text = b""
    while b"\n" not in text:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(descriptor, 4096) if ready else b""
        if not chunk:
            break
        text += chunk
    return text


def _wait_if_failed(pid: int, state: dict[str, Any]) -> None:
    """A parent that gave up ends what it had started; `up` says so only when that is done."""
    if state.get("state") == "ready":
        return
    start = start_time(pid)
    descriptor = None if start is None else open_process(pid, start)
    if descriptor is not None:
        select.select([descriptor], [], [], DOWN_SECONDS)
        os.close(descriptor)

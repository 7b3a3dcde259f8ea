"""The data directory: where everything lies, who may own it, and how its files are written.

Used by supervisor, gateway and the embedded stack alike; standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import EXIT_CONFIG, ConfigError, ExitError

PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SCRATCH = "scratch"
# sun_path holds 108 bytes with its terminating NUL.
MAX_SOCKET_PATH = 107


def is_disk_full(error: OSError) -> bool:
    """Whether ``error`` says that there is no room left."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


class DataDir:
    """Paths below one data directory. Nothing is created before `prepare`."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).absolute()
        self.projects = self.root / "projects"
        self.run = self.root / "run"
        self.want = self.run / "want"
        self.up = self.run / "up"
        self.raise_file = self.run / "raise"
        self.sessions = self.run / "sessions"
        self.audit = self.root / "audit"
        self.handoffs = self.root / "handoffs"
        self.socket = self.run / "supervisor.sock"
        self.heartbeat = self.run / "heartbeat"

    def project(self, name: str) -> Path:
        """The folder of a project."""
        return self.projects / name

    def profile(self, name: str) -> Path:
        """Chromium's user data directory of a project."""
        return self.projects / name / "profile"

    def downloads(self, name: str) -> Path:
        """Where downloads of a project land."""
        return self.projects / name / "downloads"

    def uploads(self, name: str) -> Path:
        """Files that agents sent for file inputs of a project."""
        return self.projects / name / "uploads"

    def want_file(self, name: str) -> Path:
        """Exists while the browser of the project is wanted."""
        return self.want / name

    def up_file(self, name: str) -> Path:
        """Exists while the browser of the project answers."""
        return self.up / name

    def pid_file(self, program: str) -> Path:
        """The pid file of ``stack``, ``supervisor`` or ``gateway``."""
        return self.run / f"{program}.pid"

    def log_file(self, program: str) -> Path:
        """The log of ``stack``, ``supervisor``, ``gateway`` or ``chromium-<project>``."""
        return self.run / f"{program}.log"

    def prepare(self, *, traversable: bool = False) -> None:
        """Create the directory and its fixed folders, closed to everyone else.

        ``traversable`` lets other users pass through (not list) the way to the projects: browsers that run
        as a user of their own need it. Raises `ConfigError` with one line when the directory belongs to
        somebody else, cannot be written, or its path is too long for a socket.
        """
        if len(os.fsencode(self.socket)) > MAX_SOCKET_PATH:
            raise ConfigError(f"the path of the data directory {self.root} is too long: a socket below it may have {MAX_SOCKET_PATH} bytes")
        try:
            self._prepare(0o711 if traversable else 0o700)
        except OSError as error:
            raise ConfigError(f"the data directory {self.root} cannot be used: {error.strerror}: {error.filename or self.root}") from None

    def _prepare(self, passage: int) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.check_owner()
        os.chmod(self.root, passage)
        for folder in (self.projects, self.run, self.want, self.up, self.sessions, self.audit):
            folder.mkdir(mode=0o700, exist_ok=True)
        os.chmod(self.projects, passage)
        probe = self.run / f".probe-{os.getpid()}"
        probe.write_bytes(b"x")
        probe.unlink()

    def lock(self, program: str) -> int:
        """Hold the directory for ``program`` until the descriptor is closed, however the process ends.

        Raises `ExitError` when another one of that program has it.
        """
        descriptor = os.open(self.run / f"{program}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise ExitError(EXIT_CONFIG, f"another {program} runs on the data directory {self.root}") from None
        return descriptor

    def check_owner(self) -> None:
        """Raise `ConfigError` unless the directory belongs to the user who runs this program."""
        try:
            info = os.stat(self.root)
        except OSError as error:
            raise ConfigError(f"the data directory {self.root} cannot be used: {error.strerror}") from None
        if not stat.S_ISDIR(info.st_mode):
            raise ConfigError(f"the data directory {self.root} is not a directory")
        if info.st_uid != os.geteuid():
            raise ConfigError(f"the data directory {self.root} belongs to user {info.st_uid}, but this program runs as user {os.geteuid()}")


def write_atomic(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace ``path`` by ``content`` in one step; a reader sees the old or the new file, never a part. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object by `write_atomic`."""
    write_atomic(path, json.dumps(value, separators=(",", ":")).encode() + b"\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in ``path``; None when it is absent or not one."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None

"""Project → token, and back.

A token is ``<project>.<hex HMAC-SHA256(secret, project)>``. The launcher derives it, the gateway verifies it;
both import only the standard library here, because both must start fast. No message ever holds a secret
or a token.
"""

from __future__ import annotations

import hmac
import os
import stat
import time
from collections.abc import Callable, Iterable

from . import project as projects
from .errors import ConfigError

MIN_SECRET_BYTES = 16
MAX_SECRET_BYTES = 4096
SECRET = "secret"
PREVIOUS = "secret.previous"
DIGEST_LENGTH = 64
CHECK_SECONDS = 1.0
OPERATOR = "operator login"
"""Stands where a project's name does in its token; with its blank it is no project's name."""


def derive(secret: bytes, project: str) -> str:
    """The token of ``project``. Raises `ValueError` for a name that `project.is_valid` refuses."""
    if not projects.is_valid(project):
        raise ValueError(f"not a project name: {project!r}")
    return f"{project}.{_digest(secret, project)}"


def verify(token: str, secrets: Iterable[bytes]) -> str | None:
    """The project that ``token`` opens, or None.

    Every secret is tried and the comparison is constant-time, for a malformed token too, so that the time
    of an answer says nothing about which projects or secrets exist.
    """
    name, _, digest = token.rpartition(".")
    well_formed = projects.is_valid(name) and len(digest) == DIGEST_LENGTH and digest.isascii()
    checked = name if well_formed else projects.SCRATCH
    given = digest if well_formed else "0" * DIGEST_LENGTH
    found = False
    for secret in secrets:
        found |= hmac.compare_digest(_digest(secret, checked), given)
    return name if found and well_formed else None


def derive_operator(secret: bytes) -> str:
    """What proves to the gateway that its holder has the secret itself, and not only a project's token."""
    return _digest(secret, OPERATOR)


def verify_operator(token: str, secrets: Iterable[bytes]) -> bool:
    """Whether ``token`` is what `derive_operator` makes of one of the secrets, in constant time."""
    given = token if len(token) == DIGEST_LENGTH and token.isascii() else "0" * DIGEST_LENGTH
    found = False
    for secret in secrets:
        found |= hmac.compare_digest(_digest(secret, OPERATOR), given)
    return found


def _digest(secret: bytes, project: str) -> str:
    return hmac.digest(secret, project.encode("ascii"), "sha256").hex()


def check_secret(secret: bytes, source: str) -> bytes:
    """``secret`` without its trailing newline; raises `ConfigError` naming ``source`` when it is empty, short or too long."""
    secret = secret.rstrip(b"\r\n")
    if len(secret) < MIN_SECRET_BYTES:
        raise ConfigError(f"{source} holds {len(secret) or 'no'} bytes; a secret needs at least {MIN_SECRET_BYTES}")
    if len(secret) > MAX_SECRET_BYTES:
        raise ConfigError(f"{source} is larger than {MAX_SECRET_BYTES} bytes; it cannot be a secret")
    return secret


def read_private_file(path: str, what: str) -> bytes:
    """The bytes of a regular file that only its owner may read; ``what`` names it in the `ConfigError` otherwise."""
    try:
        # Non-blocking, so that a pipe in the place of the file is an error and not a wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"cannot read the {what} {path}: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"the {what} {path} is not a regular file")
        if status.st_mode & 0o077:
            raise ConfigError(f"the {what} {path} can be used by others (mode {stat.S_IMODE(status.st_mode):04o}); run: chmod 600 {path}")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(1 << 20)
    except OSError as error:
        raise ConfigError(f"cannot read the {what} {path}: {error.strerror}") from None
    finally:
        os.close(descriptor)


def read_secret_file(path: str) -> bytes:
    """The secret in ``path``. Raises `ConfigError` when it is missing, readable by others, empty or short."""
    return check_secret(read_private_file(path, "secret file"), f"the secret file {path}")


def ensure_secret(directory: str) -> str:
    """The path of the secret in ``directory``; makes a random one (64 hex digits, mode 0600) when there is none.

    Raises `ConfigError` when the directory cannot be made or written. Two callers at once agree on one secret.
    """
    path = os.path.join(directory, SECRET)
    if os.path.lexists(path):
        return path
    temporary = os.path.join(directory, f".secret.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, os.urandom(32).hex().encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    except OSError as error:
        raise ConfigError(f"cannot make a secret in {directory}: {error.strerror}") from None
    return path


class SecretStore:
    """The secrets that a gateway accepts, read from a directory and read again when a rotation changes them.

    The directory holds ``secret`` and, after a rotation, ``secret.previous``, which is accepted until its
    modification time plus ``grace_seconds``. When a file becomes unreadable later, the last good secret stays in
    use and `problem` says why, so that a slip of an operator does not end every session at once.
    """

    def __init__(
        self,
        directory: str,
        grace_seconds: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.directory = directory
        self.grace_seconds = grace_seconds
        self.problem: str | None = None
        self._monotonic = monotonic
        self._wall = wall
        self._checked_at: float | None = None
        self._stamp: tuple[object, object] | None = None
        self._secret: bytes | None = None
        self._previous: tuple[bytes, float] | None = None

    def current(self) -> list[bytes]:
        """The secrets in force, the newest first. Looks at the files at most once a second; raises `ConfigError` while none was ever readable."""
        now = self._monotonic()
        if self._secret is None or self._checked_at is None or now - self._checked_at >= CHECK_SECONDS:
            self._checked_at = now
            self._refresh()
        assert self._secret is not None
        secrets = [self._secret]
        if self._previous is not None and self._wall() < self._previous[1]:
            secrets.append(self._previous[0])
        return secrets

    def _refresh(self) -> None:
        paths = (os.path.join(self.directory, SECRET), os.path.join(self.directory, PREVIOUS))
        stamp = (_stamp(paths[0]), _stamp(paths[1]))
        if stamp == self._stamp:
            return
        problem = None
        try:
            self._secret = read_secret_file(paths[0])
        except ConfigError as error:
            if self._secret is None:
                raise
            problem = str(error)
        if stamp[1] is None:
            self._previous = None
        else:
            try:
                self._previous = (read_secret_file(paths[1]), os.stat(paths[1]).st_mtime + self.grace_seconds)
            except (ConfigError, OSError) as error:
                self._previous = None
                problem = problem or str(error)
        self._stamp = stamp
        self.problem = problem


def _stamp(path: str) -> tuple[int, int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode)

"""The folders of a project on disk: made, handed to the browser's user, unlocked, wiped.

When the supervisor is root and browsers run as a user of their own, that user owns the project's folder and
could plant links in it. So everything inside is done with that user's rights (`acting_as`), never with root's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
import re
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..datadir import DataDir, write_atomic
from ..errors import ConfigError, TelebrowserError
from ..processes import ProcessStat, command_line, everyone
from .children import Identity

SINGLETONS = ("SingletonLock", "SingletonSocket", "SingletonCookie")
# Chromium binds a socket below TMPDIR: /org.chromium.Chromium.XXXXXX/SingletonSocket, in 107 bytes at most.
MAX_TEMPORARY_PATH = 60
MIN_FREE_BYTES = 32 << 20
# An option that every process of bubblewrap has; the browser's whole command line follows in theirs.
WALLS_MARK = "--unshare-user"
FOLDERS = ("profile", "downloads", "uploads", "home")
HOME_FOLDERS = (".config", ".cache", ".local", ".local/share", ".local/state", ".run")


def find_identity(name: str) -> Identity:
    """The user ``name``. Raises `ConfigError` when there is none, or it is root."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ConfigError(f"TELEBROWSER_BROWSER_USER names a user that does not exist: {name!r}") from None
    if entry.pw_uid == 0:
        raise ConfigError("TELEBROWSER_BROWSER_USER must be an unprivileged user; it is root")
    return Identity(entry.pw_name, entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist(entry.pw_name, entry.pw_gid)))


@contextlib.contextmanager
def acting_as(identity: Identity | None) -> Iterator[None]:
    """Run the block (which must not await) with the file rights of ``identity``; None changes nothing."""
    if identity is None:
        yield
        return
    groups = os.getgroups()
    group, user = os.getegid(), os.geteuid()
    os.setgroups(list(identity.groups))
    os.setegid(identity.gid)
    os.seteuid(identity.uid)
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)
        os.setgroups(groups)


def check_reachable(root: Path, identity: Identity) -> None:
    """Raise `ConfigError` when the user cannot pass through every folder on the way to ``root``."""
    with acting_as(identity):
        for folder in [*reversed(root.parents), root]:
            if not os.access(folder, os.X_OK, effective_ids=True):
                raise ConfigError(f"TELEBROWSER_BROWSER_USER {identity.name} cannot reach the data directory {root}: no passage through {folder}")


class Profile:
    """The folders of one project. ``bar``: its windows have a bar of the window manager's."""

    def __init__(self, data: DataDir, project: str, identity: Identity | None, *, bar: bool = False) -> None:
        self.project = project
        self._bar = bar
        self.identity = identity
        self.folder = data.project(project)
        self.path = data.profile(project)
        self.downloads = data.downloads(project)
        self.uploads = data.uploads(project)
        self.home = self.folder / "home"
        self._projects = data.projects
        inside = self.folder / "tmp"
        digest = hashlib.sha256(os.fsencode(inside)).hexdigest()[:16]
        # A name of our own directly below /tmp when the data directory lies too deep for Chromium's socket.
        self.temporary = inside if len(os.fsencode(inside)) <= MAX_TEMPORARY_PATH else Path(f"/tmp/telebrowser-{digest}")

    def prepare(self) -> None:
        """Make the folders, preferences and an empty temporary folder. Raises OSError, or `TelebrowserError` DISK_FULL."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._own_folder()
        self._check_room()
        with acting_as(self.identity):
            for folder in [self.folder / name for name in FOLDERS] + [self.home / name for name in HOME_FOLDERS]:
                folder.mkdir(mode=0o700, exist_ok=True)
                if folder.is_symlink():
                    raise OSError(0, f"{folder} is a link")
            os.chmod(self.path, 0o700)
            self._reset_temporary()
            self._write_preferences()

    def _own_folder(self) -> None:
        if os.path.islink(self.folder):
            raise OSError(0, f"{self.folder} is a link")
        user, group = (self.identity.uid, self.identity.gid) if self.identity is not None else (os.geteuid(), os.getegid())
        if os.geteuid() != 0 or os.stat(self.folder).st_uid == user:
            return
        # Made before a user was configured, or while another one was. Links are not followed, whoever planted them.
        for folder, names, files, descriptor in os.fwalk(self.folder, topdown=False, follow_symlinks=False):
            del folder
            for name in [*names, *files]:
                os.chown(name, user, group, dir_fd=descriptor, follow_symlinks=False)
        os.chown(self.folder, user, group, follow_symlinks=False)

    def _check_room(self) -> None:
        info = os.statvfs(self.folder)
        free = info.f_bavail * info.f_frsize
        if free < MIN_FREE_BYTES:
            raise TelebrowserError("DISK_FULL", f"the disk that holds {self.folder} has {free >> 20} MiB left; a browser needs {MIN_FREE_BYTES >> 20}")

    def _reset_temporary(self) -> None:
        self._remove_temporary()
        self.temporary.mkdir(mode=0o700)

    def _remove_temporary(self) -> None:
        if self.temporary.is_symlink():
            self.temporary.unlink()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.temporary)

    def clear_temporary(self) -> None:
        """Remove the temporary folder after the browser has ended."""
        with acting_as(self.identity), contextlib.suppress(OSError):
            self._remove_temporary()

    def write_file(self, path: Path, content: bytes) -> None:
        """Write a file inside the project's folder, with the rights of its owner. Raises OSError."""
        with acting_as(self.identity):
            write_atomic(path, content)

    def _write_preferences(self) -> None:
        """Downloads go to the project's folder without asking; nothing offers to keep passwords or to sign in."""
        path = self.path / "Default" / "Preferences"
        if path.parent.is_symlink() or path.is_symlink():
            # The browser itself may have planted it, to have somebody else's preferences read or changed.
            return
        try:
            preferences = json.loads(path.read_bytes())
        except FileNotFoundError:
            preferences = {}
        except ValueError:
            preferences = None
        if not isinstance(preferences, dict):
            # Chromium replaces a broken file by itself.
            return
        changed = json.loads(json.dumps(preferences))
        _merge(changed, self._preferences())
        if changed != preferences:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomic(path, json.dumps(changed, separators=(",", ":")).encode())

    def _preferences(self) -> dict[str, Any]:
        return {
            "download": {"default_directory": str(self.downloads), "prompt_for_download": False, "directory_upgrade": True},
            "savefile": {"default_directory": str(self.downloads)},
            "credentials_enable_service": False,
            # A window that draws its own frame gets no bar.
            "browser": {"custom_chrome_frame": not self._bar},
            "profile": {"password_manager_enabled": False},
            "signin": {"allowed": False, "allowed_on_next_startup": False},
        }

    def holders(self) -> list[ProcessStat]:
        """The live main processes (Chromium's own children excluded) that run with this profile, by their options or by Chromium's lock."""
        wanted = os.path.realpath(self.path)
        owner = self._lock_owner()
        found = []
        for process in everyone():
            options = _options(process.pid)
            if "--type" in options or WALLS_MARK in options:
                continue
            folder = options.get("--user-data-dir")
            if folder is None:
                held = process.pid == owner and "chrom" in options[""]
            else:
                claimed = [_absolute(process.pid, text) for text in (folder, folder.partition(" ")[0]) if text]
                held = any(os.path.realpath(path) == wanted and self._is_seen(process.pid, path) for path in claimed)
            if held:
                found.append(process)
        return found

    def _is_seen(self, pid: int, path: str) -> bool:
        """Whether ``path`` is this profile for the process: one inside the walls of another project can only claim that."""
        try:
            return os.path.samestat(os.stat(f"/proc/{pid}/root{path}"), os.stat(self.path))
        except FileNotFoundError:
            # Also when the process has just ended.
            return False
        except OSError:
            return True

    def is_ours(self, process: ProcessStat) -> bool:
        """Whether a supervisor started this holder: its window name and the debugging pipe give it away."""
        options = _options(process.pid)
        window = options.get("--window-name", "").partition(" ")[0]
        return "--remote-debugging-pipe" in options and window == f"[{self.project}]" and process.group == process.pid

    def _lock_owner(self) -> int | None:
        """The pid in Chromium's lock, when the lock is one of this host."""
        try:
            host, _, pid = os.readlink(self.path / "SingletonLock").rpartition("-")
        except OSError:
            return None
        return int(pid) if host == socket.gethostname() and pid.isdigit() else None

    def unlock(self) -> None:
        """Remove what a dead browser (perhaps on another host name) left as a lock. Only after `holders` came back empty."""
        with acting_as(self.identity):
            for name in SINGLETONS:
                with contextlib.suppress(FileNotFoundError):
                    (self.path / name).unlink()

    def wipe(self) -> None:
        """Delete all that the browser keeps (profile, caches, temporary files), not the downloads and uploads.

        Links are removed, never followed; a project's folder that is itself a link is refused. Raises OSError.
        """
        projects = os.open(self._projects, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            folder = os.open(self.project, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=projects)
        except FileNotFoundError:
            return
        finally:
            os.close(projects)
        try:
            with acting_as(self.identity):
                for name in ("profile", "home"):
                    _remove_entry(name, folder)
                self._remove_temporary()
        finally:
            os.close(folder)


def _remove_entry(name: str, folder: int) -> None:
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(info.st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def _options(pid: int) -> dict[str, str]:
    """The options of a process, by name; the program under the empty name.

    Chromium sometimes replaces its arguments by one text with blanks between them. Then an option's value may be followed by
    a word that is no option, after one blank.
    """
    arguments = command_line(pid)
    if len(arguments) == 1:
        arguments = re.split(r" (?=--)", arguments[0])
    options = {"": arguments[0] if arguments else ""}
    for argument in arguments[1:]:
        if argument.startswith("--"):
            name, _, value = argument.partition("=")
            options[name] = value
    return options


def _absolute(pid: int, path: str) -> str:
    """A path as the process means it."""
    try:
        return os.path.join(os.readlink(f"/proc/{pid}/cwd"), path)
    except OSError:
        return path


def _merge(target: dict[str, Any], values: dict[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value

"""Which files of the agent's machine a tool call may name, and opening them so that what was checked is what is used."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from .. import beneath
from ..datadir import is_disk_full
from ..errors import TelebrowserError

INSIDE = "Use a path below the working directory, or below a root that the client declares."


class Source(NamedTuple):
    """A file to be sent: a descriptor for reading, which its owner closes, its absolute path, and its size in bytes."""

    descriptor: int
    path: str
    size: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return os.path.basename(self.path)


class Target(NamedTuple):
    """Where a new file is to be put: ``parts`` below the folder ``root``; ``shown`` is the path as the agent gave it."""

    root: str
    parts: tuple[str, ...]
    shown: str

    def open(self) -> beneath.Arrival:
        """A hidden file beside the place; missing folders are created. Raises `TelebrowserError`."""
        try:
            return beneath.Arrival(beneath.open_folder(self.root, self.parts[:-1], make=0o777))
        except OSError as error:
            raise refusal(self.shown, error, "cannot be written") from None

    def publish(self, arrival: beneath.Arrival) -> None:
        """Give the file its name in one step; another file of that name stays. Raises `TelebrowserError`."""
        try:
            arrival.publish(self.parts[-1], replace=False)
        except FileExistsError:
            raise _exists(self.shown) from None
        except OSError as error:
            raise refusal(self.shown, error, "cannot be written") from None


class Roots:
    """The folders below which paths may lie: the working directory first, then what the client declares."""

    def __init__(self, cwd: str, others: Iterable[str] = ()) -> None:
        # Of the file system's root everything lies below: that is no confinement.
        self._cwd = cwd
        self._folders = [folder for folder in dict.fromkeys([cwd, *others]) if os.path.realpath(folder) != "/"]

    def find(self, path: str) -> tuple[str, tuple[str, ...]]:
        """``path`` as a folder of these and the parts below it. Raises `TelebrowserError` UNSAFE_PATH."""
        if not path or "\0" in path:
            raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} is not a path", INSIDE)
        if not self._folders:
            raise TelebrowserError(
                "UNSAFE_PATH", "This launcher was started in /, which is no project, and the client declares no roots", "Start it in the project's directory."
            )
        if not path.startswith("/"):
            parts = beneath.plain_parts(path)
            if parts is None or self._cwd not in self._folders:
                raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} leads out of the working directory", INSIDE)
            return self._cwd, parts
        for folder in self._folders:
            for spelt in dict.fromkeys((folder, os.path.realpath(folder))):
                if path.startswith(spelt.rstrip("/") + "/"):
                    parts = beneath.plain_parts(path[len(spelt) :])
                    if parts is not None:
                        return folder, parts
        raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} is not below {' or '.join(self._folders[:4])}", INSIDE)

    def source(self, path: str) -> Source:
        """Open a file for reading. Raises `TelebrowserError` NOT_FOUND or UNSAFE_PATH."""
        root, parts = self.find(path)
        try:
            descriptor = beneath.open_file(root, parts)
        except OSError as error:
            raise refusal(path, error, "cannot be read") from None
        return Source(descriptor, os.path.join(root, *parts), os.fstat(descriptor).st_size)

    def target(self, path: str) -> Target:
        """Where a new file may be put. Checked before the call, so that a bad path costs nothing. Raises `TelebrowserError` UNSAFE_PATH."""
        root, parts = self.find(path)
        if path.endswith("/"):
            raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} names a folder", "Name a file.")
        if any(part.startswith(".") for part in parts):
            raise TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} is hidden: programs read such files unasked", "Use a name without a leading dot.")
        try:
            folder = beneath.open_folder(root, parts[:-1])
        except FileNotFoundError:
            return Target(root, parts, path)
        except OSError as error:
            raise refusal(path, error, "cannot be written") from None
        try:
            os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return Target(root, parts, path)
        finally:
            os.close(folder)
        raise _exists(path)


def declared(listed: object) -> list[str]:
    """The folders in the answer to ``roots/list``; what is no ``file:`` address of this machine is left out."""
    found = []
    roots = listed.get("roots") if isinstance(listed, dict) else None
    for root in roots if isinstance(roots, list) else ():
        with contextlib.suppress(ValueError):
            parts = urlsplit(str(root.get("uri", ""))) if isinstance(root, dict) else urlsplit("")
            folder = unquote(parts.path)
            if parts.scheme == "file" and parts.netloc in ("", "localhost") and folder.startswith("/") and "\0" not in folder:
                found.append(folder.rstrip("/") or "/")
    return found


def _exists(path: str) -> TelebrowserError:
    return TelebrowserError("UNSAFE_PATH", f"{path[:200]!r} exists already and was left alone", "Use another name, or remove it first.")


def refusal(path: str, error: OSError, what: str) -> TelebrowserError:
    """The error for a path that the file system refused."""
    shown = f"{path[:200]!r}"
    if isinstance(error, FileNotFoundError):
        return TelebrowserError("NOT_FOUND", f"There is no file {shown}", "Check the path; a relative one begins at the working directory.")
    if beneath.is_link_error(error):
        return TelebrowserError("UNSAFE_PATH", f"{shown} leads through a symbolic link", "Use the real path.")
    if error.errno in (errno.EINVAL, errno.EISDIR, errno.ENXIO):
        return TelebrowserError("UNSAFE_PATH", f"{shown} is not a regular file", "Name a file.")
    if is_disk_full(error):
        return TelebrowserError("DISK_FULL", f"There is no room for {shown}")
    return TelebrowserError("UNSAFE_PATH", f"{shown} {what}: {error.strerror}", "Check the path and its permissions.")

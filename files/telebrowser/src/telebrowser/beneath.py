"""Files below a folder, reached part by part so that no link on the way is followed, and written whole or not at all.

A path that is checked first and opened later can be exchanged in between. Here each part is opened from the folder
before it with O_NOFOLLOW, so what was checked is what is used. Standard library only: gateway and launcher share it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Sequence
from types import TracebackType

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK opening a named pipe would wait for its other end.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
MAX_NAME_BYTES = 255


def plain_parts(path: str) -> tuple[str, ...] | None:
    """The parts of a relative path; None when one of them is ``..``, or when it holds a NUL or names nothing."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    return None if not parts or ".." in parts or "\0" in path or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts) else parts


def is_link_error(error: OSError) -> bool:
    """Whether a step failed because a link stood in the way."""
    return error.errno in (errno.ELOOP, errno.EMLINK)


def open_folder(root: str | os.PathLike[str] | int, parts: Sequence[str] = (), *, make: int | None = None) -> int:
    """A descriptor of the folder ``parts`` below ``root``, a folder's path (links in it are followed) or descriptor.

    ``make`` creates what is missing, with these permissions less the umask. Raises OSError: ELOOP for a link on the way.
    """
    at = os.dup(root) if isinstance(root, int) else os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make is not None:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, make, dir_fd=at)
            below = _open(part, FOLDER, at)
            os.close(at)
            at = below
    except BaseException:
        os.close(at)
        raise
    return at


def open_file(root: str | os.PathLike[str] | int, parts: Sequence[str]) -> int:
    """A descriptor for reading of the regular file ``parts`` below ``root``. Raises OSError; EINVAL for what is no regular file."""
    folder = open_folder(root, parts[:-1])
    try:
        descriptor = _open(parts[-1], FILE, folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return descriptor


def _open(part: str, flags: int, folder: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        # With O_DIRECTORY a link is ENOTDIR; say what it is.
        if error.errno == errno.ENOTDIR and stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a symbolic link", part) from None
        raise


class Arrival:
    """A file that is being written in a folder under a hidden name, until `publish` gives it its own.

    ``folder`` is a descriptor, which is closed with this object. With ``mode`` the permissions are set exactly; by
    default the process's umask decides. As a context manager it leaves nothing behind unless published.
    """

    def __init__(self, folder: int, *, mode: int | None = None) -> None:
        self._folder = folder
        self._name = f".telebrowser-{secrets.token_hex(8)}.part"
        self._left = True
        try:
            self.descriptor = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
            if mode is not None:
                os.fchmod(self.descriptor, mode)
        except BaseException:
            os.close(folder)
            raise

    def __enter__(self) -> Arrival:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def write(self, data: bytes | memoryview) -> None:
        """Append all of ``data``. Raises OSError."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def publish(self, name: str, *, replace: bool) -> None:
        """Give the file its name in one step. Without ``replace`` raises FileExistsError and changes nothing."""
        if replace:
            os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._left = False
        else:
            os.link(self._name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)

    def close(self) -> None:
        """Remove the hidden name, if there still is one, and close the descriptors."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            if self._left:
                with contextlib.suppress(OSError):
                    os.unlink(self._name, dir_fd=self._folder)
            os.close(self._folder)


def publish_free(arrival: Arrival, name: str) -> str:
    """Publish under ``name``, or under ``a (1).txt``, ``a (2).txt`` … where there is one already; the name it got. Raises OSError."""
    stem, ending = os.path.splitext(name)
    number = 0
    while True:
        free = name if number == 0 else f"{stem} ({number}){ending}"
        try:
            arrival.publish(free, replace=False)
            return free
        except FileExistsError:
            number += 1


def copy(source: int, arrival: Arrival) -> None:
    """Copy a whole file within the kernel. Raises OSError."""
    offset, size = 0, os.fstat(source).st_size
    while offset < size:
        done = os.sendfile(arrival.descriptor, source, offset, size - offset)
        if not done:
            raise OSError(errno.EIO, "the file became shorter while it was copied")
        offset += done

# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that only their owner may read, in a folder whose owner is not trusted with more. **Private** to the collection.

The folder of the secrets belongs to the user of the services, while the modules run as root: a link planted there must
lead nowhere. So every file is opened by its folder's descriptor, without following links, and is changed by its own.
"""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import pwd
import stat
from typing import NamedTuple, Optional

FILE_MODE = 0o600
FOLDER_MODE = 0o700
READ_LIMIT = 1 << 20
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FileError(Exception):
    """One line for the operator."""


class PrivateFile(NamedTuple):
    """A file as it was found: its bytes, and what `adjust` looks at."""

    content: bytes
    modified: float
    uid: int
    gid: int
    mode: int


def find_user(name: Optional[str]) -> Optional[int]:
    """The id of a user by number or name; None for None."""
    if name is None or name.isdigit():
        return None if name is None else int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise FileError("there is no user %r on this host; give its number" % name) from None


def find_group(name: Optional[str]) -> Optional[int]:
    """The id of a group by number or name; None for None."""
    if name is None or name.isdigit():
        return None if name is None else int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise FileError("there is no group %r on this host; give its number" % name) from None


def open_folder(path: str, parent: Optional[int] = None, follow: bool = False) -> Optional[int]:
    """A descriptor of a folder, None when it does not exist. Raises `FileError` for a link, unless it is the operator's own path."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        return os.open(path, flags, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        # Linux says ENOTDIR, not ELOOP, for a link that O_DIRECTORY meets.
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise FileError("%s is a link or a file where a folder must be; nothing was changed" % path) from None
        raise FileError("cannot open the folder %s: %s" % (path, error.strerror)) from None


def lock(folder: int, path: str) -> None:
    """Hold the folder against another run until the descriptor is closed."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileError("another process changes the files in %s at this moment; run again" % path) from None


def read(folder: int, name: str, path: str) -> Optional[PrivateFile]:
    """The file ``name`` in ``folder``, None when there is none; ``path`` names it in the `FileError` otherwise."""
    try:
        descriptor = os.open(name, _OPEN, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileError("%s is a link; put the file itself there" % path) from None
        raise FileError("cannot read %s: %s" % (path, error.strerror)) from None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise FileError("%s is not a regular file" % path)
        content = b""
        while len(content) <= READ_LIMIT:
            piece = os.read(descriptor, READ_LIMIT)
            if not piece:
                break
            content += piece
        return PrivateFile(content, info.st_mtime, info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode))
    except OSError as error:
        raise FileError("cannot read %s: %s" % (path, error.strerror)) from None
    finally:
        os.close(descriptor)


def write(folder: int, name: str, content: bytes, uid: int, gid: int, path: str) -> None:
    """Replace the file in one step; a reader sees the old or the new one, never a part."""
    temporary = ".%s.%d.%s" % (name, os.getpid(), os.urandom(4).hex())
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE, dir_fd=folder)
        try:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
            _own(descriptor, uid, gid, FILE_MODE)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        # So that after a power cut the new name is there too.
        os.fsync(folder)
    except OSError as error:
        remove(folder, temporary, path)
        raise FileError("cannot write %s: %s" % (path, error.strerror)) from None


def remove(folder: int, name: str, path: str) -> bool:
    """Remove a file or a link; whether there was one."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileError("cannot remove %s: %s" % (path, error.strerror)) from None
    return True


def needs_adjusting(found_uid: int, found_gid: int, found_mode: int, uid: Optional[int], gid: Optional[int], mode: int) -> bool:
    """Whether owner, group or mode differ from what is wanted; None wants nothing."""
    return uid not in (None, found_uid) or gid not in (None, found_gid) or found_mode != mode


def adjust(folder: int, name: str, uid: Optional[int], gid: Optional[int], mode: int, path: str) -> None:
    """Give a file its owner, group and mode, by a descriptor of it."""
    try:
        descriptor = os.open(name, _OPEN, dir_fd=folder)
        try:
            _own(descriptor, -1 if uid is None else uid, -1 if gid is None else gid, mode)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise FileError("cannot change owner or mode of %s: %s" % (path, error.strerror)) from None


def adjust_folder(folder: int, uid: Optional[int], gid: Optional[int], path: str) -> None:
    """The same for an open folder."""
    try:
        _own(folder, -1 if uid is None else uid, -1 if gid is None else gid, FOLDER_MODE)
    except OSError as error:
        raise FileError("cannot change owner or mode of %s: %s" % (path, error.strerror)) from None


def _own(descriptor: int, uid: int, gid: int, mode: int) -> None:
    info = os.fstat(descriptor)
    if uid not in (-1, info.st_uid) or gid not in (-1, info.st_gid):
        os.fchown(descriptor, uid, gid)
    os.fchmod(descriptor, mode)

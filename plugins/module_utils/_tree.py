# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Delete a tree that somebody else may have filled. **Private** to the collection.

The browser's user owns the folders of a project and can plant anything: links, folders a million deep, names that change
while they are looked at. So nothing here takes a path: every step goes from one open folder to an entry in it, links are
removed and not followed, and other file systems are not entered.
"""

from __future__ import annotations

import errno
import os
import stat
import time

# Open folders at once; what lies deeper is moved up, so that depth costs neither descriptors nor recursion.
MAX_DEPTH = 64


class TreeError(Exception):
    """One line for the operator."""


def exists(parent: int, name: str) -> bool:
    """Whether there is something to remove: an empty folder on which another disk is mounted is as good as nothing."""
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(info.st_mode) or info.st_dev == os.fstat(parent).st_dev:
        return True
    folder = _open(parent, name)
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    finally:
        os.close(folder)


def remove(parent: int, name: str, deadline: float) -> None:
    """Remove the entry ``name`` of the open folder ``parent``, whatever it is, before ``deadline`` on the monotonic clock.

    A folder on which another disk is mounted is emptied and stays. Raises `TreeError`.
    """
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(name, dir_fd=parent)
            return
        folder = _open(parent, name)
        try:
            _empty(folder, name, deadline)
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
    except FileNotFoundError:
        return
    except OSError as error:
        raise TreeError("cannot remove %s: %s" % (name, error.strerror)) from None


def _open(parent: int, name: str) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _empty(top: int, shown: str, deadline: float) -> None:
    device = os.fstat(top).st_dev
    folders = [top]
    names = []
    moved = 0
    try:
        while True:
            if time.monotonic() > deadline:
                raise TreeError("%s was not empty in time: something fills it, or the disk is slow" % shown)
            child = _remove_files(folders[-1])
            if child is None:
                if len(folders) == 1:
                    return
                os.close(folders.pop())
                os.rmdir(names.pop(), dir_fd=folders[-1])
            elif len(folders) >= MAX_DEPTH:
                os.rename(child, _free_name(top, moved), src_dir_fd=folders[-1], dst_dir_fd=top)
                moved += 1
            else:
                folder = _open(folders[-1], child)
                folders.append(folder)
                names.append(child)
                if os.fstat(folder).st_dev != device:
                    raise TreeError("%s holds another file system, at %s; unmount it first" % (shown, "/".join(names)))
    finally:
        for folder in folders[1:]:
            os.close(folder)


def _remove_files(folder: int):
    """Remove what is not a folder; the name of a folder in it, None when it is empty."""
    while True:
        removed = False
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    return entry.name
                os.unlink(entry.name, dir_fd=folder)
                removed = True
        # A folder that changes while it is listed may hide an entry: look until it shows none.
        if not removed:
            return None


def _free_name(folder: int, number: int) -> str:
    while True:
        name = ".removing-%d-%d-%s" % (os.getpid(), number, os.urandom(4).hex())
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return name

# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private


@pytest.fixture
def folder(tmp_path):
    """An open folder."""
    descriptor = private.open_folder(str(tmp_path))
    yield descriptor
    os.close(descriptor)


def write(folder, name, content=b"content\n"):
    private.write(folder, name, content, os.geteuid(), os.getegid(), name)


def test_what_is_written_is_read_and_is_the_owners_alone(folder, tmp_path):
    write(folder, "file")
    found = private.read(folder, "file", "file")
    assert found.content == b"content\n"
    assert found.mode == 0o600
    assert os.listdir(str(tmp_path)) == ["file"]


def test_what_is_not_there_is_none(folder, tmp_path):
    assert private.read(folder, "file", "file") is None
    assert private.open_folder(str(tmp_path / "none")) is None
    assert private.remove(folder, "file", "file") is False


def test_a_link_is_not_read_and_writing_replaces_the_link_itself(folder, tmp_path):
    target = tmp_path / "target"
    target.write_text("elsewhere")
    (tmp_path / "file").symlink_to(target)
    with pytest.raises(private.FileError, match="file is a link"):
        private.read(folder, "file", "file")
    with pytest.raises(private.FileError):
        private.adjust(folder, "file", None, None, 0o666, "file")
    write(folder, "file")
    assert target.read_text() == "elsewhere"
    assert not (tmp_path / "file").is_symlink()


def test_a_pipe_is_an_error_and_no_wait(folder, tmp_path):
    os.mkfifo(str(tmp_path / "file"))
    with pytest.raises(private.FileError, match="not a regular file"):
        private.read(folder, "file", "file")


@pytest.mark.parametrize("make", ["link", "file"])
def test_a_folder_that_is_none(tmp_path, make):
    (tmp_path / "real").mkdir()
    if make == "link":
        (tmp_path / "folder").symlink_to(tmp_path / "real")
    else:
        (tmp_path / "folder").write_text("")
    with pytest.raises(private.FileError, match="is a link or a file where a folder must be"):
        private.open_folder(str(tmp_path / "folder"))


def test_the_operators_own_path_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    os.close(private.open_folder(str(tmp_path / "folder"), follow=True))


def test_a_second_run_does_not_wait_for_the_first(tmp_path):
    first = private.open_folder(str(tmp_path))
    second = private.open_folder(str(tmp_path))
    try:
        private.lock(first, "it")
        with pytest.raises(private.FileError, match="another process changes the files in it"):
            private.lock(second, "it")
    finally:
        os.close(first)
        os.close(second)


def test_a_failed_write_leaves_nothing(folder, tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(private.FileError, match="cannot write file"):
        write(folder, "file")
    assert os.listdir(str(tmp_path)) == ["file"]


def test_owner_and_mode_are_mended_by_descriptor(folder, tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    path.chmod(0o644)
    private.adjust(folder, "file", None, None, 0o600, "file")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "found, wanted, expected",
    [
        ((1000, 1000, 0o600), (None, None), False),
        ((1000, 1000, 0o600), (1000, 1000), False),
        ((1000, 1000, 0o600), (0, None), True),
        ((1000, 1000, 0o600), (None, 0), True),
        ((1000, 1000, 0o640), (None, None), True),
        ((0, 0, 0o600), (0, 0), False),
    ],
)
def test_what_needs_adjusting(found, wanted, expected):
    assert private.needs_adjusting(*found, *wanted, 0o600) is expected


@pytest.mark.parametrize("name, expected", [(None, None), ("0", 0), ("1234", 1234), ("root", 0)])
def test_users_and_groups_by_number_or_name(name, expected):
    assert private.find_user(name) == expected
    assert private.find_group(name) == expected


def test_nobody_of_that_name():
    with pytest.raises(private.FileError, match="no user 'no-such-user'"):
        private.find_user("no-such-user")
    with pytest.raises(private.FileError, match="no group 'no-such-group'"):
        private.find_group("no-such-group")

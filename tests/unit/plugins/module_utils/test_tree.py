# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import time

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tree as tree


@pytest.fixture
def parent(tmp_path):
    """An open folder with the tree to remove in it, and something beside it."""
    (tmp_path / "beside").write_text("stays")
    (tmp_path / "inside").mkdir()
    descriptor = os.open(str(tmp_path / "inside"), os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def remove(parent, name="tree"):
    tree.remove(parent, name, time.monotonic() + 60)


def test_a_tree_goes_and_its_neighbours_stay(parent, tmp_path):
    top = tmp_path / "inside" / "tree"
    for name in ("a", "a/b", "c"):
        (top / name).mkdir(parents=True)
        (top / name / "file").write_text("x")
    (tmp_path / "inside" / "other").mkdir()
    assert tree.exists(parent, "tree")
    remove(parent)
    assert not tree.exists(parent, "tree")
    assert sorted(os.listdir(str(tmp_path / "inside"))) == ["other"]


def test_what_is_not_there_is_no_error(parent):
    remove(parent)
    assert not tree.exists(parent, "tree")


@pytest.mark.parametrize("name", ["file", "link", "dangling", "pipe"])
def test_what_is_no_folder_is_unlinked(parent, tmp_path, name):
    path = tmp_path / "inside" / "tree"
    {
        "file": lambda: path.write_text("x"),
        "link": lambda: path.symlink_to(tmp_path),
        "dangling": lambda: path.symlink_to("nowhere"),
        "pipe": lambda: os.mkfifo(str(path)),
    }[name]()
    remove(parent)
    assert os.listdir(str(tmp_path / "inside")) == []
    assert (tmp_path / "beside").read_text() == "stays"


def test_links_in_the_tree_are_not_followed(parent, tmp_path):
    top = tmp_path / "inside" / "tree"
    top.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("stays")
    (top / "folder").symlink_to(tmp_path / "elsewhere")
    (top / "file").symlink_to(tmp_path / "beside")
    (top / "loop").symlink_to(".")
    remove(parent)
    assert not top.exists()
    assert (tmp_path / "elsewhere" / "file").read_text() == "stays"
    assert (tmp_path / "beside").read_text() == "stays"


def test_a_folder_that_becomes_a_link_in_between_is_not_entered(parent, tmp_path, monkeypatch):
    top = tmp_path / "inside" / "tree"
    (top / "folder").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("stays")

    def swap(descriptor):
        (top / "folder").rmdir()
        (top / "folder").symlink_to(tmp_path / "elsewhere")
        monkeypatch.undo()
        return "folder"

    monkeypatch.setattr(tree, "_remove_files", swap)
    with pytest.raises(tree.TreeError, match="cannot remove tree"):
        remove(parent)
    assert (tmp_path / "elsewhere" / "file").read_text() == "stays"


def test_depth_costs_neither_descriptors_nor_recursion(parent, tmp_path):
    depth = 3 * tree.MAX_DEPTH + 7
    descriptor = os.dup(parent)
    for name in ["tree"] + ["d"] * depth:
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=descriptor)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=below))
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    before = len(os.listdir("/proc/self/fd"))
    remove(parent)
    assert os.listdir(str(tmp_path / "inside")) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_many_entries(parent, tmp_path):
    top = tmp_path / "inside" / "tree"
    top.mkdir()
    for number in range(3000):
        (top / ("f%d" % number)).touch()
        if number % 10 == 0:
            (top / ("d%d" % number)).mkdir()
    remove(parent)
    assert not top.exists()


def test_a_tree_that_is_being_filled_ends_with_a_line(parent, tmp_path):
    (tmp_path / "inside" / "tree" / "a").mkdir(parents=True)
    with pytest.raises(tree.TreeError, match="tree was not empty in time"):
        tree.remove(parent, "tree", time.monotonic() - 1)


def test_another_file_system_is_not_entered(parent, tmp_path, monkeypatch):
    (tmp_path / "inside" / "tree" / "disk").mkdir(parents=True)
    (tmp_path / "inside" / "tree" / "disk" / "file").touch()
    devices = iter([1, 2])

    class Info:
        """As os.fstat."""

        def __init__(self):
            self.st_dev = next(devices)

    real = os.fstat
    monkeypatch.setattr(tree.os, "fstat", lambda descriptor: Info())
    with pytest.raises(tree.TreeError, match="tree holds another file system, at disk; unmount it first"):
        remove(parent)
    monkeypatch.setattr(tree.os, "fstat", real)
    assert (tmp_path / "inside" / "tree" / "disk" / "file").exists()

# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _backups as backups
from ansible_collections.telebrowser.telebrowser.plugins.modules import backup_info


@pytest.fixture
def data(tmp_path):
    """A data directory with two profiles."""
    for name in ("shop", "blog"):
        (tmp_path / "data" / "projects" / name / "profile").mkdir(parents=True)
    return tmp_path / "data"


def test_what_is_read_and_what_is_exposed(run_module, tmp_path, data):
    (tmp_path / "files.txt").write_text("%s\n" % tmp_path)
    (tmp_path / "rsnapshot.conf").write_text("backup\t/nowhere/\tx/\n")
    named = [{"path": str(tmp_path / name)} for name in ("files.txt", "rsnapshot.conf", "gone.txt")]
    result = run_module(backup_info.main, data_directory=str(data), paths=["/nowhere"], files=named)
    assert not result["changed"]
    assert result["checked"] == ["paths", str(tmp_path / "files.txt"), str(tmp_path / "rsnapshot.conf")]
    assert result["missing"] == [str(tmp_path / "gone.txt")]
    assert {(row["folder"], row["source"]) for row in result["exposed"]} == {
        (str(data / "projects"), str(tmp_path / "files.txt")),
        (str(data / "desktop"), str(tmp_path / "files.txt")),
    }
    assert run_module(backup_info.main, data_directory=str(data), files=named, excludes=[str(data)])["exposed"] == []


def test_one_profile_or_a_part_of_it_is_told_and_downloads_are_not(run_module, data):
    profile = data / "projects" / "shop" / "profile"
    for taken in (profile, profile / "Default", data / "projects" / "shop"):
        exposed = run_module(backup_info.main, data_directory=str(data), paths=[str(taken)])["exposed"]
        assert [row["folder"] for row in exposed] == [str(profile)]
    downloads = [str(data / "projects" / "shop" / "downloads"), str(data / "audit"), str(data / "projects" / "other")]
    assert run_module(backup_info.main, data_directory=str(data), paths=downloads)["exposed"] == []


def test_links_are_followed_on_both_sides(tmp_path, data):
    (tmp_path / "disk").mkdir()
    os.rename(data, tmp_path / "disk" / "data")
    os.symlink(tmp_path / "disk" / "data", data)
    os.symlink(tmp_path / "disk", tmp_path / "saved")
    for named in (str(data), str(tmp_path / "disk" / "data")):
        for taken in ("disk", "saved"):
            assert backup_info.check(named, [("paths", backups.Selection([str(tmp_path / taken)], []))], [])


def test_a_file_that_cannot_be_read_is_told(run_module, tmp_path, data):
    (tmp_path / "x.txt").symlink_to(tmp_path / "x.txt")
    result = run_module(backup_info.main, data_directory=str(data), files=[{"path": str(tmp_path / "*.txt")}])
    assert result["failed"] and result["msg"].startswith("cannot read")

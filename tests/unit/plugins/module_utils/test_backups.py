# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _backups as backups
from ansible_collections.telebrowser.telebrowser.plugins.modules import backup_info

PROJECTS = "/srv/telebrowser/projects"

LINES = "# restic\n/home\n/srv\n!/srv/telebrowser\n"
BORG = "R /srv\n- sh:/srv/telebrowser/projects\n+ pp:/etc\nP sh\n"
BORGMATIC = """
source_directories:
    - /home  # people
    - "/srv"
exclude_patterns: [/srv/telebrowser/projects, '*.tmp']
retention:
    - /not/a/source
patterns:
    - R /opt
    - '- /opt/x'
"""
RSNAPSHOT = "backup\t/home/\tlocalhost/\nexclude\t/srv/telebrowser\nbackup\t/srv/\tlocalhost/\n#backup\t/x/\ty/\n"
SCRIPT = "#!/bin/sh\n# tar /a\nrsync -a --exclude=/b /c 'https://x/y' \"/d e\" host:/f\n"


@pytest.mark.parametrize(
    "text, kind, included, excluded",
    [
        (LINES, "lines", ["/home", "/srv"], ["/srv/telebrowser"]),
        (BORG, "lines", ["/srv", "/etc"], ["/srv/telebrowser/projects"]),
        (BORGMATIC, "borgmatic", ["/home", "/srv", "/opt"], ["/srv/telebrowser/projects", "*.tmp", "/opt/x"]),
        (RSNAPSHOT, "rsnapshot", ["/home/", "/srv/"], ["/srv/telebrowser"]),
        (SCRIPT, "script", ["/b", "/c", "/d", "/f"], []),
    ],
)
def test_a_configuration_is_read(text, kind, included, excluded):
    assert backups.read(text, kind) == (included, excluded)


@pytest.mark.parametrize(
    "path, kind",
    [
        ("/etc/rsnapshot.conf", "rsnapshot"),
        ("/etc/borgmatic/config.yaml", "borgmatic"),
        ("/etc/restic/files.txt", "lines"),
        ("/etc/cron.daily/backup", "script"),
    ],
)
def test_a_name_tells_the_kind(path, kind):
    assert backups.format_of(path) == kind


@pytest.mark.parametrize(
    "included, excluded, taken",
    [
        (["/"], [], True),
        (["/srv"], [], True),
        (["/srv/"], [], True),
        (["/srv/telebrowser/projects"], [], True),
        (["/srv/telebrowser/projects/shop/profile"], [], False),
        (["/srv/*"], [], True),
        (["/s*"], [], True),
        (["/srv2", "/srv/other", "/home", "/srv/telebrowser/projects2"], [], False),
        (["/srv"], ["/srv/telebrowser"], False),
        (["/srv"], ["/srv/telebrowser/"], False),
        (["/srv"], ["/srv/tele*"], False),
        (["/srv"], ["/srv/telebrowser/projects/shop"], True),
        (["/srv"], ["*.tmp", "telebrowser"], True),
        ([], [], False),
    ],
)
def test_the_folder_of_all_projects_is_taken_or_not(included, excluded, taken):
    assert bool(backups.takes(PROJECTS, backups.Selection(included, excluded), False)) is taken


def test_links_are_followed_on_both_sides(tmp_path):
    data = tmp_path / "disk" / "telebrowser"
    (data / "projects" / "shop" / "profile").mkdir(parents=True)
    os.symlink(data, tmp_path / "data")
    os.symlink(tmp_path / "disk", tmp_path / "saved")
    for named in (str(tmp_path / "data"), str(data)):
        for taken in ("disk", "saved"):
            assert backup_info.check(named, [("paths", backups.Selection([str(tmp_path / taken)], []))], [])
    assert not backup_info.check(str(data), [("paths", backups.Selection([str(tmp_path / "other")], []))], [])


def test_one_profile_alone_is_told(tmp_path):
    profile = tmp_path / "projects" / "shop" / "profile"
    profile.mkdir(parents=True)
    (tmp_path / "projects" / "other" / "profile").mkdir(parents=True)
    rows = backup_info.check(str(tmp_path), [("x", backups.Selection([str(tmp_path / "projects")], []))], [])
    assert rows == [{"folder": str(tmp_path / "projects"), "included": str(tmp_path / "projects"), "source": "x"}]


def test_files_folders_and_patterns_are_found_and_missing_ones_told(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("/a\n")
    (tmp_path / "rsnapshot.conf").write_text("backup\t/b/\tx/\n")
    named = [{"path": str(tmp_path / name), "format": "auto"} for name in ("d", "rsnap*", "none")]
    found, missing = backup_info.configuration(named)
    assert [(os.path.basename(path), kind) for path, kind, text in found] == [("a.txt", "lines"), ("rsnapshot.conf", "rsnapshot")]
    assert missing == [str(tmp_path / "none")]

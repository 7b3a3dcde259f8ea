# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.modules import host_info

MOUNTS = host_info.parse_mounts(
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "30 22 0:25 / /srv rw,nosuid - xfs /dev/vdb ro,attr2\n"
    "31 30 0:26 / /srv/my\\040data rw - tmpfs tmpfs rw\n"
    "32 22 0:27 / /srv rw - nfs4 host:/srv rw\n"
    "broken\n"
)


@pytest.mark.parametrize(
    "path, point, kind",
    [
        ("/", "/", "ext4"),
        ("/var/lib", "/", "ext4"),
        # Mounted twice: the last one is what is seen.
        ("/srv/telebrowser", "/srv", "nfs4"),
        ("/srv/my data/x", "/srv/my data", "tmpfs"),
        ("/srvx", "/", "ext4"),
    ],
)
def test_mount_of(path, point, kind):
    assert host_info.mount_of(path, MOUNTS)[:2] == (point, kind)


def test_options_of_mount_and_of_file_system_count():
    assert {"nosuid", "ro"} <= host_info.parse_mounts("30 22 0:25 / /srv rw,nosuid - xfs /dev/vdb ro,attr2")[0][2]


@pytest.mark.parametrize(
    "switches, allowed, reason",
    [
        ({"user.max_user_namespaces": "95000"}, True, ""),
        ({"user.max_user_namespaces": "95000", "kernel.unprivileged_userns_clone": "1"}, True, ""),
        ({}, False, "user.max_user_namespaces"),
        ({"user.max_user_namespaces": "0"}, False, "user.max_user_namespaces"),
        ({"user.max_user_namespaces": "1", "kernel.unprivileged_userns_clone": "0"}, False, "kernel.unprivileged_userns_clone"),
        ({"user.max_user_namespaces": "1", "kernel.apparmor_restrict_unprivileged_userns": "1"}, False, "kernel.apparmor_restrict_unprivileged_userns"),
    ],
)
def test_user_namespaces(switches, allowed, reason):
    answer = host_info.user_namespaces(switches.get)
    assert answer[0] is allowed
    assert reason in answer[1]


@pytest.mark.parametrize(
    "text, words",
    [
        ('ID=debian\nVERSION_ID="12"', ["debian"]),
        ("ID=ubuntu\nID_LIKE=debian", ["debian", "ubuntu"]),
        ('ID="almalinux"\nID_LIKE="rhel centos fedora"', ["almalinux", "centos", "fedora", "rhel"]),
        ("", []),
        (None, []),
    ],
)
def test_os_family(text, words):
    assert host_info.os_family(text) == words


def test_listeners_reads_ports_and_inodes():
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:16E2 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n"
        "   1: 0100007F:16E3 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n"
    )
    assert host_info.listeners(text) == {0x16E2: "4711"}


def test_a_missing_directory_is_told_about_by_its_parent(tmp_path):
    about = host_info.about_path(str(tmp_path / "a" / "b"), MOUNTS)
    assert (about["exists"], about["parent"], about["foreign"]) == (False, str(tmp_path), [])


def test_foreign_looks_two_levels_down_and_no_further(tmp_path):
    (tmp_path / "one" / "two" / "three").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/")
    found = [entry["path"] for entry in host_info.about_path(str(tmp_path), MOUNTS, os.geteuid() + 1)["foreign"]]
    assert found == [str(tmp_path / name) for name in ("link", "one", "one/two")]
    assert host_info.about_path(str(tmp_path), MOUNTS, os.geteuid())["foreign"] == []


def test_foreign_ends(tmp_path):
    for number in range(30):
        (tmp_path / str(number)).mkdir()
    assert len(host_info.foreign(str(tmp_path), os.geteuid() + 1)) == host_info.FOREIGN_LIMIT


def test_a_port_that_is_taken_names_its_program(run_module):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen(1)
        port = held.getsockname()[1]
        taken = run_module(host_info.main, ports=[port])["ports"][str(port)]
    assert (taken["free"], taken["pid"], taken["reason"]) == (False, os.getpid(), os.strerror(98))
    assert run_module(host_info.main, ports=[port])["ports"][str(port)]["free"]


def test_an_address_that_is_not_of_this_host_is_no_free_port():
    assert not host_info.about_port(0, "203.0.113.1")["free"]


def test_check_mode_tells_the_same_and_changes_nothing(run_module, tmp_path):
    plain = run_module(host_info.main, paths=[str(tmp_path)], libraries=["os", "telebrowser_has_no_such_module"])
    checked = run_module(host_info.main, check_mode=True, paths=[str(tmp_path)], libraries=["os", "telebrowser_has_no_such_module"])
    assert plain["missing_libraries"] == ["telebrowser_has_no_such_module"]
    assert not plain["changed"] and {**plain, "paths": 0} == {**checked, "paths": 0}

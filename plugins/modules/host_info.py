#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a browser host has, before anything is put there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
author:
  - The telebrowser contributors (@telebrowser)
version_added: 0.1.0
short_description: Tells what a browser host offers
description:
  - Reads what the C(host) role has to know before it changes anything, such as user namespaces, shared memory, the file systems of directories,
    and which program holds a port.
  - Nothing is changed.
options:
  paths:
    description:
      - Directories and files to tell about. One that does not exist is told about by its nearest parent.
    type: list
    elements: path
    default: []
  owner:
    description:
      - Number of the user to whom everything in O(paths) should belong; without it, the owner of each directory itself.
    type: int
  ports:
    description:
      - TCP ports to try on O(address).
    type: list
    elements: int
    default: []
  address:
    description:
      - The address of this host on which O(ports) will be published.
    type: str
    default: 127.0.0.1
  libraries:
    description:
      - Python modules that other modules need on this host.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Can run in C(check_mode) and tells the same.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: N/A
    details:
      - This module changes nothing.
"""

EXAMPLES = r"""
- name: Look at the host
  telebrowser.telebrowser.host_info:
    paths: [/srv/telebrowser]
    ports: [5858]
  register: host
"""

RETURN = r"""
user_namespaces:
  description: Whether an unprivileged process may make a user namespace.
  returned: success
  type: bool
  sample: true
user_namespaces_reason:
  description: The kernel setting that forbids it, or an empty string.
  returned: success
  type: str
  sample: user.max_user_namespaces is 0
cgroup_version:
  description: 1 or 2; 0 when no control groups are mounted.
  returned: success
  type: int
  sample: 2
memory_mb:
  description: Memory of the host.
  returned: success
  type: int
  sample: 16000
shm_mb:
  description: Size of C(/dev/shm); 0 when it is no mount.
  returned: success
  type: int
  sample: 8000
apparmor:
  description: Whether AppArmor is in force.
  returned: success
  type: bool
  sample: false
selinux:
  description: Whether SELinux is enforcing.
  returned: success
  type: bool
  sample: false
os_family:
  description: The C(ID) and C(ID_LIKE) words of C(/etc/os-release).
  returned: success
  type: list
  elements: str
  sample: [debian]
python:
  description: The interpreter that ran this module.
  returned: success
  type: str
  sample: /usr/bin/python3
missing_libraries:
  description: Those of O(libraries) that this interpreter does not find.
  returned: success
  type: list
  elements: str
  sample: [requests]
uid:
  description: Number of the user as whom this module ran.
  returned: success
  type: int
  sample: 0
paths:
  description: One entry for each of O(paths).
  returned: success
  type: dict
  sample:
    /srv/telebrowser:
      exists: true
      is_directory: true
      uid: 1000
      gid: 1000
      mode: "0700"
      modified: 1796000000
      parent: /srv/telebrowser
      mount_point: /srv
      file_system: ext4
      read_only: false
      free_mb: 50000
      foreign: []
  contains:
    foreign:
      description: Up to ten entries, one or two levels below, that do not belong to O(owner).
      type: list
ports:
  description: One entry for each of O(ports), by number as text.
  returned: success
  type: dict
  sample:
    "5858":
      free: false
      reason: Address already in use
      pid: 812
      program: nginx
"""

import errno
import importlib.util
import os
import re
import socket
import stat
import sys

from ansible.module_utils.basic import AnsibleModule

FOREIGN_LIMIT = 10
LISTEN = "0A"


def read(path):
    """The stripped text of a small file; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return None


def user_namespaces(sysctl=lambda name: read("/proc/sys/" + name.replace(".", "/"))):
    """(allowed, reason): what the kernel's switches say."""
    if sysctl("user.max_user_namespaces") in (None, "0"):
        return False, "user.max_user_namespaces is 0"
    if sysctl("kernel.unprivileged_userns_clone") == "0":
        return False, "kernel.unprivileged_userns_clone is 0"
    if sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return False, "kernel.apparmor_restrict_unprivileged_userns is 1"
    return True, ""


def os_family(text):
    """The words of ``ID`` and ``ID_LIKE`` in the text of os-release."""
    words = []
    for match in re.finditer(r"^(?:ID|ID_LIKE)=(.*)$", text or "", re.MULTILINE):
        words.extend(match.group(1).strip().strip("\"'").split())
    return sorted(set(words))


def parse_mounts(text):
    """The mounts of mountinfo: (mount point, file system, options), in the order of mounting."""
    mounts = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if not separator or len(fields) < 6 or len(rest) < 3:
            continue
        point = re.sub(r"\\(\d{3})", lambda match: chr(int(match.group(1), 8)), fields[4])
        mounts.append((point, rest[0], set(fields[5].split(",")) | set(rest[2].split(","))))
    return mounts


def mount_of(path, mounts):
    """The mount in which ``path`` lies: the longest mount point above it, the last one when it is mounted twice."""
    best = ("/", "", set())
    for mount in mounts:
        point = mount[0]
        inside = point == "/" or path == point or path.startswith(point + "/")
        if inside and len(point) >= len(best[0]):
            best = mount
    return best


def foreign(path, uid):
    """Entries one or two levels below ``path`` whose owner is another; links are not followed."""
    found = []
    for depth_one in entries(path):
        for candidate in [depth_one] + entries(depth_one):
            try:
                owner = os.lstat(candidate).st_uid
            except OSError:
                continue
            if owner != uid:
                found.append({"path": candidate, "uid": owner})
            if len(found) >= FOREIGN_LIMIT:
                return found
    return found


def entries(path):
    """The paths of what lies in a directory, sorted; none when it is no directory or closed."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            return []
        return [os.path.join(path, name) for name in sorted(os.listdir(path))]
    except OSError:
        return []


def about_path(path, mounts, owner=None):
    """One entry of ``paths``."""
    parent = path
    while not os.path.lexists(parent) and parent != "/":
        parent = os.path.dirname(parent)
    status = os.stat(parent) if os.path.exists(parent) else os.lstat(parent)
    exists = parent == path
    point, kind, options = mount_of(os.path.realpath(parent), mounts)
    room = os.statvfs(parent) if os.path.exists(parent) else None
    return {
        "exists": exists,
        "is_directory": exists and stat.S_ISDIR(status.st_mode),
        "uid": status.st_uid,
        "gid": status.st_gid,
        "mode": "%04o" % stat.S_IMODE(status.st_mode),
        "modified": int(status.st_mtime) if exists else 0,
        "parent": parent,
        "mount_point": point,
        "file_system": kind,
        "read_only": "ro" in options,
        "free_mb": room.f_bavail * room.f_frsize >> 20 if room else 0,
        "foreign": foreign(path, status.st_uid if owner is None else owner) if exists else [],
    }


def listeners(text):
    """Port → inode of the listening sockets in the text of /proc/net/tcp or tcp6."""
    found = {}
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == LISTEN:
            found[int(fields[1].rpartition(":")[2], 16)] = fields[9]
    return found


def program_with(inode):
    """(pid, name) of the process that holds a socket; (0, "") when it is not to be seen."""
    wanted = "socket:[%s]" % inode
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for descriptor in os.listdir("/proc/%s/fd" % pid):
                if os.readlink("/proc/%s/fd/%s" % (pid, descriptor)) == wanted:
                    return int(pid), read("/proc/%s/comm" % pid) or ""
        except OSError:
            continue
    return 0, ""


def about_port(port, address):
    """One entry of ``ports``: whether it can be bound, and if not, who has it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    probe = socket.socket(family, socket.SOCK_STREAM)
    try:
        # As servers do it: connections that are still in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        probe.listen(1)
        return {"free": True, "reason": "", "pid": 0, "program": ""}
    except OSError as error:
        pid, program = 0, ""
        if error.errno == errno.EADDRINUSE:
            held = listeners(read("/proc/net/tcp") or "").get(port) or listeners(read("/proc/net/tcp6") or "").get(port)
            pid, program = program_with(held) if held else (0, "")
        return {"free": False, "reason": os.strerror(error.errno) if error.errno else str(error), "pid": pid, "program": program}
    finally:
        probe.close()


def is_missing(library):
    """Whether this interpreter has no such module."""
    try:
        return importlib.util.find_spec(library) is None
    except (ImportError, ValueError):
        return True


def main():
    """Answer."""
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "path", "default": []},
            "owner": {"type": "int"},
            "ports": {"type": "list", "elements": "int", "default": []},
            "address": {"type": "str", "default": "127.0.0.1"},
            "libraries": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    mounts = parse_mounts(read("/proc/self/mountinfo") or "")
    memory = re.search(r"^MemTotal:\s+(\d+)", read("/proc/meminfo") or "", re.MULTILINE)
    shm = os.statvfs("/dev/shm") if any(mount[0] == "/dev/shm" for mount in mounts) else None
    kinds = {mount[1] for mount in mounts if mount[0].startswith("/sys/fs/cgroup")}
    allowed, reason = user_namespaces()
    module.exit_json(
        changed=False,
        user_namespaces=allowed,
        user_namespaces_reason=reason,
        cgroup_version=1 if "cgroup" in kinds else 2 if "cgroup2" in kinds else 0,
        memory_mb=int(memory.group(1)) >> 10 if memory else 0,
        shm_mb=shm.f_blocks * shm.f_frsize >> 20 if shm else 0,
        apparmor=(read("/sys/module/apparmor/parameters/enabled") or "") == "Y",
        selinux=read("/sys/fs/selinux/enforce") == "1",
        os_family=os_family(read("/etc/os-release")),
        python=sys.executable,
        missing_libraries=[name for name in module.params["libraries"] if is_missing(name)],
        uid=os.geteuid(),
        paths={path: about_path(os.path.normpath(path), mounts, module.params["owner"]) for path in module.params["paths"]},
        ports={str(port): about_port(port, module.params["address"]) for port in module.params["ports"]},
    )


if __name__ == "__main__":
    main()

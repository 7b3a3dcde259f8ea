#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: backup_info
short_description: Tell which profiles a backup would copy
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - A profile holds live logins. A copy of it in a backup is a copy of every login in it. This module reads what the host's backups take, and tells which
    profiles are among it.
  - Links are followed on both sides. When in doubt a profile counts as taken.
  - What a file system's own snapshots hold, and backups that another machine draws, it cannot see.
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes.info
  - telebrowser.telebrowser.attributes.action_group
options:
  data_directory:
    description: The data directory of the browser host.
    type: path
    required: true
  paths:
    description: Folders that a backup takes.
    type: list
    elements: str
    default: []
  excludes:
    description: Absolute paths or shell patterns that the backups leave out, in every source.
    type: list
    elements: str
    default: []
  files:
    description:
      - Configuration files of backup programs; shell patterns are allowed, and folders stand for the files in them. Missing ones are told in RV(missing).
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The file, the folder or the pattern.
        type: path
        required: true
      format:
        description:
          - V(lines) is one path a line, as restic's C(--files-from) and borg's patterns. V(borgmatic) and V(rsnapshot) are the files of these programs.
          - V(script) takes every absolute path that the file names. V(auto) goes by the file's name.
        type: str
        choices: [auto, lines, borgmatic, rsnapshot, script]
        default: auto
requirements: []
"""

EXAMPLES = r"""
- name: Look whether a backup takes profiles
  telebrowser.telebrowser.backup_info:
    data_directory: /srv/telebrowser
    paths: [/home, /etc]
    files:
      - path: /etc/restic/files.txt
      - path: /etc/rsnapshot.conf
      - path: /etc/backup.d
  register: backup
"""

RETURN = r"""
exposed:
  description: The profiles that a backup takes. Empty is what you want.
  returned: always
  type: list
  elements: dict
  contains:
    folder:
      description: The profile, or the folder of all profiles, since later ones would be taken too.
      type: str
      sample: /srv/telebrowser/projects
    included:
      description: The path that the backup names.
      type: str
      sample: /srv
    source:
      description: Where it names it.
      type: str
      sample: /etc/restic/files.txt
checked:
  description: What was read.
  returned: always
  type: list
  elements: str
  sample: [paths, /etc/restic/files.txt]
missing:
  description: Files that were named and are not there.
  returned: always
  type: list
  elements: str
  sample: [/etc/rsnapshot.conf]
"""

import glob
import os
import stat
from typing import Any, Dict, List, Tuple

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _backups as backups

MAX_FILE = 4 << 20


def folders(data: str) -> List[Tuple[str, bool]]:
    """What must be in no backup, by its true path too, and whether not even in part: all projects together, each profile, and the desktop's own home."""
    found = [(os.path.join(data, "projects"), False), (os.path.join(data, "desktop"), True)]
    found += [(path, True) for path in sorted(glob.glob(os.path.join(glob.escape(data), "projects", "*", "profile")))]
    return list(dict.fromkeys((name, parts) for path, parts in found for name in (path, os.path.realpath(path))))


def configuration(named: List[Dict[str, Any]]) -> Tuple[List[Tuple[str, str, str]], List[str]]:
    """``(path, format, text)`` of each file, and the names of those that are not there."""
    found, missing = [], []
    for item in named:
        paths = sorted(glob.glob(item["path"]))
        files = [os.path.join(path, name) for path in paths if os.path.isdir(path) for name in sorted(os.listdir(path))]
        files = [path for path in paths if not os.path.isdir(path)] + [path for path in files if not os.path.isdir(path)]
        if not files:
            missing.append(item["path"])
        for path in files:
            kind = backups.format_of(path) if item["format"] == "auto" else item["format"]
            found.append((path, kind, _text(path)))
    return found, missing


def _text(path: str) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return ""
        return file.read(MAX_FILE).decode("utf-8", "replace")


def true_paths(selection: backups.Selection) -> backups.Selection:
    """The selection with what its links lead to as well."""
    included = [path for name in selection.included for path in (name, os.path.realpath(name)) if name.startswith("/")]
    return backups.Selection(list(dict.fromkeys(included)), selection.excluded)


def check(data: str, sources: List[Tuple[str, backups.Selection]], excludes: List[str]) -> List[Dict[str, str]]:
    """The exposed folders. Single profiles are told only where their common folder is not."""
    exposed = []
    for source, selection in sources:
        selection = true_paths(backups.Selection(selection.included, [*selection.excluded, *excludes]))
        for folder, parts in folders(data):
            for included in backups.takes(folder, selection, parts)[:1]:
                exposed.append({"folder": folder, "included": included, "source": source})
    common = {(row["folder"], row["source"]) for row in exposed}
    return [row for row in exposed if not any((parent, row["source"]) in common for parent in list(backups.parents(row["folder"]))[1:])]


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "data_directory": {"type": "path", "required": True},
            "paths": {"type": "list", "elements": "str", "default": []},
            "excludes": {"type": "list", "elements": "str", "default": []},
            "files": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "path": {"type": "path", "required": True},
                    "format": {"type": "str", "choices": ["auto", *backups.FORMATS], "default": "auto"},
                },
            },
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        found, missing = configuration(params["files"])
    except OSError as error:
        module.fail_json(msg="cannot read %s: %s; run as root" % (error.filename, error.strerror))
    sources = [("paths", backups.Selection(params["paths"], []))] if params["paths"] else []
    sources += [(path, backups.read(text, kind)) for path, kind, text in found]
    exposed = check(params["data_directory"].rstrip("/") or "/", sources, params["excludes"])
    module.exit_json(changed=False, exposed=exposed, checked=[source for source, selection in sources], missing=missing)


if __name__ == "__main__":
    main()

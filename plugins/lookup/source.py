# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of this collection as one archive."""

from __future__ import annotations

DOCUMENTATION = r"""
name: source
author:
  - The telebrowser contributors (@telebrowser)
version_added: 0.1.0
short_description: A folder of the collection as one archive with a stable hash
description:
  - Packs a folder of this collection into a C(tar.gz) on the controller and returns its path and its hash.
  - The archive holds what matters for running only, in a fixed order and without times and owners, so that the same files always give the same hash.
    Roles copy one file instead of a hundred, and know by the hash whether a host has these files already.
  - The archive lies in the temporary directory of the run and vanishes with it.
options:
  _terms:
    description:
      - Folders below the top of the collection.
    type: list
    elements: str
    default: [files/telebrowser]
  part:
    description:
      - Only the files that this module or package needs, for a folder that is a Python package; they are found by its import statements.
      - A host that runs one part of a program gets what that part runs, and its hash does not change with the rest.
    type: str
"""

EXAMPLES = r"""
- name: Tell the hash of the services
  ansible.builtin.debug:
    msg: "{{ lookup('telebrowser.telebrowser.source').sha256 }}"

- name: Tell the hash of what the supervisor alone runs
  ansible.builtin.debug:
    msg: "{{ lookup('telebrowser.telebrowser.source', 'files/telebrowser/src/telebrowser', part='supervisor').sha256 }}"
"""

RETURN = r"""
_raw:
  description:
    - One dictionary for each folder.
  type: list
  elements: dict
  contains:
    path:
      description: The archive on the controller. Its members have no leading folder.
      type: path
      sample: /root/.ansible/tmp/ansible-local-1/telebrowser-4be1.tar.gz
    sha256:
      description: SHA-256 of the names, modes and contents.
      type: str
      sample: 4be1c5d2c0a4b0b4a9a1a2f3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7
"""

import gzip
import hashlib
import io
import os
import stat
import tarfile

from ansible import constants as C
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ansible_collections.telebrowser.telebrowser.plugins.plugin_utils._imports import needed

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT = "files/telebrowser"
CACHES = ("__pycache__", "build", "dist")
"""Folders that tools leave behind; they differ from one checkout to the next."""


def members(folder):
    """The regular files below ``folder`` that belong to it: (name, executable, content), in the order of their names."""
    found = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not (name in CACHES or name.startswith(".") or name.endswith(".egg-info")))
        for name in names:
            path = os.path.join(top, name)
            status = os.lstat(path)
            if name.startswith(".") or name.endswith(".pyc") or not stat.S_ISREG(status.st_mode):
                continue
            with open(path, "rb") as file:
                found.append((os.path.relpath(path, folder), bool(status.st_mode & 0o100), file.read()))
    return sorted(found)


def digest(files):
    """The hash of what a host gets."""
    total = hashlib.sha256()
    for name, executable, content in files:
        total.update(("%s\0%d\0%d\0" % (name, executable, len(content))).encode("utf-8"))
        total.update(content)
    return total.hexdigest()


def archive(files):
    """The bytes of the archive; the same for the same files."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, executable, content in files:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                entry.mode = 0o755 if executable else 0o644
                tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


class LookupModule(LookupBase):
    """``lookup('telebrowser.telebrowser.source', 'files/telebrowser')``."""

    def run(self, terms, variables=None, **kwargs):
        """Pack each folder once a run."""
        self.set_options(var_options=variables, direct=kwargs)
        return [self._pack(term, self.get_option("part")) for term in terms or [DEFAULT]]

    def _pack(self, term, part):
        folder = os.path.normpath(os.path.join(TOP, term))
        if not folder.startswith(TOP + os.sep) or not os.path.isdir(folder):
            raise AnsibleLookupError("the collection has no folder %s; name one below its top, as in files/telebrowser" % term)
        files = members(folder)
        if part:
            try:
                wanted = needed({name: content for name, _executable, content in files}, os.path.basename(folder), part)
            except (SyntaxError, ValueError) as error:
                raise AnsibleLookupError("%s of %s cannot be packed: %s" % (part, term, error)) from error
            files = [file for file in files if file[0] in wanted]
        name = digest(files)
        path = os.path.join(C.DEFAULT_LOCAL_TMP, "telebrowser-%s.tar.gz" % name)
        if not os.path.exists(path):
            # Hosts are served by processes beside each other: whoever is first puts the whole file in its place.
            partial = "%s.%d" % (path, os.getpid())
            with open(partial, "wb") as file:
                file.write(archive(files))
            os.rename(partial, path)
        return {"path": path, "sha256": name}

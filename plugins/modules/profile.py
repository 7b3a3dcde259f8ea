#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: profile
short_description: Wipe or remove what the browser of a project keeps
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - Deletes the profile of a project, that is its logins, or everything that the project has on the browser host.
  - The browser is stopped through the gateway first, and is not started again by an agent while its profile is deleted.
  - Fails while an agent's session, a hold or a handoff to a person is active, unless O(force) is set.
  - The folder of a project belongs to the browser. Whatever lies in it, links are removed and not followed, other file systems are not entered, and
    nothing outside of O(data_directory) is touched.
  - When no gateway answers, the files are deleted without it, unless something says that a browser may run. See O(force).
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes
  - telebrowser.telebrowser.attributes.action_group
  - telebrowser.telebrowser.gateway
attributes:
  check_mode:
    support: full
    details:
      - Asks the gateway too, and fails where a real run would.
  diff_mode:
    support: full
    details:
      - Shows names of folders only, nothing of what is in them.
  idempotent:
    support: full
options:
  data_directory:
    description: Data directory of the stack, which holds C(projects) and C(run), as the managed host sees it.
    type: path
    required: true
  project:
    description: The project. V(scratch) is wiped by itself whenever its browser stops.
    type: str
    default: scratch
  state:
    description:
      - V(wiped) deletes the profile, with logins and history. Downloads and uploads stay.
      - V(absent) deletes those too, and all that the stack knows of the project.
    type: str
    choices: [wiped, absent]
    default: wiped
  secrets_directory:
    description: Folder with the file C(secret), from which the project's token for the gateway is derived.
    type: path
  token:
    description: The project's token for the gateway.
    type: str
  force:
    description:
      - Go on although a session, a hold or a handoff is active. Its agents get an error, and start with a fresh profile when they call again.
      - Also go on when no gateway answers and files in O(data_directory) say that a browser may run. Only when you know that none does, since a
        browser that runs would go on with a deleted profile.
    type: bool
    default: false
seealso:
  - module: telebrowser.telebrowser.project_info
"""

EXAMPLES = r"""
- name: Wipe the project for work outside of any repository
  telebrowser.telebrowser.profile:
    data_directory: /srv/telebrowser
    secrets_directory: /etc/telebrowser/secrets

- name: Log the project out of everything, whoever works with it
  telebrowser.telebrowser.profile:
    data_directory: /srv/telebrowser
    secrets_directory: /etc/telebrowser/secrets
    project: shop
    force: true

- name: Remove a project that is over, with its downloads
  telebrowser.telebrowser.profile:
    data_directory: /srv/telebrowser
    secrets_directory: /etc/telebrowser/secrets
    project: shop
    state: absent
"""

RETURN = r"""
project:
  description: The project.
  returned: always
  type: str
  sample: scratch
removed:
  description: What was deleted, relative to O(data_directory).
  returned: always
  type: list
  elements: str
  sample: [projects/scratch/home, projects/scratch/profile]
stopped:
  description: Whether a browser ran and was stopped.
  returned: always
  type: bool
  sample: true
browser_state:
  description: The state of the browser before, as the gateway told it. None when no gateway answered.
  returned: always
  type: str
  sample: up
ended:
  description: What was active and was ended by O(force).
  returned: always
  type: list
  elements: str
  sample: [2 sessions of agents]
"""

import os
import time
from typing import Any, Dict, List, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tree as tree
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._gateway import (
    GATEWAY_OPTIONS,
    Gateway,
    GatewayError,
    Refused,
    Unreachable,
    reasons_to_wait,
)
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._secret_file import project_token

# What only the profile is made of; the rest of a project's folder are its downloads and uploads.
WIPED = ("home", "profile", "tmp")
STOPPED = ("stopped", "failed")
DELETE_SECONDS = 600


class ProfileError(Exception):
    """One line for the operator."""


class Place:
    """The folders of one project, opened step by step without following a link."""

    def __init__(self, data_directory: str, project: str) -> None:
        self.data_directory = data_directory
        self.project = project
        self._open = []  # type: List[int]
        # The data directory is the operator's word and may be reached by a link, to another disk for one.
        self.data = self._folder(data_directory, None, follow=True)
        self.projects = self._folder("projects", self.data)
        self.folder = self._folder(project, self.projects)
        self.run = self._folder("run", self.data)

    def _folder(self, name: str, parent: Optional[int], follow: bool = False) -> Optional[int]:
        if parent is None and not follow:
            return None
        found = private.open_folder(name, parent, follow)
        if found is not None:
            self._open.append(found)
        return found

    def close(self) -> None:
        """Close them."""
        for descriptor in self._open:
            os.close(descriptor)

    def entries(self, state: str) -> List[str]:
        """What the state wants deleted and is there, relative to the data directory."""
        found = []
        if self.folder is not None:
            prefix = "projects/%s/" % self.project
            found += [prefix + name for name in self._names(state) if tree.exists(self.folder, name)]
            if state == "absent" and tree.exists(self.projects, self.project):
                found.append("projects/%s" % self.project)
        if state == "absent":
            found += ["run/" + name for name in self.traces() if self._trace(name)]
        return found

    def _names(self, state: str) -> List[str]:
        return sorted(os.listdir(self.folder)) if state == "absent" else list(WIPED)

    def traces(self) -> List[str]:
        """The files of the project in ``run``."""
        return ["chromium-%s.log" % self.project, "sessions/%s.json" % self.project, "up/%s" % self.project, "want/%s" % self.project]

    def _trace(self, name: str) -> bool:
        if self.run is None:
            return False
        try:
            with _Below(self.run, os.path.dirname(name)) as folder:
                os.stat(os.path.basename(name), dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        return True

    def signs_of_life(self) -> List[str]:
        """What says that a browser runs or is about to be started; a crash of the host leaves it behind too."""
        found = ["run/" + name for name in self.traces()[2:] if self._trace(name)]
        if self.folder is not None:
            try:
                with _Below(self.folder, "profile") as profile:
                    os.stat("SingletonLock", dir_fd=profile, follow_symlinks=False)
                found.append("projects/%s/profile/SingletonLock" % self.project)
            except OSError:
                pass
        return found

    def delete(self, state: str) -> None:
        """Delete what the state wants gone. Raises `tree.TreeError` and `private.FileError`."""
        deadline = time.monotonic() + DELETE_SECONDS
        if self.folder is not None:
            for name in self._names(state):
                tree.remove(self.folder, name, deadline)
            if state == "absent":
                tree.remove(self.projects, self.project, deadline)
        if state == "absent" and self.run is not None:
            for name in self.traces():
                if self._trace(name):
                    with _Below(self.run, os.path.dirname(name)) as folder:
                        private.remove(folder, os.path.basename(name), "run/" + name)


class _Below:
    """A folder below an open one, which is itself for the empty name, as a context."""

    def __init__(self, parent: int, name: str) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(name, flags, dir_fd=parent) if name else os.dup(parent)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *details: Any) -> None:
        os.close(self._descriptor)


def ask(gateway: Gateway, token: str) -> Optional[Dict[str, Any]]:
    """The status document, None when no gateway runs. Raises `GatewayError`."""
    try:
        return gateway.status(token)
    except Unreachable:
        return None


def refuse(project: str, reasons: List[str]) -> ProfileError:
    """The failure while somebody works."""
    return ProfileError("the browser of %s is in use: %s; wait for the end, or set force" % (project, ", ".join(reasons)))


def stop_and_wipe(gateway: Gateway, token: str) -> bool:
    """Let the gateway stop the browser and wipe its profile; False when no supervisor is there to do it. Raises `GatewayError`.

    A wipe that failed half-way, at a folder on which a disk is mounted for one, is enough when the browser has stopped: the rest is done here.
    """
    try:
        gateway.wipe(token)
    except Refused as error:
        if error.status == 503:
            return False
        status = gateway.status(token) if error.status == 500 else {}
        if status.get("state") not in STOPPED:
            raise
    return True


def without_gateway(place: Place, params: Dict[str, Any], why: str) -> None:
    """Raise `ProfileError` unless the files may be deleted with nobody to stop a browser."""
    signs = place.signs_of_life()
    if signs and not params["force"]:
        raise ProfileError(
            "%s, and %s in %s may mean that a browser runs; start the stack, or set force once you know that none runs"
            % (why, " and ".join(signs), place.data_directory)
        )


def run(module: AnsibleModule, place: Place, gateway: Gateway, token: str) -> Dict[str, Any]:
    """The result of the module. Raises the errors of what it uses."""
    params = module.params
    project, state = params["project"], params["state"]
    found = place.entries(state)
    status = ask(gateway, token)
    running = status is not None and status.get("state") not in STOPPED
    ended = []  # type: List[str]
    result = {
        "changed": bool(found) or running,
        "project": project,
        "removed": found,
        "stopped": running,
        "browser_state": None if status is None else status.get("state"),
        "ended": ended,
        "diff": {
            "before": {"browser": None if status is None else status.get("state"), "files": found},
            "after": {"browser": None if status is None else "stopped" if running else status.get("state"), "files": []},
        },
    }
    if not result["changed"]:
        return result
    if status is not None:
        reasons = reasons_to_wait(status)
        if reasons and not params["force"]:
            raise refuse(project, reasons)
        ended.extend(reasons)
    else:
        without_gateway(place, params, "the gateway at %s does not answer" % gateway.url)
    if module.check_mode:
        return result
    if status is not None and not stop_and_wipe(gateway, token):
        without_gateway(place, params, "the gateway at %s has no supervisor" % gateway.url)
    place.delete(state)
    check_end(gateway, token, params)
    return result


def check_end(gateway: Gateway, token: str, params: Dict[str, Any]) -> None:
    """Raise `ProfileError` when an agent started the browser again, or something is left."""
    now = ask(gateway, token)
    if now is not None and now.get("state") not in STOPPED:
        raise ProfileError("the browser of %s was started again after its files were deleted: an agent still works; end it and run again" % params["project"])
    place = Place(params["data_directory"], params["project"])
    try:
        left = place.entries(params["state"])
    finally:
        place.close()
    if left:
        raise ProfileError("something is left or was made again in %s: %s; run again" % (params["data_directory"], ", ".join(left)))


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "data_directory": {"type": "path", "required": True},
            "project": {"type": "str", "default": tokens.SCRATCH},
            "state": {"type": "str", "choices": ["wiped", "absent"], "default": "wiped"},
            "secrets_directory": {"type": "path", "no_log": False},
            "token": {"type": "str", "no_log": True},
            "force": {"type": "bool", "default": False},
            **GATEWAY_OPTIONS,
        },
        required_one_of=[("secrets_directory", "token")],
        supports_check_mode=True,
    )
    params = module.params
    place = None
    try:
        tokens.check_project(params["project"])
        gateway = Gateway.of(params)
        place = Place(params["data_directory"], params["project"])
        if place.data is None:
            module.warn("there is no data directory %s; nothing to do" % params["data_directory"])
        token = project_token(params, params["project"])
        result = run(module, place, gateway, token)
    except (tokens.TokenError, private.FileError, tree.TreeError, GatewayError, ProfileError) as error:
        module.fail_json(msg=str(error))
    finally:
        if place is not None:
            place.close()
    module.exit_json(**result)


if __name__ == "__main__":
    main()

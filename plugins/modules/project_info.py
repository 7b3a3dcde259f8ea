#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: project_info
short_description: Tell what the browsers of projects are doing
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - Asks the gateway for the state, sessions and versions of projects.
  - A gateway that does not answer is an answer too, RV(gateway.reachable=false), so that a playbook can decide what it means. A token that the gateway
    does not accept is a failure.
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes.info
  - telebrowser.telebrowser.attributes.action_group
  - telebrowser.telebrowser.gateway
options:
  projects:
    description: The projects to ask for. By default all that have a folder in O(data_directory), or those of O(tokens).
    type: list
    elements: str
  data_directory:
    description: Data directory of the stack. With it RV(projects[].has_profile) is told, and O(projects) may be left out.
    type: path
  secrets_directory:
    description: Folder with the file C(secret), from which the tokens are derived. One of this and O(tokens) is needed.
    type: path
  tokens:
    description: The tokens of the projects.
    type: list
    elements: str
seealso:
  - module: telebrowser.telebrowser.profile
"""

EXAMPLES = r"""
- name: Look at all projects of the browser host
  telebrowser.telebrowser.project_info:
    data_directory: /srv/telebrowser
    secrets_directory: /etc/telebrowser/secrets
  register: telebrowser

- name: Do not go on while an agent works
  ansible.builtin.assert:
    that: telebrowser.projects | map(attribute='sessions') | flatten | length == 0
    fail_msg: Agents work; run this again later.
"""

RETURN = r"""
gateway:
  description: The gateway.
  returned: always
  type: dict
  contains:
    url:
      description: Its address.
      type: str
      returned: always
      sample: http://127.0.0.1:5858
    reachable:
      description: Whether it answers.
      type: bool
      returned: always
      sample: true
    problem:
      description: Why it does not answer. None when it does.
      type: str
      returned: always
      sample: the gateway at http://127.0.0.1:5858 does not answer (Connection refused); start it, or correct the address
    version:
      description: Its version.
      type: str
      returned: when it answers
      sample: 0.2.0
    supervisor:
      description: Whether it is connected to the supervisor, without which no browser starts.
      type: bool
      returned: when it answers
      sample: true
projects:
  description: The projects, in the order of O(projects), else by name.
  returned: always
  type: list
  elements: dict
  contains:
    project:
      description: Its name.
      type: str
      returned: always
      sample: shop
    has_profile:
      description: Whether the data directory holds a profile of it. None without O(data_directory).
      type: bool
      returned: always
      sample: true
    state:
      description: V(stopped), V(starting), V(up), V(stopping) or V(failed); V(unknown) when the gateway does not answer.
      type: str
      returned: always
      sample: up
    reason:
      description: Why it is in this state. None when there is nothing to say.
      type: str
      returned: when the gateway answers
      sample: crashed three times in a minute
    browser:
      description: Name and version of the browser. None while it does not run.
      type: str
      returned: when the gateway answers
      sample: Chrome/156.0.7700.1
    started_at:
      description: Since when it runs, in UTC.
      type: str
      returned: when the gateway answers
      sample: '2026-11-30T10:00:00+00:00'
    idle_seconds:
      description: Seconds since its last use.
      type: int
      returned: when the gateway answers
      sample: 12
    hold_until:
      description: Until when it is held from being stopped, in UTC. None without a hold.
      type: str
      returned: when the gateway answers
      sample: '2026-11-30T12:00:00+00:00'
    sessions:
      description: The sessions of agents, each with its name, its number of tabs and its number of connections.
      type: list
      elements: dict
      returned: when the gateway answers
      sample: [{session: a1b2, tabs: 2, connections: 1}]
    downloads:
      description: The folder of its downloads as the gateway sees it, and the number of files.
      type: dict
      returned: when the gateway answers
      sample: {directory: /data/projects/shop/downloads, files: 3}
    warnings:
      description: What the stack warns of, walls that are not up for one.
      type: list
      elements: str
      returned: when the gateway answers
      sample: []
    version:
      description: Version of the stack.
      type: str
      returned: when the gateway answers
      sample: 0.2.0
"""

import os
from typing import Any, Dict, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._gateway import GATEWAY_OPTIONS, Gateway, GatewayError, Unreachable
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._secret_file import read_secret

# What is returned of the status document; the rest concerns one machine only or repeats the gateway.
FIELDS = ("reason", "browser", "started_at", "idle_seconds", "hold_until", "sessions", "downloads", "warnings", "version")


def on_disk(data_directory: str) -> Dict[str, bool]:
    """The projects that have a folder, and whether a profile is in it. Raises `private.FileError`."""
    data = private.open_folder(data_directory, follow=True)
    if data is None:
        return {}
    try:
        projects = private.open_folder("projects", data)
        if projects is None:
            return {}
        try:
            return {name: _has_profile(projects, name) for name in sorted(os.listdir(projects)) if tokens.is_valid(name)}
        finally:
            os.close(projects)
    finally:
        os.close(data)


def _has_profile(projects: int, name: str) -> bool:
    try:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=projects)
    except OSError:
        return False
    try:
        os.stat("profile", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def wanted(params: Dict[str, Any], found: Optional[Dict[str, bool]]) -> Dict[str, str]:
    """The token of each project that is asked for. Raises `tokens.TokenError` and `private.FileError`."""
    given = {tokens.project_of(token.strip()): token.strip() for token in params["tokens"] or []}
    names = params["projects"]
    if names is None:
        names = list(given) if params["tokens"] is not None else list(found or {})
    if params["tokens"] is not None:
        missing = [name for name in names if name not in given]
        if missing:
            raise tokens.TokenError("no token was given for %s" % ", ".join(missing))
        return {name: given[name] for name in names}
    secret = read_secret(params["secrets_directory"])
    return {name: tokens.derive(secret, name) for name in names}


def run(params: Dict[str, Any]) -> Dict[str, Any]:
    """The result of the module."""
    gateway = Gateway.of(params)
    found = None if params["data_directory"] is None else on_disk(params["data_directory"])
    told = {"url": gateway.url, "reachable": True, "problem": None}  # type: Dict[str, Any]
    try:
        health = gateway.health()
        told.update({"version": health.get("version"), "supervisor": bool(health.get("supervisor"))})
    except Unreachable as error:
        told.update({"reachable": False, "problem": str(error)})
    projects = []  # type: List[Dict[str, Any]]
    for name, token in wanted(params, found).items():
        project = {"project": name, "has_profile": None if found is None else found.get(name, False), "state": "unknown"}  # type: Dict[str, Any]
        if told["reachable"]:
            status = gateway.status(token)
            project["state"] = status.get("state")
            project.update({field: status.get(field) for field in FIELDS})
        projects.append(project)
    return {"changed": False, "gateway": told, "projects": projects}


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "projects": {"type": "list", "elements": "str"},
            "data_directory": {"type": "path"},
            "secrets_directory": {"type": "path", "no_log": False},
            "tokens": {"type": "list", "elements": "str", "no_log": True},
            **GATEWAY_OPTIONS,
        },
        mutually_exclusive=[("secrets_directory", "tokens")],
        required_one_of=[("secrets_directory", "tokens"), ("projects", "data_directory", "tokens")],
        supports_check_mode=True,
    )
    try:
        result = run(module.params)
    except (tokens.TokenError, private.FileError, GatewayError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: browser
short_description: Start or stop the browser of a project
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - Asks the gateway to start or stop a project's browser, and waits until that has happened. A browser that is stopped this way has saved its cookies.
  - Agents start a stopped browser again with their next call.
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes
  - telebrowser.telebrowser.attributes.action_group
  - telebrowser.telebrowser.gateway
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  project:
    description: The project.
    type: str
    required: true
  state:
    description: Whether its browser shall run.
    type: str
    choices: [started, stopped]
    default: started
  secrets_directory:
    description: Folder with the file C(secret), from which the project's token for the gateway is derived. One of this and O(token) is needed.
    type: path
  token:
    description: The project's token for the gateway.
    type: str
seealso:
  - module: telebrowser.telebrowser.project_info
"""

EXAMPLES = r"""
- name: Stop a browser in order before the disk is moved
  telebrowser.telebrowser.browser:
    project: shop
    state: stopped
    secrets_directory: /etc/telebrowser/secrets
"""

RETURN = r"""
project:
  description: The project.
  returned: always
  type: str
  sample: shop
browser_state:
  description: The state of the browser before.
  returned: always
  type: str
  sample: up
began:
  description: When the gateway was asked, in seconds since 1970 by the managed host's clock.
  returned: always
  type: float
  sample: 1796000000.5
ended:
  description: When the browser ran or had ended.
  returned: always
  type: float
  sample: 1796000001.2
"""

import time
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._gateway import GATEWAY_OPTIONS, Gateway, GatewayError
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._secret_file import project_token

STOPPED = ("stopped", "failed")
RUNNING = ("up",)


def run(module: AnsibleModule) -> Dict[str, Any]:
    """The result of the module. Raises `tokens.TokenError`, `private.FileError` and `GatewayError`."""
    params = module.params
    project = tokens.check_project(params["project"])
    token = project_token(params, project)
    gateway = Gateway.of(params)
    began = time.time()
    before = gateway.status(token).get("state")
    changed = before not in (RUNNING if params["state"] == "started" else STOPPED)
    if changed and not module.check_mode:
        (gateway.start if params["state"] == "started" else gateway.stop)(token)
    return {
        "changed": changed,
        "project": project,
        "browser_state": before,
        "began": began,
        "ended": time.time(),
        "diff": {"before": {"state": before}, "after": {"state": ("up" if params["state"] == "started" else "stopped") if changed else before}},
    }


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "project": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "secrets_directory": {"type": "path", "no_log": False},
            "token": {"type": "str", "no_log": True},
            **GATEWAY_OPTIONS,
        },
        mutually_exclusive=[("secrets_directory", "token")],
        required_one_of=[("secrets_directory", "token")],
        supports_check_mode=True,
    )
    try:
        result = run(module)
    except (tokens.TokenError, private.FileError, GatewayError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

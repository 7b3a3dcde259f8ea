#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: project_token
short_description: Derive the token of a project, and keep it in the launcher's file
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - Derives the token that opens one project, and no other, from the secret of the browser host.
  - With O(dest) it keeps the token as a line of the launcher's file C(tokens), so that an agent host can be given its own projects instead of the secret.
  - Shows fingerprints only, the first 12 hexadecimal digits of the SHA-256 of a token, unless O(return_token) is set.
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes
  - telebrowser.telebrowser.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - Shows fingerprints only.
  idempotent:
    support: full
options:
  project:
    description: Name of the project, as C(telebrowser project) prints it in the directory of the project.
    type: str
    required: true
  secrets_directory:
    description: Folder with the file C(secret) on the managed host. One of this, O(secret) and O(token) is needed with O(state=present).
    type: path
  secret:
    description: The secret itself, when it is not on the managed host.
    type: str
  token:
    description: The token itself, derived on another host, when the managed host must not get the secret.
    type: str
  dest:
    description:
      - File of tokens, one a line. The launcher looks for C(tokens) in its folder, C(~/.config/telebrowser). It gets mode V(0600).
      - Lines of other projects stay as they are. Its folder must be there.
    type: path
  owner:
    description: User who owns O(dest), by number or name. By default the owner stays, and a new file belongs to the owner of its folder.
    type: str
  group:
    description: Group of O(dest), by number or name. By default the group stays, and a new file has the group of its folder.
    type: str
  state:
    description: Whether the project's line is in O(dest).
    type: str
    choices: [present, absent]
    default: present
  return_token:
    description: Whether to return the token. The task needs C(no_log) then, or the token is in logs.
    type: bool
    default: false
seealso:
  - module: telebrowser.telebrowser.secret
  - plugin: telebrowser.telebrowser.token
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Derive the token on the browser host, where the secret stays
  telebrowser.telebrowser.project_token:
    project: shop
    secrets_directory: /etc/telebrowser/secrets
    return_token: true
  delegate_to: browser-host
  register: shop
  no_log: true

- name: Give the agent host the token of this project only
  telebrowser.telebrowser.project_token:
    project: shop
    token: "{{ shop.token }}"
    dest: /home/agent/.config/telebrowser/tokens
    owner: agent
  no_log: true

- name: Take it away again
  telebrowser.telebrowser.project_token:
    project: shop
    dest: /home/agent/.config/telebrowser/tokens
    state: absent
"""

RETURN = r"""
project:
  description: The project.
  returned: always
  type: str
  sample: shop
fingerprint:
  description: First 12 hexadecimal digits of the SHA-256 of the token. None with O(state=absent).
  returned: always
  type: str
  sample: 7a90bb12d0c4
dest:
  description: The file of tokens. None when none was given.
  returned: always
  type: str
  sample: /home/agent/.config/telebrowser/tokens
token:
  description: The token.
  returned: when O(return_token=true) and O(state=present)
  type: str
  sample: shop.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"""

import os
from typing import Any, Dict, List, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens
from ansible_collections.telebrowser.telebrowser.plugins.module_utils._secret_file import read_secret

MAX_FILE = 1 << 20


def token_of(params: Dict[str, Any]) -> Optional[str]:
    """The token that the parameters give; None when it is to be taken away. Raises `tokens.TokenError` and `private.FileError`."""
    project = tokens.check_project(params["project"])
    if params["state"] == "absent":
        return None
    if params["token"] is not None:
        token = params["token"].strip()
        named = tokens.project_of(token)
        if named != project:
            raise tokens.TokenError("the token is one of the project %s, not of %s" % (named, project))
        return token
    if params["secret"] is not None:
        return tokens.derive(tokens.check_secret(params["secret"].encode("utf-8"), "secret"), project)
    return tokens.derive(read_secret(params["secrets_directory"]), project)


def lines_with(lines: List[str], project: str, token: Optional[str]) -> List[str]:
    """The lines of a file of tokens with the project's one set to ``token``, or removed; its place and the other lines stay."""
    result = []
    placed = token is None
    for line in lines:
        if line.strip().rpartition(".")[0] != project:
            result.append(line)
        elif not placed:
            result.append(token)
            placed = True
    return result if placed else [*result, token]


def fingerprints(lines: List[str]) -> List[str]:
    """A file of tokens for a diff: the project and fingerprint of each line."""
    result = []
    for line in lines:
        word = line.strip()
        if word:
            try:
                result.append("%s %s" % (tokens.project_of(word), tokens.fingerprint(word.encode("ascii"))))
            except tokens.TokenError:
                result.append("(not a token)")
    return result


def run(module: AnsibleModule) -> Dict[str, Any]:
    """The result of the module. Raises `tokens.TokenError` and `private.FileError`."""
    params = module.params
    token = token_of(params)
    result = {
        "changed": False,
        "project": params["project"],
        "fingerprint": None if token is None else tokens.fingerprint(token.encode("ascii")),
        "dest": params["dest"],
    }  # type: Dict[str, Any]
    if params["return_token"] and token is not None:
        result["token"] = token
    if params["dest"] is not None:
        result.update(place(params, token, module.check_mode))
    return result


def place(params: Dict[str, Any], token: Optional[str], check_mode: bool) -> Dict[str, Any]:
    """Bring the project's line into or out of the file; whether that changed it, and the diff."""
    path = params["dest"]
    uid, gid = private.find_user(params["owner"]), private.find_group(params["group"])
    parent, name = os.path.split(path)
    if not name:
        raise private.FileError("dest must be a file, not the folder %s" % path)
    folder = private.open_folder(parent, follow=True)
    if folder is None:
        if token is None:
            return {}
        if not check_mode:
            raise private.FileError("there is no folder %s; make it first, with the owner that the launcher runs as" % parent)
        return {"changed": True, "diff": {"before": {"tokens": []}, "after": {"tokens": fingerprints([token])}}}
    try:
        private.lock(folder, parent)
        file = private.read(folder, name, path)
        if file is not None and len(file.content) > MAX_FILE:
            raise private.FileError("%s is too large for a file of tokens" % path)
        before = [] if file is None else file.content.decode("utf-8", "surrogateescape").splitlines()
        after = lines_with(before, params["project"], token)
        crooked = file is not None and private.needs_adjusting(file.uid, file.gid, file.mode, uid, gid, private.FILE_MODE)
        changed = after != before or crooked
        if changed and not check_mode:
            info = os.fstat(folder)
            old_uid, old_gid = (info.st_uid, info.st_gid) if file is None else (file.uid, file.gid)
            content = "".join(line + "\n" for line in after).encode("utf-8", "surrogateescape")
            private.write(folder, name, content, old_uid if uid is None else uid, old_gid if gid is None else gid, path)
        return {
            "changed": changed,
            "diff": {
                "before": {"tokens": fingerprints(before), **({"permissions": "%d:%d %04o" % (file.uid, file.gid, file.mode)} if crooked else {})},
                "after": {"tokens": fingerprints(after)},
            },
        }
    finally:
        os.close(folder)


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "project": {"type": "str", "required": True},
            "secrets_directory": {"type": "path", "no_log": False},
            "secret": {"type": "str", "no_log": True},
            "token": {"type": "str", "no_log": True},
            "dest": {"type": "path"},
            "owner": {"type": "str"},
            "group": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "return_token": {"type": "bool", "default": False, "no_log": False},
        },
        mutually_exclusive=[("secret", "token")],
        required_if=[
            ("state", "present", ("secrets_directory", "secret", "token"), True),
            ("state", "absent", ("dest",)),
        ],
        supports_check_mode=True,
    )
    try:
        result = run(module)
    except (tokens.TokenError, private.FileError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

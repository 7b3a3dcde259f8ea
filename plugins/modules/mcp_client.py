#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_client
short_description: Register the launcher with an MCP client
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - Puts the launcher into the configuration file of an MCP client, as C(telebrowser config) prints it, or takes it out.
  - Everything else in the file stays, in TOML its comments too. What a person added to the launcher's own entry stays as well.
  - The file is read and written as O(user), so that a link in a home directory leads nowhere where that user could not write. A link of that user's own,
    as dotfiles have them, is followed.
  - A file that cannot be changed without loss, as JSON with comments, is left as it is, and the task fails.
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes
  - telebrowser.telebrowser.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - Shows the launcher's entry only, since the rest of the file may hold keys of other servers.
  idempotent:
    support: full
options:
  client:
    description: The client whose file it is.
    type: str
    choices: [claude, codex, cursor, opencode, vscode]
    required: true
  path:
    description:
      - The client's configuration file. Usual are C(.claude.json), C(.codex/config.toml), C(.cursor/mcp.json), C(.config/opencode/opencode.json) and
        C(.config/Code/User/mcp.json) in the user's home.
      - A missing file is made with mode V(0600), missing folders with V(0700).
    type: path
    required: true
  user:
    description: User as whom the file is read and written, by name. By default the one that the module runs as.
    type: str
  name:
    description: Name of the server in that file.
    type: str
    default: telebrowser
  command:
    description: Absolute path of the launcher. Needed with O(state=present).
    type: path
  args:
    description: Its arguments.
    type: list
    elements: str
    default: [mcp]
  env:
    description:
      - Variables for it. V(TELEBROWSER_URL) and V(TELEBROWSER_CONFIG_DIR) are removed when they are not given here; other variables in the file stay.
      - Never the secret. It belongs into the launcher's folder, in a file that only its user can read.
    type: dict
    default: {}
  backup:
    description: Keep a copy of the file before it is changed, beside it.
    type: bool
    default: false
  state:
    description: Whether the server is in the file.
    type: str
    choices: [present, absent]
    default: present
requirements:
  - Python 3.11 or newer on the managed host for O(client=codex)
"""

EXAMPLES = r"""
- name: Register the launcher with Codex CLI
  telebrowser.telebrowser.mcp_client:
    client: codex
    path: /home/anna/.codex/config.toml
    user: anna
    command: /opt/telebrowser/bin/telebrowser
    backup: true

- name: Take it out of Claude Code
  telebrowser.telebrowser.mcp_client:
    client: claude
    path: /home/anna/.claude.json
    user: anna
    state: absent
"""

RETURN = r"""
path:
  description: The file.
  returned: always
  type: str
  sample: /home/anna/.codex/config.toml
backup_file:
  description: The copy from before.
  returned: when changed, with O(backup=true) and a file before
  type: str
  sample: /home/anna/.codex/config.toml.4711.2026-12-01@10:00:00~
"""

import contextlib
import json
import os
import pwd
import stat
from typing import Any, Dict, Iterator, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _mcp_clients as clients

MAX_FILE = 64 << 20


@contextlib.contextmanager
def acting_as(user: Optional[str]) -> Iterator[None]:
    """What happens within happens with the rights of ``user``. Raises `clients.ClientError`."""
    if user is None:
        yield
        return
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise clients.ClientError("there is no user %r on this host" % user) from None
    if os.geteuid() == account.pw_uid:
        yield
        return
    if os.geteuid() != 0:
        raise clients.ClientError("only root may act as the user %s; use become" % user)
    groups, gid = os.getgroups(), os.getegid()
    os.setgroups(os.getgrouplist(user, account.pw_gid))
    os.setegid(account.pw_gid)
    os.seteuid(account.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        os.setgroups(groups)


def read(path: str) -> Optional[str]:
    """The text of the file, None when there is none. Raises `clients.ClientError`."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
                raise clients.ClientError("%s is not a configuration file" % path)
            return file.read().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise clients.ClientError("cannot read %s: %s" % (path, getattr(error, "strerror", None) or "it is not UTF-8")) from None


def write(path: str, text: str) -> None:
    """Replace the file that the path leads to in one step; its mode stays. Raises `clients.ClientError`."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, ".%s.%d.%s" % (os.path.basename(target), os.getpid(), os.urandom(4).hex()))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            mode = stat.S_IMODE(os.stat(target).st_mode)
        except FileNotFoundError:
            mode = 0o600
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(descriptor)
            os.rename(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise clients.ClientError("cannot write %s: %s" % (path, error.strerror)) from None


def shown(client: str, text: Optional[str], name: str) -> str:
    """The entry alone, for the diff."""
    if text is None:
        return ""
    section = clients.SECTIONS[client]
    data = clients._read_toml(text) if client == "codex" else clients._read_json(text)
    found = data.get(section, {}).get(name)
    if not isinstance(found, dict):
        return ""
    for variables in ("env", "environment"):
        if isinstance(found.get(variables), dict):
            # A person may have put a secret there.
            found[variables] = {key: value if key in clients.OWN_VARIABLES else "(kept)" for key, value in found[variables].items()}
    return json.dumps(found, indent=2, ensure_ascii=False, default=str) + "\n"


def run(module: AnsibleModule) -> Dict[str, Any]:
    """The result of the module. Raises `clients.ClientError`."""
    params = module.params
    path, client, name = params["path"], params["client"], params["name"]
    server = None
    if params["state"] == "present":
        if not os.path.isabs(params["command"] or ""):
            raise clients.ClientError("command must be an absolute path, since a client starts it in any folder; it is %s" % params["command"])
        server = clients.Server(name, params["command"], params["args"], {key: str(value) for key, value in params["env"].items()})
    result = {"changed": False, "path": path}  # type: Dict[str, Any]
    with acting_as(params["user"]):
        before = read(path)
        if before is None and server is None:
            return result
        try:
            after = clients.changed(client, before or "", name, server)
        except clients.ClientError as error:
            raise clients.ClientError("%s was left as it is: %s" % (path, error)) from None
        result["changed"] = after != before
        result["diff"] = {
            "before_header": "%s (%s)" % (path, name),
            "after_header": "%s (%s)" % (path, name),
            "before": shown(client, before, name),
            "after": shown(client, after, name),
        }
        if result["changed"] and not module.check_mode:
            if params["backup"] and before is not None:
                result["backup_file"] = module.backup_local(path)
            write(path, after)
    return result


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "client": {"type": "str", "choices": sorted(clients.SECTIONS), "required": True},
            "path": {"type": "path", "required": True},
            "user": {"type": "str"},
            "name": {"type": "str", "default": "telebrowser"},
            "command": {"type": "path"},
            "args": {"type": "list", "elements": "str", "default": ["mcp"]},
            "env": {"type": "dict", "default": {}},
            "backup": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ("command",))],
        supports_check_mode=True,
    )
    try:
        result = run(module)
    except clients.ClientError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

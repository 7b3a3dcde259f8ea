#!/usr/bin/python
# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: secret
short_description: Make, rotate or remove the secret of a browser host
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - Keeps the secret from which the tokens of all projects are derived, in the folder that the gateway reads.
  - The gateway notices a change within a second. Nothing has to be restarted, and sessions that are connected go on.
  - A rotation keeps the old secret as C(secret.previous) for O(grace) seconds, so that agents that still have old tokens go on until they are told.
  - The secret itself is never returned and never part of a diff. What is shown is its fingerprint, the first 12 hexadecimal digits of its SHA-256.
notes:
  - The folder gets mode V(0700) and the files V(0600). The gateway refuses a secret that others can read, so there is no option for them.
  - Files are replaced in one step, and links in the folder are not followed.
extends_documentation_fragment:
  - telebrowser.telebrowser.attributes
  - telebrowser.telebrowser.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - Shows fingerprints, owners and modes only.
  idempotent:
    support: partial
    details:
      - O(state=rotated) changes nothing while O(grace) or O(max_age) guard the secret. With O(force=true), or with O(keep_previous=false) and no
        O(max_age), every run rotates.
options:
  secrets_directory:
    description:
      - Folder with the files C(secret) and C(secret.previous). It is made when it is missing; its parent is not.
    type: path
    required: true
  state:
    description:
      - V(present) makes a secret where there is none, and mends owners and modes.
      - V(rotated) replaces it by a new one. It changes nothing while the secret before it is still accepted, because agents that have not been told
        of the last rotation would be cut off; see O(force).
      - V(absent) removes both files, and the folder when nothing else is in it. All tokens are dead then.
      - With V(present) and V(rotated) a C(secret.previous) that is older than O(grace) is removed.
    type: str
    choices: [present, rotated, absent]
    default: present
  value:
    description:
      - The secret to put there, instead of a random one. When another one is there, it is rotated.
      - At least 16 bytes. Use as much randomness as a random one has, 32 bytes, since a fingerprint lets others try guesses.
    type: str
  owner:
    description: User who owns the folder and the files, by number or name. By default the owners stay as they are.
    type: str
  group:
    description: Group of the folder and the files, by number or name. By default the groups stay as they are.
    type: str
  grace:
    description:
      - Seconds for which the gateway accepts the previous secret. Must be the gateway's own setting, C(TELEBROWSER_SECRET_GRACE).
    type: int
    default: 86400
  max_age:
    description:
      - With O(state=rotated), rotate only a secret that is older than this many seconds. For playbooks that run by a timer.
    type: int
  force:
    description:
      - Rotate in any case. The secret before the present one is thrown away, though it may still be in its grace.
    type: bool
    default: false
  keep_previous:
    description:
      - Whether the old secret is kept for the grace. Set to V(false) when it has leaked; all its tokens are dead at once.
      - With V(false), a previous secret that lies there from before is removed too.
    type: bool
    default: true
seealso:
  - module: telebrowser.telebrowser.project_token
"""

EXAMPLES = r"""
- name: Make the secret of the browser host
  telebrowser.telebrowser.secret:
    secrets_directory: /etc/telebrowser/secrets
    owner: "1000"
    group: "1000"

- name: Rotate it, at most once a month
  telebrowser.telebrowser.secret:
    secrets_directory: /etc/telebrowser/secrets
    state: rotated
    max_age: "{{ 30 * 24 * 3600 }}"

- name: Rotate it after a leak, every old token dies at once
  telebrowser.telebrowser.secret:
    secrets_directory: /etc/telebrowser/secrets
    state: rotated
    force: true
    keep_previous: false

- name: Use the secret of the other browser host
  telebrowser.telebrowser.secret:
    secrets_directory: /etc/telebrowser/secrets
    value: "{{ telebrowser_shared_secret }}"
  no_log: true
"""

RETURN = r"""
path:
  description: The file of the secret.
  returned: always
  type: str
  sample: /etc/telebrowser/secrets/secret
fingerprint:
  description: First 12 hexadecimal digits of the SHA-256 of the secret. None when there is none, or when check mode would make a random one.
  returned: always
  type: str
  sample: 3f1c0a9be412
previous_fingerprint:
  description: The same of the previous secret. None when there is none.
  returned: always
  type: str
  sample: 0be7d3a91c55
previous_until:
  description: When the gateway ceases to accept the previous secret, in UTC. None when there is none, or when it was kept in check mode.
  returned: always
  type: str
  sample: '2026-12-01T10:00:00+00:00'
rotated:
  description: Whether an old secret was replaced.
  returned: always
  type: bool
  sample: false
reason:
  description: Why a secret was made, rotated or left as it is.
  returned: always
  type: str
  sample: the previous secret is accepted until 2026-12-01T10:00:00+00:00
"""

import contextlib
import datetime
import os
import stat
import time
from typing import Any, Dict, NamedTuple, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens

SECRET = "secret"
PREVIOUS = "secret.previous"
MAX_GRACE = 2592000
KEEP = "keep"
MAKE = "make"
ROTATE = "rotate"
REMOVE = "remove"


class Found(NamedTuple):
    """The two secrets of a folder and when they were written."""

    secret: Optional[bytes] = None
    modified: float = 0.0
    previous: Optional[bytes] = None
    previous_modified: float = 0.0


class Plan(NamedTuple):
    """What to do with the secret, whether the previous one goes, and why."""

    action: str
    reason: str
    drop_previous: bool = False


def decide(params: Dict[str, Any], found: Found, now: float) -> Plan:
    """What the parameters ask of what was found. Raises `tokens.TokenError` when they ask for what would cut off agents."""
    if params["state"] == "absent":
        there = found.secret is not None or found.previous is not None
        return Plan(REMOVE if there else KEEP, "asked for" if there else "there is none")
    until = found.previous_modified + params["grace"]
    # A rotation that was cut off half-way leaves the same secret in both files: nothing is lost by doing it again.
    in_grace = found.previous is not None and found.previous != found.secret and now < until
    drop = found.previous is not None and (now >= until or not params["keep_previous"])
    if found.secret is None:
        return Plan(MAKE, "there was none", drop)
    value = None if params["value"] is None else params["value"].encode("utf-8")
    if value is not None:
        if value == found.secret:
            return Plan(KEEP, "it is the given one", drop)
        if in_grace and params["keep_previous"] and not params["force"]:
            raise tokens.TokenError(
                "the given secret is another one, but the previous secret is accepted until %s; its agents would be cut off: wait, or set force" % iso(until)
            )
        return Plan(ROTATE, "the given secret is another one", drop)
    if params["state"] == "present":
        return Plan(KEEP, "there is one", drop)
    if params["force"]:
        return Plan(ROTATE, "forced", drop)
    if in_grace and params["keep_previous"]:
        return Plan(KEEP, "the previous secret is accepted until %s" % iso(until), drop)
    age = max(0, int(now - found.modified))
    if params["max_age"] is not None and age < params["max_age"]:
        return Plan(KEEP, "it is %d s old, less than %d" % (age, params["max_age"]), drop)
    return Plan(ROTATE, "asked for", drop)


def iso(moment: float) -> str:
    """A time in UTC, as text."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).isoformat(timespec="seconds")


def check(params: Dict[str, Any]) -> None:
    """Raise `tokens.TokenError` for values out of range."""
    if not 0 <= params["grace"] <= MAX_GRACE:
        raise tokens.TokenError("grace must be from 0 to %d seconds; it is %d" % (MAX_GRACE, params["grace"]))
    if params["max_age"] is not None and params["max_age"] < 0:
        raise tokens.TokenError("max_age must not be negative")
    if params["value"] is not None:
        value = params["value"].encode("utf-8")
        if tokens.check_secret(value, "value") != value:
            raise tokens.TokenError("value ends in a newline; use the trim filter")


class Folder:
    """The folder of the secrets: read once, then changed as planned."""

    def __init__(self, path: str, owner: Optional[str], group: Optional[str], lenient: bool = False) -> None:
        self.path = path
        self.lenient = lenient
        self.uid = private.find_user(owner)
        self.gid = private.find_group(group)
        # The folder itself is the operator's word, so the last part of its path may be a link.
        self.descriptor = private.open_folder(path, follow=True)
        self.files = {}  # type: Dict[str, Optional[private.PrivateFile]]
        self.info = None  # type: Optional[os.stat_result]
        if self.descriptor is not None:
            try:
                private.lock(self.descriptor, path)
                self.look()
            except private.FileError:
                os.close(self.descriptor)
                raise

    def look(self) -> None:
        """Read what is there."""
        self.info = os.fstat(self.descriptor)
        self.files = {name: self._read(name) for name in (SECRET, PREVIOUS)}

    def _read(self, name: str) -> Optional[private.PrivateFile]:
        try:
            return private.read(self.descriptor, name, self.file(name))
        except private.FileError:
            # What is to be removed need not be a secret.
            if self.lenient:
                return private.PrivateFile(b"", 0.0, 0, 0, private.FILE_MODE)
            raise

    def close(self) -> None:
        """Let another run at it."""
        if self.descriptor is not None:
            os.close(self.descriptor)

    def file(self, name: str) -> str:
        """The path of a file in it, for people."""
        return os.path.join(self.path, name)

    def found(self, now: float, grace: int) -> Found:
        """The secrets. Raises `tokens.TokenError` for a present secret that the gateway would refuse."""
        current, previous = self.files.get(SECRET), self.files.get(PREVIOUS)
        if self.lenient:
            return Found(None if current is None else current.content.rstrip(b"\r\n"), 0.0, None if previous is None else previous.content.rstrip(b"\r\n"))
        secret = None if current is None else tokens.check_secret(current.content, self.file(SECRET))
        old = None if previous is None else previous.content.rstrip(b"\r\n")
        if old is not None and now < previous.modified + grace:
            tokens.check_secret(old, self.file(PREVIOUS))
        return Found(secret, 0.0 if current is None else current.modified, old, 0.0 if previous is None else previous.modified)

    def make(self) -> None:
        """Make the folder. Raises `private.FileError`."""
        try:
            os.mkdir(self.path, private.FOLDER_MODE)
        except FileExistsError:
            pass
        except OSError as error:
            raise private.FileError("cannot make the folder %s: %s; its parent must be there" % (self.path, error.strerror)) from None
        self.descriptor = private.open_folder(self.path)
        if self.descriptor is None:
            raise private.FileError("the folder %s vanished while it was made" % self.path)
        private.lock(self.descriptor, self.path)
        private.adjust_folder(self.descriptor, self.uid, self.gid, self.path)
        self.look()

    def crooked(self) -> Dict[str, Any]:
        """Owner, group and mode of what is not as wanted, by name; '.' is the folder."""
        result = {}
        if self.info is not None and private.needs_adjusting(
            self.info.st_uid, self.info.st_gid, stat.S_IMODE(self.info.st_mode), self.uid, self.gid, private.FOLDER_MODE
        ):
            result["."] = (self.info.st_uid, self.info.st_gid, stat.S_IMODE(self.info.st_mode))
        for name, file in self.files.items():
            if file is not None and private.needs_adjusting(file.uid, file.gid, file.mode, self.uid, self.gid, private.FILE_MODE):
                result[name] = (file.uid, file.gid, file.mode)
        return result

    def straighten(self) -> None:
        """Give folder and files their owner, group and mode."""
        for name in self.crooked():
            if name == ".":
                private.adjust_folder(self.descriptor, self.uid, self.gid, self.path)
            else:
                private.adjust(self.descriptor, name, self.uid, self.gid, private.FILE_MODE, self.file(name))

    def write(self, name: str, secret: bytes) -> None:
        """Put a secret into a file, owned as wanted, else as the folder is."""
        uid = self.info.st_uid if self.uid is None else self.uid
        gid = self.info.st_gid if self.gid is None else self.gid
        private.write(self.descriptor, name, secret + b"\n", uid, gid, self.file(name))

    def remove(self, name: str) -> None:
        """Remove a file."""
        private.remove(self.descriptor, name, self.file(name))

    def remove_if_empty(self) -> None:
        """Remove the folder when nothing is in it; what else is there is not ours."""
        with contextlib.suppress(OSError):
            os.rmdir(self.path)


def carry_out(folder: Folder, plan: Plan, found: Found, params: Dict[str, Any]) -> None:
    """Do what was planned."""
    if plan.action == REMOVE:
        folder.remove(SECRET)
        folder.remove(PREVIOUS)
        folder.remove_if_empty()
        return
    if params["state"] == "absent":
        return
    if folder.descriptor is None:
        folder.make()
        if folder.files[SECRET] is not None:
            raise private.FileError("another process made a secret in %s at this moment; run again" % folder.path)
    folder.straighten()
    if plan.drop_previous:
        folder.remove(PREVIOUS)
    if plan.action in (MAKE, ROTATE):
        fresh = os.urandom(32).hex() if params["value"] is None else params["value"]
        if plan.action == ROTATE and params["keep_previous"]:
            # First: were it written last, a run that is cut off between the two would have lost the old secret.
            folder.write(PREVIOUS, found.secret)
        folder.write(SECRET, fresh.encode("utf-8"))
    folder.look()


def shown(secret: Optional[bytes]) -> Optional[str]:
    """The fingerprint of a secret, or None."""
    if secret is None:
        return None
    return tokens.fingerprint(secret) if secret else "(not a secret)"


def described(folder: Folder, found: Found) -> Dict[str, Any]:
    """The folder for a diff."""
    result = {"secret": shown(found.secret), "previous": shown(found.previous)}  # type: Dict[str, Any]
    for name, (uid, gid, mode) in folder.crooked().items():
        result["permissions of %s" % ("the folder" if name == "." else name)] = "%d:%d %04o" % (uid, gid, mode)
    return result


def foreseen(plan: Plan, found: Found, params: Dict[str, Any]) -> Found:
    """What check mode says will be there; a random secret cannot be foreseen and is None."""
    if plan.action == REMOVE:
        return Found()
    value = None if params["value"] is None else params["value"].encode("utf-8")
    previous, since = (None, 0.0) if plan.drop_previous else (found.previous, found.previous_modified)
    if plan.action == ROTATE:
        previous, since = (found.secret, 0.0) if params["keep_previous"] else (None, 0.0)
    return Found(value if plan.action in (MAKE, ROTATE) else found.secret, 0.0, previous, since)


def run(module: AnsibleModule) -> Dict[str, Any]:
    """The result of the module. Raises `tokens.TokenError` and `private.FileError`."""
    params = module.params
    check(params)
    folder = Folder(params["secrets_directory"], params["owner"], params["group"], params["state"] == "absent")
    try:
        return converge(folder, params, module.check_mode)
    finally:
        folder.close()


def converge(folder: Folder, params: Dict[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Bring the folder to what the parameters ask, or say what that would change."""
    found = folder.found(time.time(), params["grace"])
    plan = decide(params, found, time.time())
    gone = params["state"] == "absent"
    changed = plan.action != KEEP or plan.drop_previous or (not gone and bool(folder.crooked()))
    before = described(folder, found)
    if not changed:
        after, described_after = found, before
    elif check_mode:
        after = foreseen(plan, found, params)
        described_after = {"secret": shown(after.secret), "previous": shown(after.previous)}
        if plan.action in (MAKE, ROTATE) and after.secret is None:
            described_after["secret"] = "(a new one)"
    else:
        carry_out(folder, plan, found, params)
        after = Found() if gone else folder.found(time.time(), params["grace"])
        described_after = {"secret": shown(after.secret), "previous": shown(after.previous)}
    until = iso(after.previous_modified + params["grace"]) if after.previous is not None and after.previous_modified else None
    return {
        "changed": changed,
        "path": folder.file(SECRET),
        "fingerprint": shown(after.secret),
        "previous_fingerprint": shown(after.previous),
        "previous_until": until,
        "rotated": plan.action == ROTATE,
        "reason": plan.reason,
        "diff": {"before": before, "after": described_after},
    }


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "secrets_directory": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "rotated", "absent"], "default": "present"},
            "value": {"type": "str", "no_log": True},
            "owner": {"type": "str"},
            "group": {"type": "str"},
            "grace": {"type": "int", "default": 86400},
            "max_age": {"type": "int"},
            "force": {"type": "bool", "default": False},
            "keep_previous": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    try:
        result = run(module)
    except (tokens.TokenError, private.FileError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Derive seccomp.json, the system calls that the browser container may make, from Docker's default profile.

    derive.py default.json > ../seccomp.json

``default.json`` is `profiles/seccomp/default.json` of github.com/moby/profiles (Apache-2.0); `BASE` below names the version in use and
the digest of its content. Everything that Docker allows stays allowed under the same conditions, and what Docker refuses stays refused
but for `ADDED`. Each row says what needs it, because a row that nothing needs any more should go.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

BASE = {"version": "github.com/moby/profiles/seccomp v0.2.3", "sha256": "9da637d2ab0a204fcbd91bd88f1be9e004a3acab61c571a9f5b8870e588a17d2"}

# Flags of clone(2) and unshare(2) that stay refused: CLONE_NEWCGROUP and CLONE_NEWIPC. Left are CLONE_NEWUSER and, inside of a user
# namespace, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWNS and CLONE_NEWUTS. The kernel asks for CAP_SYS_ADMIN for all but the first, which
# nothing in the container has outside of a user namespace that it made itself.
REFUSED_FLAGS = 0x02000000 | 0x08000000


def _flags(index: int) -> list[dict[str, Any]]:
    return [{"index": index, "value": REFUSED_FLAGS, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]


ADDED: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "Chromium's sandbox starts its zygote in new user, process and network namespaces and each renderer in a process namespace; "
        "the walls start each browser in new user, mount, process and host name namespaces",
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": _flags(0), "excludes": {"arches": ["s390", "s390x"]}},
    ),
    (
        "the same where the flags are the second argument",
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": _flags(1), "includes": {"arches": ["s390", "s390x"]}},
    ),
    (
        "the walls enter the namespaces by unshare; Chromium and the supervisor try with it whether user namespaces can be had",
        {"names": ["unshare"], "action": "SCMP_ACT_ALLOW", "args": _flags(0)},
    ),
    (
        "the walls mount the one project's folders and the system's, read-only, into a new root; the kernel allows that only inside of "
        "a mount namespace that belongs to an own user namespace",
        {"names": ["mount", "umount2", "pivot_root"], "action": "SCMP_ACT_ALLOW"},
    ),
)


def derive(base: dict[str, Any]) -> dict[str, Any]:
    """The profile: ``base`` and `ADDED`."""
    return {**base, "syscalls": [*base["syscalls"], *(row for _, row in ADDED)]}


def digest(base: dict[str, Any]) -> str:
    """What `BASE` records of Docker's profile: independent of white space and order of keys."""
    return hashlib.sha256(json.dumps(base, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        base = json.load(file)
    if digest(base) != BASE["sha256"]:
        print(f"{sys.argv[1]} is not {BASE['version']}; its digest is {digest(base)}", file=sys.stderr)
        return 1
    json.dump(derive(base), sys.stdout, indent="\t")
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

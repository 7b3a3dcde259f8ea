# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Project -> token, for the modules and the filter. **Private** to the collection.

The services have the same derivation in telebrowser/tokens.py and project.py; a test of this collection compares the two.
What runs here must parse on Python 3.8, the oldest that a managed host may have, so the one cannot import the other.
"""

from __future__ import annotations

import hashlib
import hmac

SCRATCH = "scratch"
MAX_LENGTH = 64
DIGEST_LENGTH = 64
MIN_SECRET_BYTES = 16
MAX_SECRET_BYTES = 4096
FINGERPRINT_LENGTH = 12
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_ALLOWED = _LETTERS | frozenset("._-")
_HEX = frozenset("0123456789abcdef")


class TokenError(Exception):
    """One line for the operator; it never holds a secret or a token."""


def is_valid(name: str) -> bool:
    """Whether ``name`` can name a project as it is: ``[A-Za-z0-9][A-Za-z0-9._-]{0,63}``."""
    return 0 < len(name) <= MAX_LENGTH and name[0] in _LETTERS and _ALLOWED.issuperset(name)


def check_project(name: str) -> str:
    """``name``, or a `TokenError` that says what a project may be called."""
    if not is_valid(name):
        raise TokenError(
            "%r is not a project name: 1 to %d letters, digits, '.', '_' and '-', the first a letter or a digit; "
            "'telebrowser project' prints the name that a directory has" % (name, MAX_LENGTH)
        )
    return name


def check_secret(secret: bytes, source: str) -> bytes:
    """``secret`` without its trailing newline; a `TokenError` that names ``source`` when it is empty, short or too long."""
    secret = secret.rstrip(b"\r\n")
    if len(secret) < MIN_SECRET_BYTES:
        raise TokenError("%s holds %s bytes; a secret needs at least %d" % (source, len(secret) or "no", MIN_SECRET_BYTES))
    if len(secret) > MAX_SECRET_BYTES:
        raise TokenError("%s is larger than %d bytes; it cannot be a secret" % (source, MAX_SECRET_BYTES))
    return secret


def derive(secret: bytes, project: str) -> str:
    """The token of ``project``. Raises `TokenError` for what is not a project name."""
    name = check_project(project)
    return "%s.%s" % (name, hmac.new(secret, name.encode("ascii"), hashlib.sha256).hexdigest())


def project_of(token: str) -> str:
    """The project that a well-formed token names. Raises `TokenError` without repeating the token."""
    name, dot, digest = token.rpartition(".")
    if not dot or not is_valid(name) or len(digest) != DIGEST_LENGTH or not _HEX.issuperset(digest):
        raise TokenError("the token is not of the form <project>.<%d hexadecimal digits>" % DIGEST_LENGTH)
    return name


def fingerprint(value: bytes) -> str:
    """What may be shown of a secret or a token: enough to tell two apart, nothing to get in with."""
    return hashlib.sha256(value).hexdigest()[:FINGERPRINT_LENGTH]

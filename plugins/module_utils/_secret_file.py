# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The secret of a browser host, read where the gateway reads it. **Private** to the collection."""

from __future__ import annotations

import os
from typing import Any, Dict

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _private as private
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens

SECRET = "secret"


def read_secret(directory: str) -> bytes:
    """The secret in ``directory``. Raises `private.FileError` or `tokens.TokenError` when there is none that the gateway would take."""
    path = os.path.join(directory, SECRET)
    folder = private.open_folder(directory, follow=True)
    if folder is None:
        raise private.FileError("there is no folder %s; make the secret with telebrowser.telebrowser.secret first" % directory)
    try:
        file = private.read(folder, SECRET, path)
    finally:
        os.close(folder)
    if file is None:
        raise private.FileError("there is no secret %s; make it with telebrowser.telebrowser.secret first" % path)
    if file.mode & 0o077:
        raise private.FileError("the secret %s can be used by others (mode %04o); run: chmod 600 %s" % (path, file.mode, path))
    return tokens.check_secret(file.content, "the secret file %s" % path)


def project_token(params: Dict[str, Any], project: str) -> str:
    """The token of ``project``, given in ``params`` or derived from its folder of secrets."""
    if params.get("token") is None:
        return tokens.derive(read_secret(params["secrets_directory"]), tokens.check_project(project))
    token = params["token"].strip()
    named = tokens.project_of(token)
    if named != project:
        raise tokens.TokenError("the token is one of the project %s, not of %s" % (named, project))
    return token

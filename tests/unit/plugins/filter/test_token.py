# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.telebrowser.telebrowser.plugins.filter.token import FilterModule
from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens

SECRET = "s" * 32
token = FilterModule().filters()["token"]


@pytest.mark.parametrize("secret", [SECRET, SECRET + "\n", SECRET.encode()])
def test_the_token_of_a_project(secret):
    assert token(secret, "shop") == tokens.derive(SECRET.encode(), "shop")


@pytest.mark.parametrize(
    "secret, project, message",
    [
        (SECRET, "../x", "is not a project name"),
        ("short", "shop", "the secret holds 5 bytes"),
        (None, "shop", "takes the secret and the name of a project as strings"),
        (SECRET, 7, "takes the secret and the name of a project as strings"),
    ],
)
def test_what_has_no_token(secret, project, message):
    with pytest.raises(AnsibleFilterError, match=message) as error:
        token(secret, project)
    assert SECRET not in str(error.value)

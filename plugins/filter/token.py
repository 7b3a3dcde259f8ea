# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter ``telebrowser.telebrowser.token``."""

from __future__ import annotations

DOCUMENTATION = r"""
name: token
short_description: Derive the token of a project from the secret of a browser host
version_added: 0.1.0
author:
  - The telebrowser contributors (@telebrowser)
description:
  - The token opens this one project and no other. It is the same on every run, as long as the secret is.
  - A task that uses the filter needs C(no_log).
positional: project
options:
  _input:
    description: The secret. A newline at its end does not count.
    type: str
    required: true
  project:
    description: Name of the project, as C(telebrowser project) prints it.
    type: str
    required: true
seealso:
  - plugin: telebrowser.telebrowser.project_token
    plugin_type: module
"""

EXAMPLES = r"""
- name: Give an agent host the tokens of its projects
  ansible.builtin.copy:
    content: |
      {% for project in ['shop', 'blog'] %}
      {{ telebrowser_secret | telebrowser.telebrowser.token(project) }}
      {% endfor %}
    dest: /home/agent/.config/telebrowser/tokens
    mode: "0600"
  no_log: true
  diff: false
"""

RETURN = r"""
_value:
  description: The token.
  type: str
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _tokens as tokens


def token(secret: str, project: str) -> str:
    """The token of ``project``."""
    if not isinstance(secret, (str, bytes)) or not isinstance(project, str):
        raise AnsibleFilterError("telebrowser.telebrowser.token takes the secret and the name of a project as strings")
    content = secret.encode("utf-8") if isinstance(secret, str) else secret
    try:
        return tokens.derive(tokens.check_secret(content, "the secret"), project)
    except tokens.TokenError as error:
        raise AnsibleFilterError("telebrowser.telebrowser.token: %s" % error) from None


class FilterModule:
    """The collection's filters."""

    def filters(self):
        """By name."""
        return {"token": token}

# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """How a module reaches the gateway."""

    DOCUMENTATION = r"""
options:
  url:
    description:
      - Address of the gateway, as the managed host reaches it.
      - Environment proxies are not used and redirects are not followed, since the address of a request holds a token.
    type: str
    default: http://127.0.0.1:5858
  timeout:
    description: Seconds to wait for an answer of the gateway.
    type: int
    default: 90
  validate_certs:
    description: Whether the certificate of an C(https) address must be valid. Do not turn it off where others can listen.
    type: bool
    default: true
  ca_path:
    description: File of certificates to trust for an C(https) address, beside those of the host.
    type: path
"""

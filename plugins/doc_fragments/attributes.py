# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What every module of the collection says about itself."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return what would change without changing it.
  diff_mode:
    description: Returns details on what has changed, or possibly needs changing, when run with C(--diff).
  idempotent:
    description: When run twice in a row, with nothing changed in between, the second run reports no change.
  platform:
    description: Platforms on which the module runs.
    support: full
    platforms: posix
"""

    ACTION_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/telebrowser.telebrowser.telebrowser) in C(module_defaults) to set defaults for all modules of the collection.
    support: full
    membership:
      - telebrowser.telebrowser.telebrowser
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return what would change without changing it.
    support: full
    details:
      - Changes nothing.
  diff_mode:
    description: Returns details on what has changed, or possibly needs changing, when run with C(--diff).
    support: N/A
    details:
      - Changes nothing.
  idempotent:
    description: When run twice in a row, with nothing changed in between, the second run reports no change.
    support: full
    details:
      - Changes nothing.
  platform:
    description: Platforms on which the module runs.
    support: full
    platforms: posix
"""

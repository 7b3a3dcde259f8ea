# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.plugin_utils._imports import needed

FILES = {
    "__init__.py": b"",
    "py.typed": b"",
    "errors.py": b"",
    "config.py": b"from .errors import Error",
    "far.py": b"",
    "typed.py": b"",
    "late.py": b"import shop.far",
    "other/__init__.py": b"from . import own",
    "other/own.py": b"",
    "other/page.html": b"",
    "other/unused.py": b"",
    "other/deep/data.json": b"",
    "front/__init__.py": b"",
    "front/__main__.py": b"from typing import TYPE_CHECKING\nfrom .. import config\nif TYPE_CHECKING:\n    from ..typed import T\nimport shopping\n",
    "front/work.py": b"def work():\n    from ..late import x\n    from shop.other.own import y\n",
    "front/picture.svg": b"",
    "frontier.py": b"",
}


def test_what_a_part_needs():
    assert needed(FILES, "shop", "front") == {
        "__init__.py",
        "errors.py",
        "config.py",
        "far.py",
        "typed.py",
        "late.py",
        "other/__init__.py",
        "other/own.py",
        "other/page.html",
        "other/deep/data.json",
        "front/__init__.py",
        "front/__main__.py",
        "front/work.py",
        "front/picture.svg",
    }
    assert needed(FILES, "shop", "config") == {"__init__.py", "config.py", "errors.py"}


def test_a_part_that_is_not_there():
    with pytest.raises(ValueError, match="no part back"):
        needed(FILES, "shop", "back")

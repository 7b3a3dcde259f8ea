# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files of a Python package a part of it needs, read from its import statements."""

from __future__ import annotations

import ast
import posixpath

# This is private to the collection and may change in any release.
PRIVATE = True


def needed(contents, package, part):
    """The names of the files that run when ``<package>.<part>`` runs.

    ``contents`` are the package's files by their names below its folder. An import counts wherever it stands, in a function or for type checkers alone,
    so that what is found is never too little; a module that is named only in a text is not found. Other files of a package that is needed come with it.
    Raises `ValueError` when there is no such part.
    """
    modules = {module(name): name for name in contents if name.endswith(".py")}
    if part not in modules:
        raise ValueError("the package %s has no part %s" % (package, part))
    found, waiting = set(), {name for name in modules if (name + ".").startswith(part + ".")}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= parents(name) & set(modules)
            waiting |= imported(contents[modules[name]], package, name, modules[name].endswith("__init__.py")) & set(modules)
    folders = {posixpath.dirname(modules[name]) for name in found if modules[name].endswith("__init__.py")}
    beside = {name for name in contents if not name.endswith(".py") and any(inside(name, folder) for folder in folders - {""})}
    return {modules[name] for name in found} | beside


def module(name):
    """The module that a file is, below the package: ``gateway/web/app.py`` is ``gateway.web.app``, ``__init__.py`` the empty text."""
    parts = name[: -len(".py")].split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parents(name):
    """The packages around a module, which are imported before it."""
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(len(parts))}


def inside(name, folder):
    """Whether a file lies in a folder or below."""
    return name.startswith(folder + "/")


def imported(content, package, name, is_package):
    """What a module's import statements may name, below the package."""
    found = set()
    around = name.split(".") if name else []
    if not is_package:
        around = around[:-1]
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = [package] + around[: len(around) - node.level + 1] if node.level else []
            base = ".".join(above + ([node.module] if node.module else []))
            names = [base] + ["%s.%s" % (base, alias.name) for alias in node.names]
        else:
            continue
        found |= {own[len(package) + 1 :] for own in names if (own + ".").startswith(package + ".")}
    return found

"""The collection's own papers."""

from __future__ import annotations

import re
import sys

import pytest

from .support import ROLES, TOP, load

sys.path.insert(0, str(TOP / "files" / "telebrowser" / "src"))

from telebrowser import __version__

GALAXY = load(TOP / "galaxy.yml")
MODULES = sorted(path.stem for path in (TOP / "plugins" / "modules").glob("*.py"))
PLUGINS = sorted(path for path in (TOP / "plugins").rglob("*.py") if path.name != "__init__.py")


def test_one_version_everywhere() -> None:
    assert GALAXY["version"] == __version__


def test_it_says_on_which_ansible_it_runs() -> None:
    assert load(TOP / "meta" / "runtime.yml")["requires_ansible"] == ">=2.17.0"


def test_the_action_group_has_every_module() -> None:
    assert load(TOP / "meta" / "runtime.yml")["action_groups"] == {"telebrowser": MODULES}


def test_dependencies_have_a_floor_and_are_all() -> None:
    assert all(re.fullmatch(r">=\d+\.\d+\.\d+", floor) for floor in GALAXY["dependencies"].values())
    text = "\n".join(path.read_text(encoding="utf-8") for folder in ("roles", "playbooks") for path in (TOP / folder).rglob("*.yml"))
    used = set(re.findall(r"\b(ansible\.posix|containers\.podman|community\.[a-z_]+)\.[a-z_]+", text))
    assert used <= set(GALAXY["dependencies"])


@pytest.mark.parametrize("path", PLUGINS, ids=[str(path.relative_to(TOP)) for path in PLUGINS])
def test_plugins_carry_ansibles_licence(path) -> None:
    head = path.read_text(encoding="utf-8")[:400]
    assert "SPDX-License-Identifier: GPL-3.0-or-later" in head
    assert "from __future__ import annotations" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_a_test(module: str) -> None:
    assert (TOP / "tests" / "unit" / "plugins" / "modules" / f"test_{module}.py").exists()


@pytest.mark.parametrize("role", ROLES)
def test_a_role_says_what_it_is(role: str) -> None:
    info = load(TOP / "roles" / role / "meta" / "main.yml")["galaxy_info"]
    assert info["license"] == "Apache-2.0"
    assert info["description"]
    # What the collection runs on; a role must not say otherwise.
    assert info["min_ansible_version"] == "2.17"
    assert load(TOP / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["short_description"]


def test_every_play_has_hosts_that_an_inventory_names() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (TOP / "examples").rglob("*.y*ml"))
    for path in sorted((TOP / "playbooks").glob("*.yml")):
        for play in load(path):
            if "hosts" in play:
                groups = re.findall(r"telebrowser_\w+hosts|telebrowser_\w+", str(play["hosts"]))
                assert groups, f"{path.name}: {play['hosts']}"
                assert all(group in text for group in groups), f"{path.name}: {groups}"

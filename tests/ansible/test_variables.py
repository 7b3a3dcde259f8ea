"""Variables of the roles: each stands in the defaults and the specs alike, has a name of its role, and is told in its README."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .support import ROLES, TOP, all_tasks, assert_none, defaults, load, options, task_files, tasks_of

PREFIX = "telebrowser_"
# Names of the whole product, which an inventory sets once. They stand in every role that uses them, with one default.
SHARED = {
    "telebrowser_bind",
    "telebrowser_browser_name",
    "telebrowser_config_dir",
    "telebrowser_data_dir",
    "telebrowser_docker_host",
    "telebrowser_engine",
    "telebrowser_gateway_name",
    "telebrowser_gateway_network",
    "telebrowser_idle_minutes",
    "telebrowser_people_port",
    "telebrowser_pgid",
    "telebrowser_port",
    "telebrowser_puid",
    "telebrowser_remove_data",
    "telebrowser_secrets_dir",
    "telebrowser_secrets_grace_hours",
    "telebrowser_secrets_notify_urls",
    "telebrowser_selinux_label",
    "telebrowser_state",
    "telebrowser_view_port",
}
# YAML's name of a type → what a default of it may be.
TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "int": (int, str),
    "float": (float, int, str),
    "bool": (bool, str),
    "list": (list, str),
    "dict": (dict, str),
    "raw": (object,),
}


@pytest.mark.parametrize("role", ROLES)
def test_specs_repeat_the_defaults(role: str) -> None:
    given = defaults(role)
    specified = {name: option["default"] for name, option in options(role).items() if "default" in option}
    assert specified == given
    without = {name for name, option in options(role).items() if "default" not in option}
    assert not without & set(given)
    # What has no default must be set by the operator, and only that.
    assert_none([name for name in without if not options(role)[name].get("required")])


@pytest.mark.parametrize("role", ROLES)
def test_specs_say_what_each_variable_is(role: str) -> None:
    for name, option in options(role).items():
        assert option.get("description"), name
        assert option.get("type"), name
        assert option["type"] != "list" or option.get("elements"), name
        if "default" in option:
            assert isinstance(option["default"], TYPES[option["type"]]), name
            chosen = option["default"] if isinstance(option["default"], list) else [option["default"]]
            assert "choices" not in option or set(chosen) <= set(option["choices"]), name


@pytest.mark.parametrize("role", ROLES)
def test_names_are_of_the_role_or_shared(role: str) -> None:
    own = f"{PREFIX}{role}_"
    assert_none([name for name in options(role) if not name.startswith(own) and name not in SHARED])


def test_a_variable_of_several_roles_is_the_same_in_all() -> None:
    seen: dict[str, dict[str, Any]] = {}
    for role in ROLES:
        for name, option in options(role).items():
            seen.setdefault(name, {})[role] = {key: option.get(key) for key in ("type", "default", "choices", "elements", "no_log")}
    assert_none({name: roles for name, roles in seen.items() if len({repr(value) for value in roles.values()}) > 1})
    assert sorted(SHARED - set(seen)) == []


@pytest.mark.parametrize("role", ROLES)
def test_a_default_says_why_one_would_change_it(role: str) -> None:
    lines = (TOP / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8").split("\n")
    lonely = []
    explained = False
    for line in lines:
        if line.startswith("#"):
            explained = True
        elif not line.strip():
            explained = False
        elif re.match(r"\w+:", line) and not explained:
            lonely.append(line)
    assert_none(lonely)


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_is_in_the_readme(role: str) -> None:
    text = (TOP / "roles" / role / "README.md").read_text(encoding="utf-8")
    assert_none([name for name in options(role) if not re.search(rf"\b{name}\b", text)])


@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_keeps_for_itself_has_its_name(role: str) -> None:
    own = f"__{PREFIX}{role}_"
    wrong = []
    kept = dict.fromkeys(load(TOP / "roles" / role / "vars" / "main.yml") or {}, "vars/main.yml")
    for path in task_files(role):
        for task in tasks_of(load(path)):
            where = f"{path.name}: {task.get('name')}"
            kept.update(dict.fromkeys([task["register"]] if "register" in task else [], where))
            kept.update(dict.fromkeys(task.get("ansible.builtin.set_fact") or {}, where))
            kept.update(dict.fromkeys(task.get("vars") or {}, where))
            loop_variable = (task.get("loop_control") or {}).get("loop_var")
            kept.update({loop_variable: where} if loop_variable else {})
    wrong = [(name, where) for name, where in kept.items() if name != "cacheable" and not name.startswith(own) and not name.startswith("ansible_")]
    assert_none(wrong)


@pytest.mark.parametrize("role", ROLES)
def test_only_known_variables_are_used(role: str) -> None:
    """A misspelt name would be undefined only on the branch that uses it."""
    known = set(options(role)) | {name for name in SHARED if name in options(role)}
    used: dict[str, str] = {}
    folder = TOP / "roles" / role
    for path in [*task_files(role), *folder.glob("templates/**/*"), *folder.glob("vars/*.yml"), *folder.glob("defaults/*.yml")]:
        if path.is_file():
            for name in re.findall(r"(?<![\w.'/$@-])(telebrowser_\w+)\b(?!\()", _code(path.read_text(encoding="utf-8"))):
                used.setdefault(name, path.name)
    tags = {f"{PREFIX}{phase}" for phase in ("preflight", "install", "configure", "run", "verify", role)}
    assert_none({name: where for name, where in used.items() if name not in known | tags})


def _code(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))


def test_there_are_tasks() -> None:
    assert len(all_tasks()) > 100

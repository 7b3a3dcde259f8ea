"""What every task of the roles and playbooks keeps to, beyond what ansible-lint asks for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .support import ROLES, TOP, all_tasks, assert_none, load, tasks_of

TASKS = all_tasks()
PHASES = ("preflight", "install", "configure", "run", "verify")
# Modules whose `env` or `environment` an engine keeps for ever, for everybody who may inspect it.
SECRET_WORD = re.compile(r"secret|password|token|passwd|credential", re.I)
# What names a place or a switch, not a secret.
HARMLESS = re.compile(r"(_dir|_directory|_file|_grace|_hours|_path|_DIR|_FILE|_GRACE)$")


def text(value: Any) -> str:
    """All of a task's own words."""
    return repr({key: part for key, part in value.items() if key not in ("block", "rescue", "always", "name")})


@pytest.mark.parametrize("role", ROLES)
def test_handlers_wait_for_a_real_run(role: str) -> None:
    for handler in tasks_of(load(TOP / "roles" / role / "handlers" / "main.yml")):
        conditions = handler.get("when")
        conditions = conditions if isinstance(conditions, list) else [str(conditions)]
        assert any("not ansible_check_mode" in str(condition) for condition in conditions), handler["name"]


def test_no_secret_is_in_an_environment() -> None:
    found = []
    for where, task in TASKS:
        places = [task.get("environment")] + [value.get("env") for value in task.values() if isinstance(value, dict)]
        for place in places:
            items = place.items() if isinstance(place, dict) else [("", place)] if place else []
            for name, value in items:
                if (SECRET_WORD.search(str(name)) and not HARMLESS.search(str(name))) or re.search(r"lookup\(.*password|b64decode|\btoken\(", str(value)):
                    found.append((where, task.get("name"), name))
    assert_none(found)


def test_what_touches_secrets_is_not_logged() -> None:
    """A task that reads, makes or writes a secret or a token says `no_log: true`, and `diff: false` where it writes a file."""
    signs = re.compile(
        r"telebrowser\.telebrowser\.token\(|return_token|slurp.*secret|\bpassword\b.*(content|lookup)|lookup\(.*password|telebrowser_secrets_(value|view_password)\b"
    )
    # A condition on the length of a secret shows nothing.
    without = [
        (where, task["name"])
        for where, task in TASKS
        if signs.search(text({key: value for key, value in task.items() if key != "when"}))
        # These two show conditions and names, no values.
        and not {"ansible.builtin.include_tasks", "ansible.builtin.assert"} & set(task)
        and task.get("no_log") is not True
    ]
    assert_none(without)


def test_a_shell_is_never_needed() -> None:
    assert_none([(where, task["name"]) for where, task in TASKS if {"shell", "ansible.builtin.shell", "ansible.builtin.raw", "raw"} & set(task)])


def test_commands_with_variables_take_a_list() -> None:
    """A string would be taken apart at the blanks of what an operator has set."""
    commands = [(where, task["name"], task["ansible.builtin.command"]) for where, task in TASKS if "ansible.builtin.command" in task]
    lines = [(where, name, command if isinstance(command, str) else command.get("cmd", "")) for where, name, command in commands]
    assert_none([(where, name) for where, name, line in lines if "{{" in line])


def test_nothing_sleeps() -> None:
    assert_none([(where, task["name"]) for where, task in TASKS if "ansible.builtin.pause" in task or "sleep" in str(task.get("ansible.builtin.command", ""))])


def test_errors_are_not_swallowed() -> None:
    assert_none([(where, task["name"]) for where, task in TASKS if task.get("ignore_errors")])


@pytest.mark.parametrize("role", ROLES)
def test_main_only_leads_to_phases(role: str) -> None:
    steps = load(TOP / "roles" / role / "tasks" / "main.yml")
    order = []
    for step in steps:
        assert "ansible.builtin.include_tasks" in step or "ansible.builtin.import_tasks" in step, step["name"]
        included = step.get("ansible.builtin.include_tasks") or step["ansible.builtin.import_tasks"]
        file = included["file"] if isinstance(included, dict) else included
        assert "{{" in file or (TOP / "roles" / role / "tasks" / file).exists(), file
        tags = step.get("tags") or []
        assert f"telebrowser_{role}" in tags, step["name"]
        stem = file.removesuffix(".yml").rpartition("/")[2]
        if stem in PHASES:
            order.append(stem)
            assert f"telebrowser_{stem}" in tags, step["name"]
            if isinstance(included, dict) and "apply" in included:
                assert sorted(included["apply"]["tags"]) == sorted(tags), step["name"]
        if stem == "preflight":
            # Settings are checked whichever phase is asked for.
            assert {f"telebrowser_{phase}" for phase in PHASES} <= set(tags), step["name"]
    assert order == [phase for phase in PHASES if phase in order]

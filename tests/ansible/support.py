"""What the tests of the collection share: its top folder, its roles, and every task in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in (TOP / "roles").iterdir() if path.is_dir())
# Keywords under which a task holds further tasks.
BLOCKS = ("block", "rescue", "always")


def assert_none(wrong: Any) -> None:
    """Fail with one line for each of what should not be there."""
    assert not wrong, "\n" + "\n".join(f"{key}: {wrong[key]}" if isinstance(wrong, dict) else str(key) for key in wrong)


class Loader(yaml.SafeLoader):
    """YAML as Ansible writes it; what `!vault` and `!unsafe` hold is a string."""


for tag in ("!vault", "!unsafe"):
    Loader.add_constructor(tag, lambda loader, node: loader.construct_scalar(node))


def load(path: Path) -> Any:
    """A YAML file; None when there is none."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader) if path.exists() else None


def defaults(role: str) -> dict[str, Any]:
    """The defaults of a role."""
    return load(TOP / "roles" / role / "defaults" / "main.yml") or {}


def options(role: str) -> dict[str, dict[str, Any]]:
    """The options of a role's main entry point, as its argument_specs say."""
    return load(TOP / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]


def tasks_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every task in a list of tasks, those in blocks too."""
    for task in value or []:
        yield task
        for key in BLOCKS:
            yield from tasks_of(task.get(key))


def task_files(role: str) -> list[Path]:
    """The files of tasks and handlers of a role."""
    folder = TOP / "roles" / role
    return sorted([*folder.glob("tasks/**/*.yml"), *folder.glob("handlers/**/*.yml")])


def plays(path: Path) -> Iterator[dict[str, Any]]:
    """Every task of a playbook."""
    for play in load(path) or []:
        for key in ("pre_tasks", "tasks", "post_tasks", "handlers"):
            yield from tasks_of(play.get(key))


def all_tasks() -> list[tuple[str, dict[str, Any]]]:
    """Every task that the collection ships, with where it stands."""
    found = []
    for role in ROLES:
        for path in task_files(role):
            found += [(str(path.relative_to(TOP)), task) for task in tasks_of(load(path))]
    for path in sorted((TOP / "playbooks").glob("*.yml")):
        found += [(str(path.relative_to(TOP)), task) for task in plays(path)]
    return found

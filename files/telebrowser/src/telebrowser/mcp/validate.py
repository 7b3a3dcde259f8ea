"""Checking a tool call's arguments against its schema, with errors that name the argument."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from ..errors import TelebrowserError
from .tools import TOOLS, ToolDefinition

_VALIDATORS = {tool.name: Draft202012Validator(tool.schema()) for tool in TOOLS}


def validated(tool: ToolDefinition, arguments: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments without nulls. Raises ``INVALID_ARGS`` naming what is wrong and what is taken."""
    args = {name: value for name, value in (arguments or {}).items() if value is not None}
    unknown = sorted(set(args) - set(tool.properties))
    if unknown:
        raise TelebrowserError("INVALID_ARGS", f"{tool.name} has no argument {', '.join(unknown)}; it takes {', '.join(tool.properties)}")
    missing = [name for name in tool.required if name not in args]
    if missing:
        raise TelebrowserError("INVALID_ARGS", f"{tool.name} needs {', '.join(missing)}")
    error = best_match(_VALIDATORS[tool.name].iter_errors(args))
    if error is not None:
        where = ".".join(str(step) for step in error.absolute_path) or "arguments"
        raise TelebrowserError("INVALID_ARGS", f"{tool.name}: {where}: {_short(error.message, where, args)}")
    return args


def _short(message: str, where: str, args: dict[str, Any]) -> str:
    """The validator's words; a long value, which may be a secret text, is not repeated."""
    value = str(args.get(where, ""))
    if where in ("text", "expression"):
        return "it must be a string"
    return message if len(value) <= 60 else message.replace(repr(args.get(where)), "the value")

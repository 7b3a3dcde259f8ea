"""What may be asked for: limits and checks that HTTP and MCP share."""

from __future__ import annotations

from typing import Any

from ...errors import TelebrowserError
from .machine import Condition

MAX_WAIT_SECONDS = 3600
MAX_PART = 500


def parse_condition(value: Any) -> Condition | None:
    """``{"url", "selector", "text"}``, each a text and none needed. Raises `TelebrowserError` INVALID_ARGS."""
    if value is None:
        return None
    names = Condition._fields
    if not isinstance(value, dict) or not value or set(value) - set(names):
        raise TelebrowserError("INVALID_ARGS", f"done_when must be an object with {', '.join(names)}, or some of them")
    for name, part in value.items():
        if not isinstance(part, str) or not part.strip() or len(part) > MAX_PART:
            raise TelebrowserError("INVALID_ARGS", f"done_when: {name} must be a text of 1 to {MAX_PART} characters")
    return Condition(**value)


def parse_seconds(name: str, value: Any) -> float:
    """A time to wait. Raises `TelebrowserError` INVALID_ARGS naming it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_WAIT_SECONDS:
        raise TelebrowserError("INVALID_ARGS", f"{name} must be from 0 to {MAX_WAIT_SECONDS} seconds")
    return float(value)

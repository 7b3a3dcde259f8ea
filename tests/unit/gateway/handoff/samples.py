"""Handoffs to test with."""

from __future__ import annotations

from typing import Any

from telebrowser.gateway.handoff.machine import Handoff


def sample(number: int = 1, **changes: Any) -> Handoff:
    """A handoff on a page of its own."""
    values: dict[str, Any] = {
        "id": f"h{number:016x}",
        "project": "shop",
        "session": "s1",
        "target": f"page-{number}",
        "reason": "Sign in at the shop",
        "desktop": "shared",
        "asked_at": 1000.0 + number,
        "deadline": 5000.0,
    }
    return Handoff(**values | changes)

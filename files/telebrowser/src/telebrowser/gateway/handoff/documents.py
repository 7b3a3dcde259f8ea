"""A handoff as JSON, for agents and people."""

from __future__ import annotations

import datetime
from typing import Any

from .machine import Handoff


def document(handoff: Handoff, position: int) -> dict[str, Any]:
    """All that may be told to whoever holds the project's token. Times are ISO 8601 in UTC."""
    return {
        "id": handoff.id,
        "project": handoff.project,
        "session": handoff.session,
        "agent": handoff.agent,
        "state": handoff.state,
        "reason": handoff.reason,
        "target": handoff.target,
        "done_when": {name: part for name, part in handoff.condition._asdict().items() if part is not None} if handoff.condition else None,
        "asked_at": _iso(handoff.asked_at),
        "deadline": _iso(handoff.deadline),
        "seen_at": _iso(handoff.seen_at),
        "ended_at": _iso(handoff.ended_at),
        "position": position,
        "via": handoff.via,
        "note": handoff.note,
        "page": {"url": handoff.url, "title": handoff.title} if handoff.settled else None,
        "cookies_saved": handoff.cookies_saved,
        "notified": handoff.notified_at is not None,
        "settled": handoff.settled,
    }


def short(handoff: Handoff, position: int) -> dict[str, Any]:
    """An open handoff in the status document."""
    told = ("id", "session", "agent", "reason", "asked_at", "deadline", "position")
    return {name: value for name, value in document(handoff, position).items() if name in told}


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")

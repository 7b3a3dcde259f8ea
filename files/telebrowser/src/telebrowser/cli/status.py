"""`telebrowser status`: the project's browser, for people and scripts."""

from __future__ import annotations

from typing import Any

from ..errors import EXIT_BROWSER, EXIT_OK
from .common import DATA_OPTIONS, address_of, plain, show
from .gateway import call
from .options import Arguments, Verb

VERB = Verb("status", "Show the project's browser: state, sessions, downloads, warnings.", DATA_OPTIONS)


def run(arguments: Arguments) -> int:
    """Print the status; the exit code tells a browser that was left down."""
    return report(arguments, call(address_of(arguments), "GET", "status"))


def report(arguments: Arguments, status: dict[str, Any]) -> int:
    """Print a status document of the gateway."""
    show(arguments, status, text_of(status))
    return EXIT_BROWSER if status.get("state") == "failed" else EXIT_OK


def text_of(status: dict[str, Any]) -> str:
    """The status document as lines of ``name  value``; what is absent is left out."""
    rows = [("project", status.get("project")), ("state", _state(status)), ("browser", status.get("browser"))]
    if status.get("state") == "up":
        rows.append(("idle", _idle(status)))
    rows.append(("hold until", status.get("hold_until")))
    rows += [("handoff", f"{handoff.get('id')}: {handoff.get('reason')}") for handoff in status.get("handoffs") or ()]
    rows += [("session", _session(session)) for session in status.get("sessions") or ()]
    downloads = status.get("downloads") or {}
    if downloads.get("directory"):
        rows.append(("downloads", f"{_count(downloads.get('files'), 'file')} in {downloads['directory']}"))
    rows.append(("view", status.get("view_url")))
    people = status.get("people") or {}
    if people.get("url"):
        rows.append(("people", f"{people['url']}, by {people.get('view')}"))
    gateway = status.get("gateway") or {}
    rows.append(("gateway", gateway.get("version") or status.get("version")))
    rows += [("warning", warning) for warning in status.get("warnings") or ()]
    return "\n".join(f"{name:<10}  {plain(value)}" for name, value in rows if value not in (None, ""))


def _state(status: dict[str, Any]) -> str:
    state = str(status.get("state"))
    details = []
    if status.get("pid"):
        details.append(f"pid {status['pid']}")
    if status.get("started_at"):
        details.append(f"since {status['started_at']}")
    if status.get("reason"):
        details.append(str(status["reason"]))
    return f"{state} ({', '.join(details)})" if details else state


def _idle(status: dict[str, Any]) -> str:
    seconds, minutes = int(status.get("idle_seconds") or 0), int(status.get("idle_minutes") or 0)
    return f"{seconds} s; " + (f"stopped after {_count(minutes, 'minute')}" if minutes else "never stopped")


def _session(session: dict[str, Any]) -> str:
    return f"{session.get('session')}: {_count(session.get('tabs'), 'tab')}, {_count(session.get('connections'), 'connection')}"


def _count(number: Any, what: str) -> str:
    return f"{number or 0} {what}" + ("" if number == 1 else "s")

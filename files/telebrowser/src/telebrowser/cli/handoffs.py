"""`telebrowser handoffs`: what agents ask people for, and the operator's word on it."""

from __future__ import annotations

from typing import Any

from ..errors import EXIT_OK
from .common import DATA_OPTIONS, address_of, plain, show
from .gateway import BROWSER_SECONDS, call
from .options import Arguments, Option, Verb, usage

ENDS = {"done": "done", "failed": "failed", "cancel": "cancelled"}

VERB = Verb(
    "handoffs",
    "List what the project's agents ask people for; with an ID show or end one.",
    (
        *DATA_OPTIONS,
        Option("all", "also those that have ended"),
        Option("done", "say that the step is done; its cookies are saved at once"),
        Option("failed", "say that it cannot be done"),
        Option("cancel", "call it off"),
        Option("note", "what the agent is told besides", "TEXT"),
    ),
    "[ID]",
    1,
)


def run(arguments: Arguments) -> int:
    """Print the list or the one, after ending it if that was asked."""
    asked = [state for flag, state in ENDS.items() if flag in arguments.flags]
    if len(asked) > 1 or (asked and not arguments.words):
        raise usage(VERB, "--done, --failed and --cancel take one ID, and exclude each other")
    if "note" in arguments.values and not asked:
        raise usage(VERB, "--note goes with --done, --failed or --cancel")
    address = address_of(arguments)
    if not arguments.words:
        listing = call(address, "GET", "handoffs")
        if "all" not in arguments.flags:
            listing = {"handoffs": [each for each in listing.get("handoffs") or () if each.get("state") == "open"]}
        rows = [_row(each) for each in listing.get("handoffs") or ()]
        show(arguments, listing, "\n".join(rows) or "nobody is asked for anything")
        return EXIT_OK
    ident = arguments.words[0]
    if not (ident.isascii() and ident.isalnum()):
        raise usage(VERB, f"{ident!r} is no ID")
    if asked:
        body = {"state": asked[0], "note": arguments.values.get("note", "")}
        one = call(address, "POST", f"handoffs/{ident}", seconds=BROWSER_SECONDS, body=body)
    else:
        one = call(address, "GET", f"handoffs/{ident}")
    show(arguments, one, text_of(one))
    return EXIT_OK


def _row(one: dict[str, Any]) -> str:
    state = str(one.get("state"))
    if state == "open" and one.get("position"):
        state = f"open, {one['position']} before it"
    return plain(f"{one.get('id')}  {state:<9}  {one.get('asked_at')}  {one.get('reason')}")


def text_of(one: dict[str, Any]) -> str:
    """One handoff as lines of ``name  value``; what is absent is left out."""
    page = one.get("page") or {}
    names = ("id", "state", "reason", "agent", "session", "asked_at", "deadline", "seen_at", "ended_at", "via", "note")
    rows = [(name.replace("_", " "), one.get(name)) for name in names] + [("page", page.get("url")), ("title", page.get("title"))]
    return "\n".join(f"{name:<10}  {plain(value)}" for name, value in rows if value not in (None, ""))

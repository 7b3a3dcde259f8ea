"""Answers of the upstream server with ours put into them. Whatever is not ours stays as it came."""

from __future__ import annotations

from typing import Any, NamedTuple

Message = dict[str, Any]

SCHEME = "telebrowser://"
SHARED_CAPABILITIES = ("tools", "resources", "prompts", "completions")
"""What the client is told we can do when the upstream server cannot: what we serve ourselves."""


class Listing(NamedTuple):
    """A method that lists something: the field of the rows, the field that names a row, and the capability that it needs."""

    rows: str
    name: str
    capability: str


LISTINGS = {
    "tools/list": Listing("tools", "name", "tools"),
    "resources/list": Listing("resources", "uri", "resources"),
    "resources/templates/list": Listing("resourceTemplates", "uriTemplate", "resources"),
    "prompts/list": Listing("prompts", "name", "prompts"),
}


def rows_of(method: str, answer: Message | None) -> list[Any]:
    """The rows of an answer to a listing method; none for an error."""
    rows = result_of(answer).get(LISTINGS[method].rows)
    return rows if isinstance(rows, list) else []


def names_of(method: str, answer: Message | None) -> frozenset[str]:
    """The names of the rows."""
    field = LISTINGS[method].name
    return frozenset(row[field] for row in rows_of(method, answer) if isinstance(row, dict) and isinstance(row.get(field), str))


def result_of(answer: Message | None) -> dict[str, Any]:
    """The result of an answer; empty for an error."""
    result = answer.get("result") if answer is not None else None
    return result if isinstance(result, dict) else {}


def page(method: str, theirs: Message, ours: Message | None) -> Message:
    """One page of the upstream server: without the rows that ours replace, and with ours after the last page's. The very ``theirs`` when nothing changes."""
    listing, names = LISTINGS[method], names_of(method, ours)
    rows = rows_of(method, theirs)
    kept = [row for row in rows if not (isinstance(row, dict) and row.get(listing.name) in names)]
    if result_of(theirs).get("nextCursor") is None:
        kept += rows_of(method, ours)
    if kept == rows:
        return theirs
    return {**theirs, "result": {**result_of(theirs), listing.rows: kept}}


def greeting(theirs: Message, ours: Message) -> Message:
    """The answer to ``initialize`` or ``server/discover``: their identity and version, both sides' abilities and instructions."""
    result, own = result_of(theirs), result_of(ours)
    abilities = result.get("capabilities")
    known: dict[str, Any] = abilities if isinstance(abilities, dict) else {}
    added = own.get("capabilities") or {}
    result = {**result, "capabilities": {**known, **{name: added[name] for name in SHARED_CAPABILITIES if name in added and name not in known}}}
    texts = [text for text in (result.get("instructions"), own.get("instructions")) if isinstance(text, str) and text]
    if texts:
        result["instructions"] = "\n\n".join(texts)
    return {**theirs, "result": result}

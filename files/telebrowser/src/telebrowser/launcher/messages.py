"""JSON-RPC lines: read strictly, described for people, answered with errors."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from .lines import TooLong, request_id

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
CONNECTION_CLOSED = -32000


class Fault(NamedTuple):
    """What is wrong with a line: the JSON of the id to answer, an error code, and a text."""

    id: bytes
    code: int
    text: str


def read(line: bytes | TooLong) -> dict[str, Any] | Fault | None:
    """One JSON-RPC message; None for a blank line.

    A message with a ``method`` has a text there; with an ``id`` it is a request, whose id is a string or a number. One without
    a ``method`` has an ``id`` and a ``result`` or an ``error``.
    """
    if isinstance(line, TooLong):
        return Fault(request_id(line), INVALID_REQUEST, f"The message has {line.length} bytes; the limit is 100 MiB. Send it in smaller parts.")
    if not line.strip():
        return None
    try:
        message = parse(line)
    except (ValueError, RecursionError) as error:
        return Fault(b"null", PARSE_ERROR, f"Parse error: {one_line(error)}")
    if not isinstance(message, dict):
        return Fault(b"null", INVALID_REQUEST, "Invalid request: each line holds one JSON-RPC message, an object.")
    if isinstance(message.get("method"), str):
        number = message.get("id", 0)
        if isinstance(number, bool) or not isinstance(number, (str, int, float)):
            return Fault(b"null", INVALID_REQUEST, "Invalid request: the id must be a string or a number.")
        return message
    if "id" not in message or not ("result" in message or "error" in message):
        return Fault(b"null", INVALID_REQUEST, "Invalid request: a message needs a method, or an id with a result or an error.")
    message.pop("method", None)
    return message


def parse(data: bytes) -> Any:
    """Strict JSON in UTF-8; raises `ValueError` for anything else, NaN and Infinity included."""
    return json.loads(data.decode("utf-8"), parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def describe(message: dict[str, Any], method: str) -> str:
    """The request for people: its method, and the tool that it calls."""
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return f"{method} {name[:64]}" if isinstance(name, str) else method[:64]


def key(number: Any) -> Any:
    """An id as a dictionary key; what cannot be one is no id."""
    return number if isinstance(number, (str, int, float)) else None


def one_line(value: object) -> str:
    """A text on one line, of at most 300 characters."""
    return " ".join(str(value).split())[:300]


def error_line(number: bytes, code: int, text: str) -> bytes:
    """The error answer to the request whose id is the JSON ``number``."""
    return b'{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}' % (number, code, json.dumps(text).encode())

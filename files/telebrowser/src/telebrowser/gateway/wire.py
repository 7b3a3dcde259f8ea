"""Reading and writing CDP messages at the least cost that is safe.

From a client every message is decoded and written anew, because Chromium's parser and ours must
not see two different messages: it takes escaped keys and any key order. From the browser a look at
the head and the tail is enough: Chromium writes ``{"id":N,…,"sessionId":"32HEX"}`` and
``{"method":"X","params":…,"sessionId":"32HEX"}``, and a page cannot forge either end, since quotes inside
strings are escaped and a nested object ends in ``}}``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
SERVER_ERROR = -32000
SESSION_NOT_FOUND = -32001

MAX_ID = 2**31 - 1
MAX_MESSAGE = 100 * 1024 * 1024
"""Bytes of one message to the browser; Chromium drops a connection that sends more."""

NO_TARGET = "No target with given id found"
NO_SESSION = "Session with given id not found."

_TAIL = b',"sessionId":"'
_TAIL_LENGTH = len(_TAIL) + 32 + 2


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """A client's call; ``params`` stays raw."""

    id: int
    method: str
    sessionId: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")


class ProtocolError(Exception):
    """A call that is refused: a code and a message in Chromium's shape."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


_ids = itertools.count(-2, -1)


def fresh_id() -> int:
    """An id for a call of the gateway itself: negative, unlike those of clients, and never used twice.

    Two calls in flight on one session with the same id end in "Duplicate `id`" and a crash of the renderer (seen).
    """
    return next(_ids)


_decoder = msgspec.json.Decoder(Request)
_any_decoder = msgspec.json.Decoder()
encode = msgspec.json.encode


def decode_request(raw: bytes) -> Request:
    """A client's message. Raises `ProtocolError` when it is not one call in JSON.

    A NUL is refused wherever it stands: on a pipe it ends a message, so that one inside ``params``
    would start a second message that no rule has seen.
    """
    if len(raw) > MAX_MESSAGE:
        raise ProtocolError(INVALID_REQUEST, f"Message is larger than {MAX_MESSAGE // 1048576} MiB")
    if b"\0" in raw:
        raise ProtocolError(PARSE_ERROR, "JSON: control character in the message")
    # The decoder does not look into ``params``, which would go on to another reader as they are.
    if not raw.isascii() and not _is_text(raw):
        raise ProtocolError(PARSE_ERROR, "JSON: the message is not UTF-8")
    try:
        request = _decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise ProtocolError(INVALID_REQUEST, f"Message must have an integer 'id', a string 'method' and nothing unknown: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"JSON: {error}") from None
    if not 0 <= request.id <= MAX_ID:
        raise ProtocolError(INVALID_REQUEST, "Message must have an integer 'id' property from 0 to 2147483647")
    return request


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode(raw: bytes | msgspec.Raw) -> Any:
    """Any JSON value; raises `msgspec.DecodeError`."""
    return _any_decoder.decode(raw)


def decode_params(raw: msgspec.Raw) -> dict[str, Any]:
    """The ``params`` of a call as a dict. Raises `ProtocolError`."""
    try:
        params = _any_decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"JSON: {error}") from None
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_REQUEST, "Message has property other than an object as 'params'")
    return params


def call(ident: int, method: str, params: bytes, session: str) -> bytes:
    """A call to the browser in canonical form; ``session`` may be empty (the connection's own root)."""
    if session:
        return b'{"id":%d,"method":"%b","params":%b,"sessionId":"%b"}' % (ident, method.encode(), params, session.encode())
    return b'{"id":%d,"method":"%b","params":%b}' % (ident, method.encode(), params)


def reply(ident: int, result: Mapping[str, Any], session: str) -> bytes:
    """An answer to a client, with ``sessionId`` unless it was called at its root."""
    message: dict[str, Any] = {"id": ident, "result": result}
    if session:
        message["sessionId"] = session
    return encode(message)


def error(ident: int | None, code: int, text: str, session: str = "") -> bytes:
    """An error to a client; without ``ident`` when the call could not be read."""
    message: dict[str, Any] = {} if ident is None else {"id": ident}
    message["error"] = {"code": code, "message": text}
    if session:
        message["sessionId"] = session
    return encode(message)


def event(method: str, params: Mapping[str, Any], session: str) -> bytes:
    """An event to a client."""
    message: dict[str, Any] = {"method": method, "params": params}
    if session:
        message["sessionId"] = session
    return encode(message)


def session_of(raw: bytes) -> str:
    """The ``sessionId`` at the end of a message of the browser, or an empty string."""
    if raw[-_TAIL_LENGTH:-34] != _TAIL or raw[-2:] != b'"}':
        return ""
    return raw[-34:-2].decode("ascii", "replace")


def without_session(raw: bytes) -> bytes:
    """The message without the ``sessionId`` that `session_of` found at its end."""
    return raw[:-_TAIL_LENGTH] + b"}"


def event_bytes(raw: bytes) -> bytes:
    """The method of an event of the browser, as it stands there; nothing for an answer."""
    if raw[:11] != b'{"method":"':
        return b""
    end = raw.find(b'"', 11, 160)
    return raw[11:end] if end > 0 else b""


def event_name(raw: bytes) -> str:
    """Like `event_bytes`, as text."""
    return event_bytes(raw).decode("ascii", "replace")


def own_reply_id(raw: bytes) -> int | None:
    """The (negative) id when this is the answer to a call of the gateway itself, else None."""
    if raw[:7] != b'{"id":-':
        return None
    end = raw.find(b",", 7, 40)
    try:
        return int(raw[6:end]) if end > 0 else None
    except ValueError:
        return None

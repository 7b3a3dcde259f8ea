"""The HTTP client of the verbs: one request with one deadline. Never a proxy, and no token in any message."""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import Any

from .. import __version__
from ..errors import CODES, EXIT_FAILED, EXIT_FORBIDDEN, EXIT_TIMEOUT, ExitError, TelebrowserError
from ..launcher.address import Address, forbidden_text, unreachable

QUICK_SECONDS = 10.0
BROWSER_SECONDS = 45.0
"""Longer than the 30 s in which the gateway itself ends a start or a stop."""
CONNECT_SECONDS = 5.0
MAX_ANSWER_BYTES = 64 << 20


def call(
    address: Address, method: str, path: str, *, seconds: float = QUICK_SECONDS, body: dict[str, Any] | None = None, operator: str | None = None
) -> dict[str, Any]:
    """The JSON object that ``method path`` below the token answers, to a request with ``body`` as JSON.

    With an ``operator`` token the path is not below a project's. Raises `ExitError` (unreachable, token refused, no answer
    in time, not a gateway) or the gateway's own error as `TelebrowserError`.
    """
    deadline = time.monotonic() + seconds
    whole = address.path(path) if operator is None else f"{address.prefix}/{path}"
    connection = _connection(address, min(CONNECT_SECONDS, seconds))
    try:
        status, text = _exchange(connection, method, whole, deadline, None if body is None else json.dumps(body).encode(), operator)
    except TimeoutError:
        if connection.sock is None:
            raise unreachable(address, "no connection in time") from None
        raise ExitError(EXIT_TIMEOUT, f"the gateway at {address.shown} did not answer `{method} {path}` within {seconds:.0f} seconds") from None
    except http.client.HTTPException:
        raise unreachable(address, "what listens there does not speak HTTP") from None
    except OSError as error:
        raise unreachable(address, " ".join((error.strerror or str(error)).split())) from None
    finally:
        connection.close()
    return _answer(address, method, path, status, text)


def _connection(address: Address, seconds: float) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if address.secure else http.client.HTTPConnection
    return kind(address.host, address.port, timeout=seconds)


def _exchange(connection: http.client.HTTPConnection, method: str, path: str, deadline: float, body: bytes | None, operator: str | None) -> tuple[int, bytes]:
    connection.connect()
    sock = connection.sock
    _limit(sock, deadline)
    headers = {"Accept": "application/json", "User-Agent": f"telebrowser/{__version__}"}
    if operator is not None:
        headers["Authorization"] = f"Bearer {operator}"
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    parts: list[bytes] = []
    size = 0
    while size <= MAX_ANSWER_BYTES:
        _limit(sock, deadline)
        part = response.read1(1 << 16)
        if not part:
            if response.length:
                raise http.client.HTTPException("the answer is cut off")
            return response.status, b"".join(parts)
        parts.append(part)
        size += len(part)
    raise http.client.HTTPException("answer too large")


def _limit(sock: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)


def _answer(address: Address, method: str, path: str, status: int, body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body.decode("utf-8"))
    except ValueError:
        data = None
    error = data.get("error") if isinstance(data, dict) else None
    if status in (401, 403):
        raise ExitError(EXIT_FORBIDDEN, forbidden_text(address))
    if isinstance(error, dict) and error.get("code") in CODES:
        raise TelebrowserError(error["code"], str(error.get("message", "")), str(error.get("hint") or CODES[error["code"]].hint))
    if not isinstance(data, dict) or status >= 400:
        if status in (200, 404) or status >= 500:
            raise unreachable(address, f"HTTP status {status}, and not from a telebrowser gateway")
        raise ExitError(EXIT_FAILED, f"the gateway at {address.shown} answered `{method} {path}` with HTTP status {status}")
    return data

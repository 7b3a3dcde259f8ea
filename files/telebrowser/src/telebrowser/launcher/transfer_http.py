"""Files to and from the gateway over HTTP: streamed, taken up again where they broke off, checked by SHA-256.

These calls block; they run in a thread. Paths of requests hold the token, so no error names one.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from ..beneath import Arrival
from ..errors import CODES, TelebrowserError
from .address import Address, Finder, unreachable_text

CHUNK_BYTES = 256 << 10
STALL_SECONDS = 20.0
"""How long the gateway may take for one step."""
TRANSFER_SECONDS = 600.0
"""How long one file may take in all."""
ATTEMPTS = 4
"""Connections that one file may take; one that brought something does not count."""

Stopped = Callable[[], bool]


class Cancelled(Exception):
    """The client cancelled the call, or the launcher ends."""


class Channel:
    """Connections to the gateway at an address that is found anew for each, and the patience with them.

    ``stopped`` is asked before each piece.
    """

    def __init__(self, find: Finder, stopped: Stopped) -> None:
        self._find = find
        self._stopped = stopped
        self._ends = time.monotonic() + TRANSFER_SECONDS

    def check(self) -> None:
        """Raise `Cancelled`, or `TelebrowserError` TIMEOUT once the file has had its time."""
        if self._stopped():
            raise Cancelled
        if time.monotonic() > self._ends:
            raise TelebrowserError(
                "TIMEOUT", f"The file was not transferred within {TRANSFER_SECONDS:.0f} s", "Use a smaller file, or a faster way to the gateway."
            )

    @contextlib.contextmanager
    def connection(self) -> Iterator[tuple[http.client.HTTPConnection, Address]]:
        """One connection, closed at the end."""
        address = self._find()
        kind = http.client.HTTPSConnection if address.secure else http.client.HTTPConnection
        connection = kind(address.host, address.port, timeout=STALL_SECONDS)
        try:
            yield connection, address
        finally:
            connection.close()


def put(channel: Channel, descriptor: int, size: int, folder: str, name: str) -> None:
    """Send a file to ``uploads/<folder>/<name>``. Raises `TelebrowserError` or `Cancelled`."""
    digest = _digest_of(channel, descriptor, size)
    offset, attempts = 0, ATTEMPTS
    while True:
        try:
            with channel.connection() as (connection, address):
                _send(channel, connection, address.path(_upload_path(folder, name)), descriptor, offset, size, digest)
                return
        except (OSError, http.client.HTTPException) as error:
            trouble = _reason(error)
        except TelebrowserError as error:
            # A request that was given up came late, and took the place of what the gateway had told.
            if error.code != "CONFLICT":
                raise
            trouble = error.message
        channel.check()
        attempts -= 1
        stored = _stored(channel, folder, name)
        if stored is not None:
            if stored == size:
                return  # only the answer was lost
            attempts = ATTEMPTS if stored > offset else attempts
            offset = stored if stored < size else 0
        if attempts <= 0:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"The file was not sent: {unreachable_text(address, trouble)}", "Call again.")


def _upload_path(folder: str, name: str) -> str:
    return f"uploads/{quote(name, safe='')}?folder={folder}"


def _send(channel: Channel, connection: http.client.HTTPConnection, path: str, descriptor: int, offset: int, size: int, digest: str) -> None:
    connection.putrequest("PUT", path)
    connection.putheader("Content-Type", "application/octet-stream")
    connection.putheader("Content-Length", str(size - offset))
    connection.putheader("Repr-Digest", f"sha-256=:{digest}:")
    if offset:
        connection.putheader("Content-Range", f"bytes {offset}-{size - 1}/{size}")
    connection.endheaders()
    try:
        for chunk in _pieces(channel, descriptor, offset, size):
            connection.send(chunk)
    except (BrokenPipeError, ConnectionResetError):
        # The gateway may have refused it half way, and have said why.
        _check(connection.getresponse())
        raise
    _check(connection.getresponse())


def _pieces(channel: Channel, descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    while offset < size:
        channel.check()
        chunk = os.pread(descriptor, min(CHUNK_BYTES, size - offset), offset)
        if not chunk:
            raise _changed()
        yield chunk
        offset += len(chunk)


def _digest_of(channel: Channel, descriptor: int, size: int) -> str:
    hasher = hashlib.sha256()
    for chunk in _pieces(channel, descriptor, 0, size):
        hasher.update(chunk)
    return base64.b64encode(hasher.digest()).decode()


def _stored(channel: Channel, folder: str, name: str) -> int | None:
    """How many bytes of an upload that broke off the gateway keeps; None when it does not answer."""
    try:
        with channel.connection() as (connection, address):
            connection.request("HEAD", address.path(_upload_path(folder, name)))
            answer = connection.getresponse()
            answer.read()
            return int(answer.headers.get("Upload-Offset", "0")) if answer.status == 200 else 0
    except (OSError, http.client.HTTPException, ValueError):
        return None


def get(channel: Channel, path: str, arrival: Arrival, size: int | None, digest: str | None, what: str) -> None:
    """Receive ``path`` (such as ``downloads/a.bin``) into ``arrival``.

    ``size`` and ``digest`` (hex SHA-256) are what the engine told, where it did; else the gateway's own are taken.
    ``what`` names the file in errors. Raises `TelebrowserError`, OSError of the disk, or `Cancelled`.
    """
    incoming = _Incoming(path, arrival, size, digest, what)
    attempts = ATTEMPTS
    while True:
        before = incoming.size
        try:
            with channel.connection() as (connection, address):
                incoming.read(channel, connection, address)
        except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
            trouble = _reason(error)
        else:
            return incoming.verify()
        channel.check()
        attempts = ATTEMPTS if incoming.size > before else attempts - 1
        if attempts <= 0:
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"{what} did not come whole: {unreachable_text(address, trouble)}", "Call again.")


class _Incoming:
    """One file on its way here: how much of it has come, and what it must add up to."""

    def __init__(self, path: str, arrival: Arrival, size: int | None, digest: str | None, what: str) -> None:
        self.size = 0
        self._path = path
        self._arrival = arrival
        self._wanted, self._what = size, what
        self._digest = self._announced = digest
        self._hasher = hashlib.sha256()
        self._tag: str | None = None

    def read(self, channel: Channel, connection: http.client.HTTPConnection, address: Address) -> None:
        headers = {"Want-Repr-Digest": "sha-256=1"}
        if self.size:
            headers["Range"] = f"bytes={self.size}-"
        connection.request("GET", address.path(self._path), headers=headers)
        answer = connection.getresponse()
        _check(answer)
        tag = answer.headers.get("ETag")
        if self.size and (answer.status != 206 or tag != self._tag):
            self._begin_again()
            if answer.status == 206:
                raise http.client.HTTPException("it is another file now")
        self._tag = tag
        self._learn(answer)
        while chunk := answer.read(CHUNK_BYTES):
            channel.check()
            self._arrival.write(chunk)
            self._hasher.update(chunk)
            self.size += len(chunk)
        if answer.length:
            raise http.client.IncompleteRead(b"", answer.length)

    def _begin_again(self) -> None:
        """It is another file now, or the gateway sends the whole of it."""
        os.ftruncate(self._arrival.descriptor, 0)
        os.lseek(self._arrival.descriptor, 0, os.SEEK_SET)
        self.size = 0
        self._hasher = hashlib.sha256()
        self._digest = self._announced

    def _learn(self, answer: http.client.HTTPResponse) -> None:
        told = answer.headers.get("Repr-Digest", "")
        if self._digest is None and told.startswith("sha-256=:"):
            with contextlib.suppress(ValueError):
                self._digest = base64.b64decode(told.removeprefix("sha-256=:").rstrip(":")).hex()

    def verify(self) -> None:
        if (self._wanted is not None and self.size != self._wanted) or (self._digest is not None and self._hasher.hexdigest() != self._digest):
            raise TelebrowserError("INTERNAL", f"{self._what} came with a wrong checksum and was thrown away", "Call again.")


def post(channel: Channel, path: str, body: bytes) -> None:
    """Send a small message. Raises `TelebrowserError`."""
    try:
        with channel.connection() as (connection, address):
            connection.request("POST", address.path(path), body, {"Content-Type": "application/json"})
            _check(connection.getresponse())
    except (OSError, http.client.HTTPException) as error:
        raise TelebrowserError("BROWSER_UNAVAILABLE", unreachable_text(address, _reason(error)), "Call again.") from None


def delete(channel: Channel, path: str) -> None:
    """Say that ``path`` has been taken. A gateway that does not hear it removes the file by itself later."""
    with contextlib.suppress(OSError, http.client.HTTPException), channel.connection() as (connection, address):
        connection.request("DELETE", address.path(path))
        connection.getresponse().read()


def _check(answer: http.client.HTTPResponse) -> None:
    """Raise the error that an answer carries; `http.client.HTTPException` for one that says nothing, and may be better the next time."""
    if answer.status < 300:
        if answer.status == 201:
            answer.read()
        return
    body: Any = None
    with contextlib.suppress(ValueError, OSError, http.client.HTTPException):
        body = json.loads(answer.read(65536))
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and error.get("code") in CODES:
        raise TelebrowserError(error["code"], str(error.get("message", "")), str(error.get("hint", "")))
    if answer.status in (400, 408) or answer.status >= 500:
        # What a server says by itself about a message that broke off on the way.
        raise http.client.HTTPException(f"HTTP status {answer.status}")
    raise TelebrowserError("BROWSER_UNAVAILABLE", f"The gateway answered with HTTP status {answer.status}", "Call again, or see gateway.log.")


def _changed() -> TelebrowserError:
    return TelebrowserError("INVALID_ARGS", "The file became shorter while it was sent", "Call again once nothing writes to it.")


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return " ".join(text.split())[:200]

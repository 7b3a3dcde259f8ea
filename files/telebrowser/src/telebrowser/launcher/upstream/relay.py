"""The session's CDP endpoint on a loopback port, for the upstream server alone.

Upstream servers take the browser's address on their command line, which every user of the machine can read, so the
address must not hold the token. This port adds it: what connects here reaches the session, and nothing else of the
project. A connection is taken only from the upstream server's own processes; a page (which sends an Origin, or
another Host) and any other program are refused.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
from collections.abc import Callable

from ...errors import ExitError
from ..address import Address, Finder
from .splice import splice

HEAD_BYTES = 64 << 10
HEAD_SECONDS = 10.0
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
ANSWER_BYTES = 64 << 20
COPY_BYTES = 1 << 18
PATHS = re.compile(r"/(json(/[a-z]+(/[A-Za-z0-9_-]+)?)?/?|devtools/(browser|page)(/[A-Za-z0-9_-]+)?/?)(\?[!-~]*)?")
METHODS = frozenset({"GET", "HEAD", "PUT", "POST"})

Admits = Callable[[socket.socket], bool]


class Relay:
    """Listens until `close`. ``find`` gives the gateway's address for each connection anew; ``admits`` decides on a connection."""

    def __init__(self, find: Finder, session: str, admits: Admits) -> None:
        self._find, self._session, self._admits = find, session, admits
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True, name="relay").start()

    @property
    def http(self) -> str:
        """What a client that asks for ``json/version`` is given."""
        return f"http://{self.authority}"

    @property
    def ws(self) -> str:
        """The WebSocket address."""
        return f"ws://{self.authority}/devtools/browser"

    def close(self) -> None:
        """Take no more connections and end those that are open."""
        for one in (self._listener, *list(self._open)):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True, name="relay connection").start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, http.client.HTTPException, ExitError):
            self._open.add(client)
            try:
                client.settimeout(HEAD_SECONDS)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if not self._admits(client):
                    _answer(client, 403, b"This port serves the MCP server that it was opened for.")
                    return
                self._answer_request(client)
            finally:
                self._open.discard(client)

    def _answer_request(self, client: socket.socket) -> None:
        head, rest = _read_head(client)
        request = Request.parse(head)
        if request is None or not PATHS.fullmatch(request.target) or request.method not in METHODS:
            _answer(client, 404, b"There is nothing at this path.")
        elif "origin" in request.headers or request.headers.get("host", "").lower() not in (self.authority, self.authority.replace("127.0.0.1", "localhost")):
            _answer(client, 403, b"Pages may not use this port.")
        elif request.headers.get("upgrade", "").lower() == "websocket":
            self._splice(client, request, rest)
        else:
            self._pass_on(client, request)

    # WebSocket: bytes both ways

    def _splice(self, client: socket.socket, request: Request, rest: bytes) -> None:
        address = self._find()
        with connect(address) as gateway:
            self._open.add(gateway)
            try:
                gateway.sendall(request.head(address.path(self._path(request)), address.authority) + rest)
                splice(client, gateway)
            finally:
                self._open.discard(gateway)

    def _path(self, request: Request) -> str:
        return f"s/{self._session}{request.target}"

    # HTTP: one answer, with this port's address in the place of the gateway's

    def _pass_on(self, client: socket.socket, request: Request) -> None:
        address = self._find()
        with connect(address) as gateway:
            gateway.settimeout(ANSWER_SECONDS)
            plain = Request(request.method, request.target, {"connection": "close", "content-length": "0"})
            gateway.sendall(plain.head(address.path(self._path(request)), address.authority))
            answer = http.client.HTTPResponse(gateway, method=request.method)
            answer.begin()
            body = answer.read(ANSWER_BYTES)
            _answer(client, answer.status, self._own(body, address), answer.getheader("Content-Type") or "text/plain", head=request.method == "HEAD")

    def _own(self, body: bytes, address: Address) -> bytes:
        path = re.escape(address.path(f"s/{self._session}").encode())
        body = re.sub(rb"(ws|http)s?://[^/\"\s]*" + path, rb"\1://" + self.authority.encode(), body)
        body = re.sub(rb"wss?=[^/\"\s]*" + path, b"ws=" + self.authority.encode(), body)
        return body.replace(address.token.encode(), b"*")


class Request:
    """The head of an HTTP request; names of headers are in lower case."""

    def __init__(self, method: str, target: str, headers: dict[str, str]) -> None:
        self.method, self.target, self.headers = method, target, headers

    @classmethod
    def parse(cls, head: bytes) -> Request | None:
        """None for what is no request."""
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return None
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip() or name.lower() in headers:
                return None
            headers[name.lower()] = value.strip()
        return cls(words[0], words[1], headers)

    def head(self, target: str, host: str) -> bytes:
        """The bytes of this request for another target and host."""
        lines = [f"{self.method} {target} HTTP/1.1", f"host: {host}", *(f"{name}: {value}" for name, value in self.headers.items() if name != "host")]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def connect(address: Address) -> socket.socket:
    """A connection to the gateway, with TLS where its address says so. Raises `OSError`."""
    plain = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if not address.secure:
        return plain
    import ssl

    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=address.host)
    except BaseException:
        plain.close()
        raise


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """The head of the request without its end, and what came behind it. Raises `OSError`."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(COPY_BYTES)
        if not piece or len(data) > HEAD_BYTES:
            raise ConnectionResetError
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _answer(client: socket.socket, status: int, body: bytes, kind: str = "text/plain", *, head: bool = False) -> None:
    reason = http.client.responses.get(status, "")
    lines = f"HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    client.sendall(lines.encode("latin-1") + (b"" if head else body))

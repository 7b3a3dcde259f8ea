"""One WebSocket connection to the gateway on a non-blocking socket.

Built on the sans-I/O protocol of `websockets`: importing its asyncio client costs a third more time and memory,
and the pump waits on stdin, stdout and its parent in the same `poll` anyway. Proxies are never used.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections import deque
from typing import TYPE_CHECKING

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import OPEN
from websockets.uri import WebSocketURI

from ..handover import HEADER as FILES_HEADER
from .address import Address, forbidden_text, unreachable_text

if TYPE_CHECKING:
    from ssl import MemoryBIO, SSLObject

CONNECT_SECONDS = 10.0
PING_SECONDS = 45.0
"""Interval of pings while nothing else is sent: below the 60 s after which reverse proxies drop a quiet socket."""
READ_BYTES = 1 << 18
READS_AT_ONCE = 8
HIGH_WATER = 16 << 20
ORDINARY_CLOSES = (1000, 1001, 1005, 1006)

READABLE = select.POLLIN | select.POLLHUP | select.POLLERR
WRITABLE = select.POLLOUT


class LinkError(Exception):
    """The link cannot be had or has broken. ``final``: the gateway answered, and would answer the same again."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class Link:
    """A connection that is being made, is open, or raises `LinkError` from one of its methods.

    ``interest`` says what to poll; after each poll call ``ready``. Messages of the gateway are appended to ``messages``.
    """

    def __init__(self, address: Address, path: str, now: float) -> None:
        self.address = address
        self.messages: deque[bytes] = deque()
        self.open = False
        self.files: str | None = None
        """What the gateway says of files in its answer to the upgrade (`transfer.HEADER`)."""
        self.deadline: float | None = now + CONNECT_SECONDS
        uri = WebSocketURI(address.secure, address.host, address.port, address.path(path), "")
        self._protocol = ClientProtocol(uri, max_size=None)
        self._socket: socket.socket | None = None
        self._connected = False
        self._out: deque[memoryview] = deque()
        self._out_bytes = 0
        self._parts: list[bytes] = []
        self._tls: _Tls | None = None
        self._trouble: OSError | None = None
        self._resolver = _Resolver(address.host, address.port)
        if self._resolver.done:
            try:
                self._connect()
            except OSError as error:
                raise LinkError(self._lost(_reason(error))) from None

    def interest(self) -> tuple[int, int]:
        """``(descriptor, poll events)`` to wait for."""
        if self._socket is None:
            return self._resolver.fileno(), select.POLLIN
        if not self._connected:
            return self._socket.fileno(), WRITABLE
        return self._socket.fileno(), select.POLLIN | (WRITABLE if self._out else 0)

    @property
    def sending(self) -> bool:
        """Something could not be sent yet."""
        return bool(self._out)

    @property
    def full(self) -> bool:
        """So much waits to be sent that no more should be taken from the client."""
        return self._out_bytes > HIGH_WATER

    def ready(self, events: int, now: float) -> None:
        """The descriptor is ready. Raises `LinkError` when that is the end of this link."""
        try:
            if self._socket is None:
                self._connect()
            elif not self._connected:
                self._finish_connect()
            else:
                if events & READABLE:
                    self._receive()
                self._flush()
        except OSError as error:
            raise LinkError(self._lost(_reason(error))) from None
        if self.open:
            self.deadline = now + PING_SECONDS

    def expire(self, now: float) -> None:
        """``deadline`` has passed: an open link is pinged, one still being made is given up."""
        if not self.open:
            raise LinkError(unreachable_text(self.address, f"no answer within {CONNECT_SECONDS:.0f} seconds"))
        self._protocol.send_ping(b"")
        self._push(now)

    def send(self, message: bytes, now: float) -> None:
        """Queue one text frame and send what the socket takes. Raises `LinkError`."""
        if self._protocol.state is not OPEN:
            raise LinkError(self._lost("it is closing the connection"))
        self._protocol.send_text(message)
        self._push(now)

    def close(self) -> None:
        """Say goodbye if that is possible without waiting, and close."""
        try:
            if self.open and self._protocol.state is OPEN:
                self._protocol.send_close(1000)
                self._flush()
        except OSError:
            pass
        if self._socket is not None:
            self._socket.close()
        self._resolver.close()

    def _push(self, now: float) -> None:
        self.deadline = now + PING_SECONDS
        try:
            self._flush()
        except OSError as error:
            raise LinkError(self._lost(_reason(error))) from None

    # Connecting

    def _connect(self) -> None:
        """Try the next address. The last trouble is told when there is none left."""
        while True:
            target = self._resolver.next()
            if target is None:
                reason = _reason(self._trouble) if self._trouble else f"its name cannot be resolved: {self._resolver.error}"
                raise LinkError(unreachable_text(self.address, reason))
            family, sockaddr = target
            self._socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
            try:
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _keep_alive(self._socket)
                self._socket.connect(sockaddr)
            except BlockingIOError:
                return
            except OSError as error:
                self._next_after(error)
                continue
            self._connection_made()
            return

    def _finish_connect(self) -> None:
        assert self._socket is not None
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._next_after(OSError(code, os.strerror(code)))
            self._connect()
        else:
            self._connection_made()

    def _next_after(self, error: OSError) -> None:
        assert self._socket is not None
        self._trouble = error
        self._socket.close()
        self._socket = None

    def _connection_made(self) -> None:
        self._connected = True
        if self.address.secure:
            self._tls = _Tls(self.address.host)
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    # Data

    def _receive(self) -> None:
        assert self._socket is not None
        for _ in range(READS_AT_ONCE):
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                raise LinkError(self._lost("it closed the connection"))
            for piece in self._tls.decrypt(data) if self._tls else (data,):
                self._protocol.receive_data(piece)
            self._events()
            if len(data) < READ_BYTES:
                return

    def _events(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event)
            elif self._protocol.handshake_exc is None:
                if isinstance(event, Response):
                    self.files = event.headers.get(FILES_HEADER)
                self.open = True
        if self._protocol.handshake_exc is not None:
            raise self._refused(self._protocol.handshake_exc)
        if self.open and self._protocol.state is not OPEN:
            self._flush_quietly()
            raise LinkError(self._lost(self._goodbye()))

    def _frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.TEXT and frame.fin:
            self.messages.append(bytes(frame.data))
        elif frame.opcode in (Opcode.TEXT, Opcode.CONT, Opcode.BINARY):
            self._parts.append(bytes(frame.data))
            if frame.fin:
                self.messages.append(b"".join(self._parts))
                self._parts.clear()

    def _refused(self, error: Exception) -> LinkError:
        if not isinstance(error, InvalidStatus):
            return LinkError(unreachable_text(self.address, "what listens there is not a telebrowser gateway"))
        status = error.response.status_code
        if status in (401, 403):
            return LinkError(forbidden_text(self.address), final=True)
        return LinkError(unreachable_text(self.address, f"HTTP status {status}"), final=status == 404)

    def _flush(self) -> None:
        assert self._socket is not None
        for data in self._protocol.data_to_send():
            if not data:
                continue  # websockets' mark for "close the writing side"; the whole socket is closed instead
            for piece in self._tls.encrypt(data) if self._tls else (data,):
                self._out.append(memoryview(piece))
                self._out_bytes += len(piece)
        if self._tls:
            for piece in self._tls.pending():
                self._out.append(memoryview(piece))
                self._out_bytes += len(piece)
        while self._out:
            try:
                sent = self._socket.send(self._out[0])
            except BlockingIOError:
                return
            self._out_bytes -= sent
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def _goodbye(self) -> str:
        """How the gateway closed the connection; an ordinary end needs no code."""
        close = self._protocol.close_rcvd
        if close is None or close.code in ORDINARY_CLOSES:
            return "it closed the connection"
        return " ".join(f"it closed the connection ({close.code} {close.reason}".split()) + ")"

    def _flush_quietly(self) -> None:
        with contextlib.suppress(OSError):
            self._flush()

    def _lost(self, reason: str) -> str:
        if self.open:
            return f"the gateway at {self.address.shown} was lost: {reason}"
        return unreachable_text(self.address, reason)


class _Resolver:
    """The addresses of a host. Numeric ones and localhost at once; a name in a thread, since name servers can take minutes."""

    def __init__(self, host: str, port: int) -> None:
        self.error = "no address"
        self._found: deque[tuple[int, tuple[object, ...]]] = deque()
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._lookup = (host, port)
        if host == "localhost" or host.replace(".", "").isdigit() or ":" in host:
            self._resolve()
            return
        self._ends = socket.socketpair()
        threading.Thread(target=self._resolve_aside, args=(self._ends[1],), daemon=True).start()

    @property
    def done(self) -> bool:
        return self._ends is None

    def fileno(self) -> int:
        assert self._ends is not None
        return self._ends[0].fileno()

    def next(self) -> tuple[int, tuple[object, ...]] | None:
        self.close()
        return self._found.popleft() if self._found else None

    def close(self) -> None:
        if self._ends is not None:
            self._ends[0].close()
            self._ends = None

    def _resolve(self) -> None:
        try:
            for family, _, _, _, sockaddr in socket.getaddrinfo(*self._lookup, type=socket.SOCK_STREAM):
                self._found.append((family, sockaddr))
        except (OSError, UnicodeError) as error:
            self.error = _reason(error)

    def _resolve_aside(self, end: socket.socket) -> None:
        with end:
            self._resolve()


class _Tls:
    """TLS without I/O: plain bytes in, bytes for the wire out, and back."""

    def __init__(self, host: str) -> None:
        import ssl

        self._want = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
        self._ended = (ssl.SSLZeroReturnError, ssl.SSLEOFError)
        self._in: MemoryBIO = ssl.MemoryBIO()
        self._out: MemoryBIO = ssl.MemoryBIO()
        self._object: SSLObject = ssl.create_default_context().wrap_bio(self._in, self._out, server_hostname=host)
        self._plain: list[bytes] = []
        self._shaken = False

    def decrypt(self, data: bytes) -> list[bytes]:
        self._in.write(data)
        plain = []
        try:
            self._shake()
            while piece := self._object.read(READ_BYTES):
                plain.append(piece)
        except self._want:
            pass
        except self._ended:
            pass  # the end of the socket follows and ends the link
        return plain

    def encrypt(self, data: bytes) -> list[bytes]:
        self._plain.append(data)
        return []

    def pending(self) -> list[bytes]:
        try:
            self._shake()
            while self._plain:
                self._object.write(self._plain[0])
                self._plain.pop(0)
        except self._want:
            pass
        sent = self._out.read()
        return [sent] if sent else []

    def _shake(self) -> None:
        if not self._shaken:
            self._object.do_handshake()
            self._shaken = True


def _keep_alive(sock: socket.socket) -> None:
    """Let the kernel find out within a minute that the gateway's host is gone."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60000)


def _reason(error: Exception) -> str:
    """The error in a few words, on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return " ".join(text.split())[:200]

"""One connection to a gateway, against small servers in a thread."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from websockets.sync.server import Server, ServerConnection, serve

from telebrowser.launcher.address import Address
from telebrowser.launcher.link import CONNECT_SECONDS, PING_SECONDS, Link, LinkError


def address(port: int) -> Address:
    """A gateway on this machine."""
    return Address(False, "127.0.0.1", port, "", "shop", "shop.secretdigest")


def drive(link: Link, until: Callable[[], bool], now: float = 0.0) -> None:
    """Let the link work until something holds; fails after ten seconds of silence."""
    while not until():
        poll = select.poll()
        poll.register(*link.interest())
        ready = poll.poll(10_000)
        assert ready, "nothing happens"
        link.ready(ready[0][1], now)


@pytest.fixture
def server() -> Iterator[Server]:
    """Answers each message by itself, in two fragments; `bye` ends the connection."""

    def handle(connection: ServerConnection) -> None:
        for message in connection:
            if message == "bye":
                connection.close(4000, "good\nbye")
                return
            assert isinstance(message, str)
            connection.send([message[:2], message[2:]])

    with serve(handle, "127.0.0.1", 0, compression=None, ping_interval=None, max_size=None) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def opened(server: Server) -> Iterator[Link]:
    """A link that is open."""
    link = Link(address(server.socket.getsockname()[1]), "s/x/mcp", 0.0)
    try:
        drive(link, lambda: link.open)
        yield link
    finally:
        link.close()


def test_messages_in_fragments_are_put_together(opened: Link) -> None:
    link = opened
    link.send("größer".encode(), 0.0)
    link.send(b"x" * 3_000_000, 0.0)
    drive(link, lambda: len(link.messages) == 2)
    assert list(link.messages) == ["größer".encode(), b"x" * 3_000_000] and not link.sending


def test_an_open_link_is_pinged_when_it_is_quiet(opened: Link) -> None:
    link = opened
    assert link.deadline == PING_SECONDS
    link.expire(PING_SECONDS)
    assert link.deadline == 2 * PING_SECONDS
    link.send(b"after the ping", PING_SECONDS)
    drive(link, lambda: bool(link.messages), PING_SECONDS)


def test_the_end_of_the_connection_is_told_with_what_came_before(opened: Link) -> None:
    link = opened
    link.send(b"last", 0.0)
    link.send(b"bye", 0.0)
    with pytest.raises(LinkError, match=r"was lost: it closed the connection \(4000 good bye\)") as caught:
        drive(link, lambda: False)
    assert list(link.messages) == [b"last"] and "secretdigest" not in str(caught.value) and not caught.value.final
    with pytest.raises(LinkError):
        link.send(b"more", 0.0)


@pytest.fixture
def stranger() -> Iterator[Callable[[bytes], int]]:
    """Serves one connection with the given bytes; gives the port."""
    threads: list[threading.Thread] = []

    def start(answer: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def run() -> None:
            with listener:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("answer", "said", "final"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}", "does not accept the token of the project shop", True),
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "does not accept the token", True),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP status 404", True),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "HTTP status 502", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "HTTP status 200", False),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "not a telebrowser gateway", False),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not a telebrowser gateway", False),
        (b"", "it closed the connection", False),
    ],
)
def test_what_answers_otherwise_is_told_apart(stranger: Callable[[bytes], int], answer: bytes, said: str, final: bool) -> None:
    port = stranger(answer)
    link = Link(address(port), "s/x/mcp", 0.0)
    with pytest.raises(LinkError, match=said) as caught:
        drive(link, lambda: link.open)
    assert caught.value.final is final and f"127.0.0.1:{port}" in str(caught.value) and "secretdigest" not in str(caught.value)
    link.close()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(LinkError, match=r"Connection refused.*telebrowser up"):
        drive(Link(address(port), "x", 0.0), lambda: False)


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        link = Link(address(listener.getsockname()[1]), "x", 5.0)
        assert link.deadline == 5.0 + CONNECT_SECONDS
        with pytest.raises(LinkError, match="no answer within 10 seconds"):
            link.expire(15.0)
        link.close()


def test_a_name_is_resolved_aside(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """A name server may take its time: the link can be polled meanwhile."""
    release = threading.Event()
    port = server.socket.getsockname()[1]

    def lookup(*arguments: object, **options: object) -> list[object]:
        release.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", dead)), (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = closed.getsockname()[1]
    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    link = Link(address(port)._replace(host="gateway.example"), "s/x/mcp", 0.0)
    poll = select.poll()
    poll.register(*link.interest())
    assert poll.poll(0) == []
    release.set()
    drive(link, lambda: link.open)
    link.close()


def test_a_name_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(*arguments: object, **options: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    link = Link(address(1)._replace(host="gateway.example"), "x", 0.0)
    with pytest.raises(LinkError, match="Name or service not known"):
        drive(link, lambda: False)
    link.close()

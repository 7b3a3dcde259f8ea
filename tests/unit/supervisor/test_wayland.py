"""The Wayland client without a compositor: what it asks, what it makes of the answers, and of nonsense."""

from __future__ import annotations

import struct

import pytest

from telebrowser.supervisor import wayland
from telebrowser.supervisor.wayland import MANAGER, SEAT, Client, WaylandError, Window, message
from tests.unit.supervisor.compositor import (
    FIRST_HANDLE,
    LISTED,
    MANAGER_OBJECT,
    SEAT_OBJECT,
    USUAL,
    array,
    closed,
    error,
    event,
    offers,
    opened,
    requests,
    told,
)

A, B = FIRST_HANDLE, FIRST_HANDLE + 1


def feed(client: Client, data: bytes) -> list[Window]:
    return list(client.receive(data))


@pytest.fixture
def client() -> Client:
    """A client that knows the windows A (in front) and B."""
    made = Client()
    feed(made, USUAL + opened(A, "[alpha]", active=True) + opened(B, "[beta]") + LISTED)
    made.take()
    return made


def test_how_it_begins() -> None:
    client = Client()
    assert requests(client.take()) == [(1, 1, struct.pack("=I", 2)), (1, 0, struct.pack("=I", 3))]
    assert client.take() == b""
    feed(client, USUAL)
    bind_manager, bind_seat, sync = requests(client.take())
    assert bind_manager == (2, 0, message(0, 0, 2, MANAGER, 3, MANAGER_OBJECT)[8:])
    assert bind_seat == (2, 0, message(0, 0, 3, SEAT, 1, SEAT_OBJECT)[8:])
    assert sync == (1, 0, struct.pack("=I", 6)) and not client.ready
    feed(client, LISTED)
    assert client.ready


def test_an_older_compositor_gets_its_own_version() -> None:
    client = Client()
    client.take()
    feed(client, offers((MANAGER, 1), (SEAT, 1)))
    assert requests(client.take())[0][2] == message(0, 0, 1, MANAGER, 1, MANAGER_OBJECT)[8:]


@pytest.mark.parametrize(("interfaces", "missing"), [([(SEAT, 1)], MANAGER), ([(MANAGER, 3)], SEAT), ([], MANAGER)])
def test_a_compositor_that_cannot_do_it(interfaces: list[tuple[str, int]], missing: str) -> None:
    with pytest.raises(WaylandError, match=f"has no {missing}"):
        feed(Client(), offers(*interfaces))


def test_windows_are_known(client: Client) -> None:
    seen = [(window.title, window.app, window.activated) for window in client.windows.values()]
    assert seen == [("[alpha]", "telebrowser.alpha", True), ("[beta]", "telebrowser.beta", False)]


def test_a_window_changes_only_when_it_is_told_completely(client: Client) -> None:
    whole = told(B, "[beta] 2", active=True)
    assert feed(client, whole[:-8]) == [] and client.windows[B].title == "[beta]"
    assert [window.title for window in feed(client, whole[-8:])] == ["[beta] 2"] and client.windows[B].activated


def test_bytes_may_come_one_by_one() -> None:
    client, seen = Client(), []
    for byte in USUAL + opened(A, "[ä日]", active=True, parent=0) + opened(B, "dialog", parent=A) + LISTED:
        seen += feed(client, bytes([byte]))
    assert [window.title for window in seen] == ["[ä日]", "dialog"] and client.windows[B].parent == A and client.ready


def test_a_window_that_closes_is_forgotten_and_let_go(client: Client) -> None:
    gone = feed(client, closed(A))
    assert [window.handle for window in gone] == [A] and list(client.windows) == [B]
    assert requests(client.take()) == [(A, wayland.HANDLE_DESTROY, b"")]
    # What was on its way meanwhile means nobody any more.
    assert feed(client, told(A, "late")) == []


def test_activation_names_window_and_seat(client: Client) -> None:
    client.activate(B)
    assert requests(client.take()) == [(B, wayland.HANDLE_ACTIVATE, struct.pack("=I", SEAT_OBJECT))]


def test_events_that_nobody_asked_for_are_passed_over(client: Client) -> None:
    noise = message(1, 1, 3) + message(SEAT_OBJECT, 0, 3) + message(A, 2, 9) + message(A, 3, 9) + message(77, 5) + message(2, 1, 4)
    assert feed(client, noise) == [] and len(client.windows) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (error("no such object"), "error 3 about object 9: no such object"),
        (message(MANAGER_OBJECT, wayland.MANAGER_FINISHED), "stopped listing"),
        (struct.pack("=II", A, 4 << 16), "of 4 bytes"),
        (struct.pack("=II", A, 0xFFFF << 16), "of 65535 bytes"),
        (event(A, wayland.HANDLE_TITLE), "ends too early"),
        (event(A, wayland.HANDLE_TITLE, struct.pack("=I", 400) + b"x"), "ends too early"),
        (event(A, wayland.HANDLE_STATE, b"\1"), "ends too early"),
        (event(MANAGER_OBJECT, wayland.MANAGER_TOPLEVEL), "ends too early"),
    ],
)
def test_nonsense_is_one_error(client: Client, data: bytes, said: str) -> None:
    with pytest.raises(WaylandError, match=said):
        feed(client, data)


def test_state_of_odd_length_is_read_as_far_as_it_goes(client: Client) -> None:
    body = struct.pack("=I", 7) + struct.pack("=I", 2) + b"\0\0\0" + b"\0"
    feed(client, event(B, wayland.HANDLE_STATE, body) + message(B, wayland.HANDLE_DONE))
    assert client.windows[B].activated
    feed(client, event(B, wayland.HANDLE_STATE, array()) + message(B, wayland.HANDLE_DONE))
    assert not client.windows[B].activated

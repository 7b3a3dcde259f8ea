"""The compositor's side of the Wayland conversation, as far as tests need one: what it sends, and what it was asked."""

from __future__ import annotations

import struct

from telebrowser.supervisor import wayland
from telebrowser.supervisor.wayland import DISPLAY_ID, MANAGER, REGISTRY_ID, SEAT, message

FIRST_HANDLE = 0xFF000000
MANAGER_OBJECT, SEAT_OBJECT = 4, 5
FIRST_SYNC, SECOND_SYNC = 3, 6
ACTIVATED = 2


def array(*words: int) -> bytes:
    """An argument that is an array of words."""
    return struct.pack("=I", 4 * len(words)) + b"".join(struct.pack("=I", word) for word in words)


def event(target: int, number: int, body: bytes = b"") -> bytes:
    """One event with a body that is already written out."""
    return struct.pack("=II", target, (8 + len(body)) << 16 | number) + body


def offers(*interfaces: tuple[str, int]) -> bytes:
    """What the compositor has, and the end of the list."""
    rows = [message(REGISTRY_ID, wayland.REGISTRY_GLOBAL, name, interface, version) for name, (interface, version) in enumerate(interfaces, 1)]
    return b"".join(rows) + message(FIRST_SYNC, 0, 0)


USUAL = offers(("wl_compositor", 5), (MANAGER, 3), (SEAT, 8))
LISTED = message(SECOND_SYNC, 0, 0)
"""The end of the windows that there were at the start."""


def opened(handle: int, title: str, active: bool = False, parent: int = 0, app: str = "") -> bytes:
    """A new window, described completely; of a project's browser, by its title, when no application is named."""
    name = app or "telebrowser." + title.strip("[]")
    return message(MANAGER_OBJECT, wayland.MANAGER_TOPLEVEL, handle) + message(handle, wayland.HANDLE_APP, name) + told(handle, title, active, parent)


def told(handle: int, title: str, active: bool = False, parent: int = 0) -> bytes:
    """A window, described anew."""
    return (
        message(handle, wayland.HANDLE_TITLE, title)
        + message(handle, wayland.HANDLE_PARENT, parent)
        + event(handle, wayland.HANDLE_STATE, array(0, ACTIVATED) if active else array(0))
        + message(handle, wayland.HANDLE_DONE)
    )


def closed(handle: int) -> bytes:
    """A window is gone."""
    return message(handle, wayland.HANDLE_CLOSED)


def error(text: str) -> bytes:
    """A protocol error, after which the compositor hangs up."""
    return message(DISPLAY_ID, wayland.DISPLAY_ERROR, 9, 3, text)


def requests(data: bytes) -> list[tuple[int, int, bytes]]:
    """What a client sent: object, number and body of each request."""
    found = []
    while data:
        target, word = struct.unpack_from("=II", data)
        found.append((target, word & 0xFFFF, data[8 : word >> 16]))
        data = data[word >> 16 :]
    return found

"""A client of a Wayland compositor, as small as knowing and raising windows needs: the messages, without any I/O.

It speaks ``wlr-foreign-toplevel-management-unstable-v1``, by which compositors of the wlroots family list their windows and let
them be activated. A message is the object's id, then size and number of the request or event in one word, then its arguments; all
words are of 32 bits in the machine's byte order, strings and arrays are preceded by their length and filled up to whole words.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

MANAGER = "zwlr_foreign_toplevel_manager_v1"
MANAGER_VERSION = 3
SEAT = "wl_seat"
MAX_MESSAGE = 4096

DISPLAY_ID = 1
REGISTRY_ID = 2
DISPLAY_SYNC, DISPLAY_GET_REGISTRY = 0, 1
DISPLAY_ERROR = 0
REGISTRY_BIND = 0
REGISTRY_GLOBAL = 0
MANAGER_TOPLEVEL, MANAGER_FINISHED = 0, 1
HANDLE_ACTIVATE, HANDLE_DESTROY = 4, 7
HANDLE_TITLE, HANDLE_APP, HANDLE_STATE, HANDLE_DONE, HANDLE_CLOSED, HANDLE_PARENT = 0, 1, 4, 5, 6, 7
STATE_ACTIVATED = 2


class WaylandError(Exception):
    """The compositor reported an error, cannot do what is needed, or does not speak the protocol."""


class Window:
    """One window as the compositor last described it completely."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.title = ""
        self.app = ""
        self.parent = 0
        self.activated = False
        # What has been told since the last `done`.
        self.next_title = ""
        self.next_app = ""
        self.next_parent = 0
        self.next_activated = False

    def commit(self) -> None:
        self.title, self.app = self.next_title, self.next_app
        self.parent, self.activated = self.next_parent, self.next_activated


class _Arguments:
    """The arguments of one event."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def word(self) -> int:
        value: int = struct.unpack_from("=I", self._data, self._at)[0]
        self._at += 4
        return value

    def array(self) -> bytes:
        length = self.word()
        value = self._data[self._at : self._at + length]
        if len(value) != length:
            raise WaylandError("the compositor sent a message that ends too early")
        self._at += length + -length % 4
        return value

    def text(self) -> str:
        return self.array().rstrip(b"\0").decode(errors="replace")


def message(target: int, number: int, *arguments: int | str) -> bytes:
    """One request."""
    body = b""
    for argument in arguments:
        if isinstance(argument, str):
            text = argument.encode() + b"\0"
            body += struct.pack("=I", len(text)) + text + b"\0" * (-len(text) % 4)
        else:
            body += struct.pack("=I", argument)
    return struct.pack("=II", target, (8 + len(body)) << 16 | number) + body


class Client:
    """One conversation: `receive` what the compositor sends, send what `take` gives.

    ``ready`` is set once every window that there was at the start is known.
    """

    def __init__(self) -> None:
        self.windows: dict[int, Window] = {}
        self.ready = False
        self._input = b""
        self._output = message(DISPLAY_ID, DISPLAY_GET_REGISTRY, REGISTRY_ID)
        self._next_id = REGISTRY_ID + 1
        self._manager = self._seat = 0
        self._globals: dict[str, tuple[int, int]] = {}
        self._bound = False
        self._sync = self._synchronise()

    def take(self) -> bytes:
        """What is to be sent; once."""
        output, self._output = self._output, b""
        return output

    def activate(self, handle: int) -> None:
        """Ask for a window to be raised and given the keyboard."""
        self._output += message(handle, HANDLE_ACTIVATE, self._seat)

    def receive(self, data: bytes) -> Iterator[Window]:
        """Take what has come; every window that is new, changed or gone (then it is no longer in `windows`). Raises `WaylandError`."""
        self._input += data
        while len(self._input) >= 8:
            target, word = struct.unpack_from("=II", self._input)
            size, number = word >> 16, word & 0xFFFF
            if not 8 <= size <= MAX_MESSAGE:
                raise WaylandError(f"the compositor sent a message of {size} bytes")
            if len(self._input) < size:
                return
            arguments = _Arguments(self._input[8:size])
            self._input = self._input[size:]
            try:
                window = self._event(target, number, arguments)
            except struct.error:
                raise WaylandError("the compositor sent a message that ends too early") from None
            if window is not None:
                yield window

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _synchronise(self) -> int:
        """Ask for an answer to everything up to here."""
        number = self._new_id()
        self._output += message(DISPLAY_ID, DISPLAY_SYNC, number)
        return number

    def _event(self, target: int, number: int, arguments: _Arguments) -> Window | None:
        if target == DISPLAY_ID and number == DISPLAY_ERROR:
            culprit, code = arguments.word(), arguments.word()
            raise WaylandError(f"the compositor reports error {code} about object {culprit}: {arguments.text()}")
        if target == REGISTRY_ID and number == REGISTRY_GLOBAL:
            name, interface, version = arguments.word(), arguments.text(), arguments.word()
            self._globals.setdefault(interface, (name, version))
        elif target == self._sync:
            self._synchronised()
        elif target == self._manager and self._manager:
            if number == MANAGER_TOPLEVEL:
                handle = arguments.word()
                self.windows[handle] = Window(handle)
            elif number == MANAGER_FINISHED:
                raise WaylandError("the compositor stopped listing windows")
        elif target in self.windows:
            return self._window_event(self.windows[target], number, arguments)
        return None

    def _synchronised(self) -> None:
        if self._bound:
            self.ready = True
            return
        self._bound = True
        for interface in (MANAGER, SEAT):
            if interface not in self._globals:
                raise WaylandError(f"the compositor has no {interface}")
        self._manager = self._bind(MANAGER, MANAGER_VERSION)
        self._seat = self._bind(SEAT, 1)
        self._sync = self._synchronise()

    def _bind(self, interface: str, version: int) -> int:
        name, offered = self._globals[interface]
        number = self._new_id()
        self._output += message(REGISTRY_ID, REGISTRY_BIND, name, interface, min(version, offered), number)
        return number

    def _window_event(self, window: Window, number: int, arguments: _Arguments) -> Window | None:
        if number == HANDLE_TITLE:
            window.next_title = arguments.text()
        elif number == HANDLE_APP:
            window.next_app = arguments.text()
        elif number == HANDLE_STATE:
            value = arguments.array()
            window.next_activated = STATE_ACTIVATED in struct.unpack(f"={len(value) // 4}I", value[: len(value) // 4 * 4])
        elif number == HANDLE_PARENT:
            window.next_parent = arguments.word()
        elif number == HANDLE_DONE:
            window.commit()
            return window
        elif number == HANDLE_CLOSED:
            del self.windows[window.handle]
            self._output += message(window.handle, HANDLE_DESTROY)
            return window
        return None

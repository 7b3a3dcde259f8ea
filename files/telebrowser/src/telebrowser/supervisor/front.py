"""Which window is in front, and which one should be, where a compositor gives the keyboard to every new window.

A person may be typing in one project's window when another project's browser starts, or opens a popup. labwc puts the new window in
front; then the one that was there before is asked for again. Only the first activation of a window that has just opened is undone:
every later one is the person's own or was asked for.

Whose a window is tells its application name, which the supervisor gives to each browser: titles of popups are their pages'.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from .wayland import Window

APP_PREFIX = "telebrowser."
MAX_PARENTS = 8
# A window that is still not in front so long after it opened is brought there by somebody.
NEW_SECONDS = 5.0


class Front:
    """Told of every change of a window; says which window to activate."""

    def __init__(self, windows: Mapping[int, Window], clock: Callable[[], float] = time.monotonic) -> None:
        self._windows = windows
        self._clock = clock
        self._opened: dict[int, float] = {}
        self._current = 0
        self._seen: set[int] = set()
        self._order: dict[int, int] = {}
        self._wanted = 0

    @property
    def current(self) -> int:
        """The window that is in front, or was last and still exists; 0 for none."""
        return self._current if self._current in self._windows else 0

    def want(self, handle: int) -> None:
        """This window is meant to come to the front."""
        self._wanted = handle

    def changed(self, window: Window, known: bool = False) -> int | None:
        """A window is new, changed or gone; the window to activate, if any. ``known``: it was there before anybody looked."""
        if window.handle not in self._windows:
            self._seen.discard(window.handle)
            self._order.pop(window.handle, None)
            self._opened.pop(window.handle, None)
            return None
        now = self._clock()
        opened = self._opened.setdefault(window.handle, now)
        if known or now - opened > NEW_SECONDS:
            self._seen.add(window.handle)
        # Without its name nobody knows yet whose it is.
        if not window.activated or not window.app:
            return None
        new = window.handle not in self._seen
        self._seen.add(window.handle)
        before = self.current
        if new and before not in (0, window.handle) and window.handle != self._wanted and self._is_foreign(window, self._windows[before]):
            return before
        if window.handle == self._wanted:
            self._wanted = 0
        self._current = window.handle
        self._order[window.handle] = max(self._order.values(), default=0) + 1
        return None

    def appeared(self, title: str) -> bool:
        """Whether a window with this title has come and its first activation has been judged."""
        return any(window.title == title and window.handle in self._seen for window in self._windows.values())

    def find(self, title: str) -> int | None:
        """The window with exactly this title that was in front last."""
        found = [handle for handle, window in self._windows.items() if window.title == title]
        return max(found, key=lambda handle: self._order.get(handle, 0), default=None)

    def project(self, handle: int) -> str | None:
        """The application name of the project whose window this is; None for another program's, and for one that is not there."""
        window = self._windows.get(handle)
        return self._project(window) if window is not None else None

    def _is_foreign(self, window: Window, other: Window) -> bool:
        mine, its = self._project(window), self._project(other)
        return mine is not None and its is not None and mine != its

    def _project(self, window: Window) -> str | None:
        """The application name of the project whose window this is, or whose dialog; None for another program's."""
        for _ in range(MAX_PARENTS):
            if window.app.startswith(APP_PREFIX):
                return window.app
            parent = self._windows.get(window.parent)
            if parent is None:
                return None
            window = parent
        return None

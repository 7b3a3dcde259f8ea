"""Which window is raised again after another one has taken its place."""

from __future__ import annotations

import pytest

from telebrowser.supervisor.front import NEW_SECONDS, Front
from telebrowser.supervisor.wayland import Window


class Desk:
    """Windows as a compositor shows them: a new one, or one that is activated, takes the place of the one in front."""

    def __init__(self) -> None:
        self.windows: dict[int, Window] = {}
        self.now = 0.0
        self.front = Front(self.windows, lambda: self.now)

    def open(self, handle: int, title: str, app: str | None = None, parent: int = 0, known: bool = False, active: bool = True) -> int | None:
        """A window of the project that its title names in brackets, or of the application ``app``."""
        window = self.windows[handle] = Window(handle)
        window.title, window.parent = title, parent
        window.app = "telebrowser." + title.strip("[]") if app is None else app
        return self.activate(handle, known) if active else self.front.changed(window, known)

    def activate(self, handle: int, known: bool = False) -> int | None:
        """What is to be activated instead."""
        again = None
        for window in self.windows.values():
            if window.activated:
                window.activated = False
                again = self.front.changed(window, known) or again
        self.windows[handle].activated = True
        return self.front.changed(self.windows[handle], known) or again

    def close(self, handle: int) -> None:
        self.front.changed(self.windows.pop(handle))


@pytest.fixture
def desk() -> Desk:
    """A desk with alpha's window in front."""
    made = Desk()
    assert made.open(1, "[alpha]") is None
    return made


def test_another_projects_new_window_is_put_behind(desk: Desk) -> None:
    assert desk.open(2, "[beta]") == 1
    assert desk.front.current == 1 and desk.front.appeared("[beta]")
    assert desk.activate(1) is None and desk.front.current == 1


def test_later_the_person_decides(desk: Desk) -> None:
    desk.open(2, "[beta]")
    desk.activate(1)
    assert desk.activate(2) is None and desk.front.current == 2
    assert desk.activate(1) is None and desk.front.current == 1


def test_a_popup_of_the_same_project_comes_to_the_front(desk: Desk) -> None:
    assert desk.open(2, "A page - Chromium", "telebrowser.alpha") is None
    assert desk.front.current == 2


def test_a_popup_of_another_project_does_not(desk: Desk) -> None:
    desk.open(2, "[beta]")
    desk.activate(1)
    assert desk.open(3, "[alpha]", "telebrowser.beta") == 1


def test_dialogs_belong_to_their_project(desk: Desk) -> None:
    desk.open(2, "[beta]")
    desk.activate(1)
    assert desk.open(3, "Open File", "gtk", parent=2) == 1
    desk.activate(1)
    assert desk.open(4, "Open File", "gtk", parent=1) is None and desk.front.current == 4
    assert desk.open(5, "Name of the file", "gtk", parent=4) is None and desk.front.current == 5


def test_other_programs_are_left_alone(desk: Desk) -> None:
    assert desk.open(2, "Terminal", "foot") is None
    assert desk.open(3, "[beta]") is None and desk.front.current == 3


def test_parents_in_a_ring_end(desk: Desk) -> None:
    desk.open(2, "x", "x", parent=3, active=False)
    assert desk.open(3, "y", "y", parent=2) is None


def test_without_a_name_nothing_is_decided_yet(desk: Desk) -> None:
    assert desk.open(2, "", "") is None and desk.front.current == 1
    desk.windows[2].app = "telebrowser.beta"
    assert desk.front.changed(desk.windows[2]) == 1


def test_what_is_asked_for_comes(desk: Desk) -> None:
    desk.open(2, "[beta]", active=False)
    desk.front.want(2)
    assert desk.activate(2) is None and desk.front.current == 2


def test_windows_from_before_are_not_new() -> None:
    desk = Desk()
    desk.open(1, "[alpha]", known=True)
    desk.open(2, "[beta]", known=True, active=False)
    assert desk.activate(2) is None and desk.front.current == 2


def test_long_after_it_opened_somebody_wants_it(desk: Desk) -> None:
    desk.open(2, "[beta]", active=False)
    desk.now = NEW_SECONDS + 1
    assert desk.activate(2) is None and desk.front.current == 2


def test_when_the_one_in_front_is_gone_the_new_one_stays(desk: Desk) -> None:
    desk.close(1)
    assert desk.front.current == 0
    assert desk.open(2, "[beta]") is None and desk.front.current == 2


def test_a_handle_may_be_used_again(desk: Desk) -> None:
    desk.open(2, "[beta]")
    desk.close(2)
    assert desk.open(2, "[beta]") == 1


def test_found_is_the_one_that_was_in_front_last(desk: Desk) -> None:
    desk.open(2, "[alpha]")
    assert desk.front.find("[alpha]") == 2
    desk.activate(1)
    assert desk.front.find("[alpha]") == 1
    assert desk.front.find("[alph]") is None and desk.front.find("alpha") is None and desk.front.find("[alpha") is None

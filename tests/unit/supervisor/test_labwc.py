"""The labwc display against a compositor of the test's own on a real socket: when it is up, when it is lost, what comes to the front."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from telebrowser.datadir import DataDir
from telebrowser.errors import ConfigError, ExitError
from telebrowser.supervisor import labwc
from telebrowser.supervisor.children import Children
from telebrowser.supervisor.display import make_display, parse_size
from telebrowser.supervisor.labwc import LabwcDisplay
from telebrowser.supervisor.profile import Profile
from telebrowser.supervisor.wayland import HANDLE_ACTIVATE
from telebrowser.supervisor.x11_servers import XVFB
from tests.unit.supervisor.compositor import FIRST_HANDLE, LISTED, USUAL, closed, error, offers, opened, requests, told

ALPHA, BETA = FIRST_HANDLE, FIRST_HANDLE + 1


class Compositor:
    """Shows alpha in front of beta; brings to the front what it is asked for, unless it is ``stubborn``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / labwc.SOCKET
        self.offer = USUAL
        self.stubborn = False
        self.asked: list[int] = []
        self._server: asyncio.Server | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._active = ALPHA
        self._titles = {ALPHA: "[alpha]", BETA: "[beta]"}

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, str(self.path))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        writer.write(self.offer + b"".join(opened(handle, title, handle == self._active) for handle, title in self._titles.items()) + LISTED)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                for target, number, _ in requests(data):
                    if target >= FIRST_HANDLE and number == HANDLE_ACTIVATE:
                        self.asked.append(target)
                        if not self.stubborn:
                            self.show(target)
        writer.close()

    def send(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)

    def show(self, handle: int) -> None:
        before, self._active = self._active, handle
        self.send((told(before, self._titles[before]) if before in self._titles else b"") + told(handle, self._titles[handle], active=True))

    def open(self, handle: int, title: str) -> None:
        """A new window, which gets the keyboard, as in labwc."""
        self._titles[handle] = title
        before, self._active = self._active, handle
        self.send(told(before, self._titles[before]) + opened(handle, title, active=True))

    def close(self, handle: int) -> None:
        del self._titles[handle]
        self.send(closed(handle))

    async def stop(self) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        self.path.unlink(missing_ok=True)


@pytest.fixture
async def compositor() -> AsyncIterator[Compositor]:
    with tempfile.TemporaryDirectory(prefix="tb-", dir="/tmp") as folder:
        made = Compositor(Path(folder))
        yield made
        await made.stop()


@pytest.fixture
async def display(compositor: Compositor) -> AsyncIterator[LabwcDisplay]:
    """A display on a running compositor."""
    made = LabwcDisplay("1600x900", str(compositor.path.parent))
    await compositor.start()
    await made.start()
    yield made
    await made.stop()


async def test_it_waits_for_the_desktop(compositor: Compositor) -> None:
    display = LabwcDisplay("1600x900", str(compositor.path.parent))
    starting = asyncio.create_task(display.start())
    await asyncio.sleep(0.25)
    assert not starting.done() and display.lost
    await compositor.start()
    await asyncio.wait_for(starting, 2)
    assert not display.lost and await display.front() == ALPHA
    await display.stop()


async def test_a_desktop_that_does_not_come(compositor: Compositor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labwc, "START_DEADLINE", 0.3)
    display = LabwcDisplay("1600x900", str(compositor.path.parent))
    with pytest.raises(ExitError, match=r"the desktop does not answer at .*/wayland-0 within .*No such file.*svc-de"):
        await display.start()


@pytest.mark.parametrize("offer", [offers(("wl_seat", 1)), error("go away"), b"\0" * 64])
async def test_a_desktop_that_cannot_do_it(compositor: Compositor, monkeypatch: pytest.MonkeyPatch, offer: bytes) -> None:
    monkeypatch.setattr(labwc, "START_DEADLINE", 0.3)
    compositor.offer = offer
    await compositor.start()
    display = LabwcDisplay("1600x900", str(compositor.path.parent))
    with pytest.raises(ExitError, match=r"has no zwlr|go away|of 0 bytes"):
        await display.start()
    assert display.lost


async def test_the_right_window_is_raised(display: LabwcDisplay, compositor: Compositor) -> None:
    assert await display.raise_window("[beta]") is None
    assert compositor.asked == [BETA] and await display.front() == BETA
    assert await display.raise_window("[alpha]") is None
    # It is in front: asking again is harmless.
    assert await display.raise_window("[alpha]") is None and await display.front() == ALPHA


@pytest.mark.parametrize("title", ["beta", "[bet", "[beta] ", "[Beta]", ""])
async def test_titles_are_exact(display: LabwcDisplay, compositor: Compositor, title: str) -> None:
    assert await display.raise_window(title) == f"no window has the title {title}"
    assert compositor.asked == []


async def test_a_window_that_does_not_come(display: LabwcDisplay, compositor: Compositor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labwc, "RAISE_DEADLINE", 0.2)
    compositor.stubborn = True
    assert "did not come to the front" in str(await display.raise_window("[beta]"))


async def test_a_window_that_closes_meanwhile(display: LabwcDisplay, compositor: Compositor) -> None:
    compositor.stubborn = True
    raising = asyncio.create_task(display.raise_window("[beta]"))
    await asyncio.sleep(0.05)
    compositor.close(BETA)
    assert await asyncio.wait_for(raising, 2) == "the window [beta] was closed"


async def test_a_new_browser_does_not_stay_in_front(display: LabwcDisplay, compositor: Compositor) -> None:
    before = await display.front()
    settling = asyncio.create_task(display.settle("[gamma]", before))
    await asyncio.sleep(0.05)
    assert not settling.done()
    compositor.open(BETA + 1, "[gamma]")
    await asyncio.wait_for(settling, 2)
    # Its answer to what it was asked comes a moment later.
    await asyncio.sleep(0.1)
    assert await display.front() == ALPHA and compositor.asked == [ALPHA]
    assert await display.raise_window("[gamma]") is None and compositor.asked == [ALPHA, BETA + 1]


async def test_a_browser_without_a_window_is_not_waited_for_for_ever(display: LabwcDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labwc, "SETTLE_DEADLINE", 0.1)
    await asyncio.wait_for(display.settle("[nobody]", 0), 2)


async def test_the_end_is_known_and_the_next_desktop_found(display: LabwcDisplay, compositor: Compositor) -> None:
    lost = asyncio.create_task(display.wait_lost())
    await asyncio.sleep(0)
    raising = asyncio.create_task(display.settle("[gamma]", 0))
    await compositor.stop()
    assert "closed the connection" in await asyncio.wait_for(lost, 2)
    await asyncio.wait_for(raising, 2)
    assert display.lost and await display.raise_window("[alpha]") == "the desktop is not there"
    await display.stop()
    await compositor.start()
    await display.start()
    assert not display.lost and await display.raise_window("[beta]") is None


async def test_a_protocol_error_is_a_loss_with_its_reason(display: LabwcDisplay, compositor: Compositor) -> None:
    compositor.send(error("invalid object"))
    assert "invalid object" in await asyncio.wait_for(display.wait_lost(), 2)


def test_what_browsers_are_given(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    display = make_display(data, Children(), "labwc", "1280x720", XVFB, "shared")
    assert display.backend == "labwc" and display.size == "1280x720" and list(display.options("p")) == ["--ozone-platform=wayland", "--class=telebrowser.p"]
    environ = display.environment(Profile(data, "p", None))
    assert environ["WAYLAND_DISPLAY"] == display.name and display.name.startswith("/")
    with pytest.raises(ConfigError, match="TELEBROWSER_SCREEN"):
        parse_size("tiny")


def test_the_number_of_a_request_is_that_of_the_protocol() -> None:
    """As it stands in the public description of the protocol: set_maximized is 0, activate the fifth, destroy the eighth."""
    assert HANDLE_ACTIVATE == 4 and struct.calcsize("=II") == 8

"""Which view a person is given: the desktop's where the supervisor shows it, the tab's where not."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
from collections.abc import Iterator

import pytest

from telebrowser.datadir import DataDir
from telebrowser.gateway.handoff.machine import Handoff
from telebrowser.gateway.view import desktop
from telebrowser.gateway.view.credentials import Credential
from telebrowser.gateway.view.desktop import DesktopView, announced

HANDOFF = Handoff(id="h0", project="shop", session="s", target="t", reason="r", desktop="shared", asked_at=0, deadline=1)


@pytest.fixture
def data() -> Iterator[DataDir]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        made = DataDir(folder)
        made.prepare()
        yield made


def tell(data: DataDir, value: object) -> None:
    (data.run / "view.json").write_text(json.dumps(value))


def shown(data: DataDir, desktop: str = "shared", backend: str = "selkies-x11") -> None:
    # By the path that the supervisor knows, which need not be the gateway's.
    tell(data, {"backend": backend, "desktops": {desktop: {"socket": "/elsewhere/run/view.sock"}}})


def listening(data: DataDir) -> socket.socket:
    """Somebody listens where the view does."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(data.run / "view.sock"))
    made.listen()
    return made


async def long() -> None:
    """What a connection does."""
    await asyncio.sleep(30)


async def granted(view: DesktopView, *, secure: bool = True, instead: str = "") -> Credential:
    """The credential, with which the person is told ``instead``."""
    grant = await view.grant(HANDOFF, "controller", secure=secure)
    credential = view.credentials.find(grant.url.removeprefix("../view/").rstrip("/"))
    assert credential is not None and grant.instead == instead
    return credential


@pytest.mark.parametrize("value", [None, [], {}, {"backend": 1, "desktops": {}}, {"backend": "vnc"}, {"backend": "vnc", "desktops": {"shared": {"socket": 1}}}])
def test_what_tells_nothing_shows_nothing(data: DataDir, value: object) -> None:
    tell(data, value)
    assert announced(data) is None and DesktopView(data, apart=False).name == "screencast"


def test_a_socket_is_one_of_the_run_folder(data: DataDir) -> None:
    shown(data)
    found = announced(data)
    assert found is not None and found.sockets == {"shared": data.run / "view.sock"}


async def test_the_desktop_while_it_listens_and_the_tab_while_not(data: DataDir) -> None:
    view = DesktopView(data, apart=False)
    assert view.desktop("shop") == "project shop", "tabs do not wait for each other"
    assert (await granted(view)).view == "screencast"
    shown(data)
    assert (await granted(view, instead=desktop.AWAY)).view == "screencast", "nobody listens there"
    server = listening(data)
    credential = await granted(view)
    assert (credential.view, credential.socket, view.name) == ("selkies-x11", data.run / "view.sock", "selkies-x11")
    server.close()
    (data.run / "view.json").unlink()
    assert (await granted(view, instead=desktop.AWAY)).view == "screencast"
    assert view.desktop("shop") == "shared", "it is one desktop also while its view starts again"


async def test_a_desktop_of_ones_own(data: DataDir) -> None:
    view = DesktopView(data, apart=True)
    shown(data, "project shop")
    server = listening(data)
    assert view.desktop("shop") == "project shop" and (await granted(view)).view == "selkies-x11"
    shown(data, "project other")
    assert (await granted(view, instead=desktop.AWAY)).view == "screencast"
    server.close()


async def test_vnc_needs_novnc(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    view = DesktopView(data, apart=False)
    shown(data, backend="vnc")
    server = listening(data)
    assert (await granted(view)).view == "vnc"
    monkeypatch.setattr("telebrowser.novnc.NOVNC", data.run)
    assert (await granted(view, instead=desktop.NO_NOVNC)).view == "screencast"
    server.close()


async def test_selkies_needs_a_secure_context_and_vnc_does_not(data: DataDir) -> None:
    view = DesktopView(data, apart=False)
    server = listening(data)
    shown(data)
    assert (await granted(view, secure=False, instead=desktop.INSECURE)).view == "screencast"
    shown(data, backend="vnc")
    assert (await granted(view, secure=False)).view == "vnc"
    server.close()


async def test_a_withdrawn_credential_ends_its_connections(data: DataDir) -> None:
    view = DesktopView(data, apart=False)
    credential = await granted(view)
    connection = asyncio.create_task(credential.during(long(), long()))
    await asyncio.sleep(0)
    assert view.viewers("shop") == 1
    await view.revoke(HANDOFF)
    assert connection.done() and connection.result() is True and view.viewers("shop") == 0


async def test_a_fault_in_a_connection_is_told_and_an_end_is_none(data: DataDir) -> None:
    async def fail(error: Exception) -> None:
        raise error

    credential = await granted(DesktopView(data, apart=False))
    with pytest.raises(LookupError):
        await credential.during(fail(LookupError()), long())
    assert await credential.during(fail(ConnectionResetError()), long()) is False
    assert not credential.open

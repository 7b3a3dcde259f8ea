"""What goes through to Selkies: the files of its page and its connection, and of a watcher's messages those that move nothing."""

from __future__ import annotations

import pytest

from telebrowser.gateway.view.selkies import FILES, is_harmless


@pytest.mark.parametrize("path", ["", "index.html", "manifest.json", "icon.png", "icon-512.png", "assets/index-BpOBp7NB.js", "jsdb/linux", "api/websockets"])
def test_the_page_has_what_it_needs(path: str) -> None:
    assert FILES.fullmatch(path)


@pytest.mark.parametrize(
    "path",
    [
        "api/tokens",
        "api/sessions",
        "api/screenshot",
        "api/recording",
        "api/websockets/",
        "api/ws",
        "api/files/etc/passwd",
        "assets/../api/tokens",
        "assets/..",
        "assets/.hidden",
        "assets/a/b.js",
        "../api/tokens",
        "index.html/../api/tokens",
        "src/selkies-core.js",
        "index.html?token=x",
        "index.html\n",
    ],
)
def test_nothing_else_can_be_had(path: str) -> None:
    assert not FILES.fullmatch(path)


@pytest.mark.parametrize("message", ["START_VIDEO", "STOP_VIDEO", "REQUEST_KEYFRAME", "CLIENT_FRAME_ACK 12 34"])
def test_a_watcher_asks_for_pictures(message: str) -> None:
    assert is_harmless(message)


@pytest.mark.parametrize(
    "message",
    [
        "m,1,2,1,0",
        "kd,97",
        "co,end,typed",
        "cw,dGV4dA==",
        "cmd,true",
        "r,640x480",
        "s,96",
        "js,c,0",
        "SETTINGS,{}",
        "",
        "START_VIDEOS",
        "_gz,1",
        b"START_VIDEO",
    ],
)
def test_a_watcher_moves_nothing(message: str | bytes) -> None:
    assert not is_harmless(message)

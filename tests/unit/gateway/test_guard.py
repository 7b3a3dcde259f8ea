"""Addresses and files that a client may make the browser open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from telebrowser.gateway.guard import MAX_NAMES, FileGuard, check_drag_items, check_url, refused
from telebrowser.gateway.wire import ProtocolError


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "HTTPS://example.org",
        "about:blank",
        "about:blank#x",
        "about:srcdoc",
        "data:text/html,x",
        "",
        "  ",
        "blob:http://a/1",
        "blob:null/1",
        "\thttp://a/",
    ],
)
def test_allowed_addresses(url: str) -> None:
    assert refused(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        " \x01file:///etc/passwd",
        "fi\nle:///etc/passwd",
        "f\tile:///etc/passwd",
        "\r\nfile:/x",
        "chrome://quit",
        "chrome://settings",
        "chrome-untrusted://x",
        "chrome-extension://x/y",
        "devtools://devtools/bundled/inspector.html",
        "view-source:http://a/",
        "view-source:file:///etc/passwd",
        "about:version",
        "about:settings",
        "about:blankx",
        "about:",
        "javascript:alert(1)",
        "blob:file:///x",
        "filesystem:http://a/x",
        "ftp://a/",
        "ws://a/",
        "mailto:a@b",
        "intent://x",
        "C:\\x",
        "/etc/passwd",
        "example.org",
        "//host/share",
    ],
)
def test_refused_addresses(url: str) -> None:
    assert refused(url) is not None
    with pytest.raises(ProtocolError):
        check_url(url)


@pytest.mark.parametrize("value", [None, 7, ["http://a/"], {"url": 1}])
def test_an_address_is_a_text(value: object) -> None:
    with pytest.raises(ProtocolError):
        check_url(value)


@pytest.fixture
def guard(tmp_path: Path) -> FileGuard:
    for name in ("uploads", "downloads", "uploads-of-others", "profile"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("x")
    os.symlink(tmp_path / "profile" / "a.txt", tmp_path / "uploads" / "link")
    os.symlink(tmp_path / "profile", tmp_path / "uploads" / "folder")
    os.symlink(tmp_path / "uploads" / "a.txt", tmp_path / "uploads" / "inner")
    os.mkfifo(tmp_path / "uploads" / "pipe")
    return FileGuard((tmp_path / "uploads", tmp_path / "downloads"))


def test_files_below_the_folders_are_given_by_their_real_path(guard: FileGuard, tmp_path: Path) -> None:
    assert guard.check([str(tmp_path / "uploads" / "a.txt")]) == [str(tmp_path / "uploads" / "a.txt")]
    assert guard.check([str(tmp_path / "uploads" / "inner"), str(tmp_path / "uploads" / ".." / "downloads" / "a.txt")]) == [
        str(tmp_path / "uploads" / "a.txt"),
        str(tmp_path / "downloads" / "a.txt"),
    ]
    assert guard.check([]) == []


@pytest.mark.parametrize(
    "name",
    [
        "profile/a.txt",
        "uploads/link",
        "uploads/folder/a.txt",
        "uploads/../profile/a.txt",
        "uploads-of-others/a.txt",
        "uploads",
        "uploads/pipe",
        "uploads/missing",
    ],
)
def test_other_files_are_refused_all_in_the_same_words(guard: FileGuard, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    with pytest.raises(ProtocolError) as error:
        guard.check([path])
    assert error.value.message == f"File is not below the project's uploads or downloads: {path}"


@pytest.mark.parametrize("value", [None, "uploads/a.txt", [7], [""], ["a\0b"], {"0": "x"}])
def test_files_are_a_list_of_texts(guard: FileGuard, value: object) -> None:
    with pytest.raises(ProtocolError):
        guard.check(value)


def test_dropped_addresses_are_checked() -> None:
    check_drag_items(None)
    check_drag_items([{"mimeType": "text/plain", "data": "file:///etc/passwd"}, {"mimeType": "text/uri-list", "data": "# c\nhttp://a/"}])
    with pytest.raises(ProtocolError):
        check_drag_items([{"mimeType": "text/uri-list", "data": "http://a/\nfile:///etc/passwd"}])


def test_a_session_has_names_of_its_own_for_files_that_it_may_have(guard: FileGuard, tmp_path: Path) -> None:
    mine, other, sent = guard.of("mine"), guard.of("other"), str(tmp_path / "uploads" / "a.txt")
    guard.name("mine", "/home/agent/a.txt", sent)
    assert mine.check(["/home/agent/a.txt"]) == guard.of("mine").check(["/home/agent/a.txt"]) == guard.check([sent])
    for stranger in (other, guard.of(None)):
        with pytest.raises(ProtocolError):
            stranger.check(["/home/agent/a.txt"])
    with pytest.raises(ProtocolError):
        guard.name("mine", "/x", "/etc/passwd")
    guard.forget("mine")
    with pytest.raises(ProtocolError):
        guard.of("mine").check(["/home/agent/a.txt"])


def test_the_names_of_a_session_are_bounded(guard: FileGuard, tmp_path: Path) -> None:
    for number in range(MAX_NAMES + 1):
        guard.name("mine", f"/{number}", str(tmp_path / "uploads" / "a.txt"))
    with pytest.raises(ProtocolError):
        guard.of("mine").check(["/0"])
    assert guard.of("mine").check([f"/{MAX_NAMES}"])

"""Names and places of downloads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from telebrowser.gateway.downloads import Downloads, place, safe_file_name

GUID = "b3e2ae78-174e-40f4-befa-1397c5de0f5a"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        (".bashrc", "bashrc"),
        ("", "download"),
        ("...", "download"),
        ("a\0b\n.txt", "a_b_.txt"),
        ("日本語.txt", "日本語.txt"),
        ("C:\\x\\y.exe", "C:_x_y.exe"),
    ],
)
def test_names(given: str, wanted: str) -> None:
    assert safe_file_name(given) == wanted


def test_long_names_keep_their_ending_and_whole_letters() -> None:
    name = safe_file_name("ü" * 300 + ".tar")
    assert name.endswith(".tar") and len(os.fsencode(name)) <= 200 and name.strip("ü") == ".tar"
    assert len(os.fsencode(safe_file_name("x" * 300 + "." + "y" * 300))) <= 200


def test_a_file_never_replaces_another(tmp_path: Path) -> None:
    for number in range(3):
        source = tmp_path / "source"
        source.write_text(str(number))
        place(source, tmp_path, "a.txt")
        assert not source.exists()
    assert [(tmp_path / name).read_text() for name in ("a.txt", "a (1).txt", "a (2).txt")] == ["0", "1", "2"]


def download(tmp_path: Path) -> Downloads:
    downloads = Downloads(tmp_path)
    downloads.prepare({}, fresh=True)
    downloads.began({"guid": GUID, "suggestedFilename": "x.bin"}, "one")
    return downloads


def test_a_complete_download_gets_its_name_and_is_told_to_whose_it_is(tmp_path: Path) -> None:
    downloads = download(tmp_path)
    assert downloads.belongs(GUID, "one") and downloads.belongs(GUID, None) and not downloads.belongs(GUID, "two") and downloads.state() == {GUID: "x.bin"}
    (downloads.partial / GUID).write_text("abc")
    assert downloads.progress({"guid": GUID, "state": "inProgress"})[0] == "one"
    owner, told = downloads.progress({"guid": GUID, "state": "completed", "filePath": str(downloads.partial / GUID)})
    assert owner == "one" and told["filePath"] == str(tmp_path / "x.bin") and (tmp_path / "x.bin").read_text() == "abc"
    assert downloads.state() == {} and not downloads.belongs(GUID, "one")


def test_a_cancelled_download_leaves_nothing(tmp_path: Path) -> None:
    downloads = download(tmp_path)
    (downloads.partial / (GUID + ".crdownload")).write_text("ab")
    downloads.progress({"guid": GUID, "state": "canceled"})
    assert list(downloads.partial.iterdir()) == [] and downloads.state() == {}


@pytest.mark.parametrize("fresh", [True, False])
def test_what_was_completed_while_nobody_listened_is_brought_in(tmp_path: Path, fresh: bool) -> None:
    other, running = GUID.replace("b", "a"), GUID.replace("b", "c")
    (tmp_path / ".partial").mkdir()
    (tmp_path / ".partial" / GUID).write_text("known")
    (tmp_path / ".partial" / other).write_text("unknown")
    (tmp_path / ".partial" / (running + ".crdownload")).write_text("running")
    downloads = Downloads(tmp_path)
    downloads.prepare({GUID: "x.bin"}, fresh=fresh)
    assert (tmp_path / "x.bin").read_text() == "known" and (tmp_path / f"download-{other[:8]}").read_text() == "unknown"
    assert [path.name for path in downloads.partial.iterdir()] == ([] if fresh else [running + ".crdownload"])


def test_a_foreign_browser_keeps_its_folder(tmp_path: Path) -> None:
    downloads = Downloads(tmp_path / "none", named=False)
    downloads.prepare({}, fresh=True)
    assert downloads.behavior() == {"behavior": "default", "eventsEnabled": True} and not (tmp_path / "none").exists()
    downloads.began({"guid": GUID, "suggestedFilename": "x"}, "one")
    assert downloads.progress({"guid": GUID, "state": "completed", "filePath": "/home/me/x"})[1]["filePath"] == "/home/me/x"

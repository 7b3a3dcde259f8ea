"""What launchers are told of files, and which names there are."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from telebrowser import config
from telebrowser.datadir import DataDir
from telebrowser.errors import TelebrowserError
from telebrowser.gateway import files
from telebrowser.handover import PROOF, read_offer
from telebrowser.mcp.tools import PATHS


@pytest.fixture
def project(tmp_path: Path) -> files.ProjectFiles:
    """The files of a project whose folders are not there yet."""
    return files.ProjectFiles(DataDir(tmp_path / "data"), "shop", config.load(config.GATEWAY, environ={}))


def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "projects" / "shop"


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "..\\x", "a\0b", "a\nb", "x" * 256, "\u202egnp.exe"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(TelebrowserError) as error:
        files.checked_name(name)
    assert error.value.code == "UNSAFE_PATH"


def test_the_listing_shows_plain_files_the_newest_first(project: files.ProjectFiles, tmp_path: Path) -> None:
    assert project.downloads() == {"directory": str(folder(tmp_path) / "downloads"), "files": []}
    downloads = folder(tmp_path) / "downloads"
    downloads.mkdir(parents=True)
    for number, name in enumerate(("old.txt", "new.txt", ".partial")):
        (downloads / name).write_text("x" * number)
        os.utime(downloads / name, (1000 + number, 1000 + number))
    (downloads / "folder").mkdir()
    (downloads / "link").symlink_to("/etc/passwd")
    listed = project.downloads()
    assert [(row["name"], row["size"]) for row in listed["files"]] == [("new.txt", 1), ("old.txt", 0)] and listed["directory"] == str(downloads)


def test_a_link_in_the_place_of_the_downloads_is_not_listed(project: files.ProjectFiles, tmp_path: Path) -> None:
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / "downloads").symlink_to("/etc")
    with pytest.raises(TelebrowserError) as error:
        project.downloads()
    assert error.value.code == "UNSAFE_PATH" and "passwd" not in error.value.text()


def test_the_offer_names_the_path_arguments_and_a_proof_that_only_the_disk_gives(project: files.ProjectFiles, tmp_path: Path) -> None:
    offer = read_offer(project.offer(PATHS))
    assert offer is not None and offer.tools == PATHS and offer.limit == 1 << 30 and offer.shared is not None
    proof = folder(tmp_path) / "uploads" / PROOF
    assert offer.shared.folder == str(folder(tmp_path)) and offer.shared.proof == hashlib.sha256(proof.read_bytes()).hexdigest()
    assert proof.read_text() not in project.offer(PATHS) and proof.stat().st_mode & 0o777 == 0o600
    assert read_offer(project.offer(PATHS)) == offer


def test_a_link_in_the_place_of_the_uploads_gives_no_proof(project: files.ProjectFiles, tmp_path: Path) -> None:
    folder(tmp_path).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder(tmp_path) / "uploads").symlink_to(tmp_path / "outside")
    offer = read_offer(project.offer(PATHS))
    assert offer is not None and offer.shared is None and os.listdir(tmp_path / "outside") == []

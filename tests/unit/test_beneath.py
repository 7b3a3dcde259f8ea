"""No link on the way is followed, and a file is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from telebrowser import beneath


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a file in a folder, beside a secret outside, and links to both."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file.txt").write_text("inside")
    (root / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (root / "linked").symlink_to(tmp_path / "outside")
    (root / "folder" / "up").symlink_to("..")
    os.mkfifo(root / "pipe")
    return root


def read(root: Path, *parts: str) -> bytes:
    with open(beneath.open_file(root, parts), "rb") as file:
        return file.read()


def test_a_file_below_is_opened(tree: Path) -> None:
    assert read(tree, "folder", "file.txt") == b"inside"


@pytest.mark.parametrize("parts", [("link.txt",), ("linked", "secret.txt"), ("folder", "up", "folder", "file.txt")])
def test_a_link_in_any_part_is_refused(tree: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(OSError) as error:
        read(tree, *parts)
    assert beneath.is_link_error(error.value)


@pytest.mark.parametrize("parts", [("folder",), ("pipe",), ("missing.txt",), ("folder", "file.txt", "below")])
def test_what_is_no_regular_file_is_refused_at_once(tree: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(OSError) as error:
        read(tree, *parts)
    assert not beneath.is_link_error(error.value)


def test_nothing_stays_open(tree: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for parts in (("folder", "file.txt"), ("link.txt",), ("linked", "x"), ("pipe",), ("missing", "x")):
        with contextlib.suppress(OSError):
            os.close(beneath.open_file(tree, parts))
    assert len(os.listdir("/proc/self/fd")) == before


def test_missing_folders_are_made_but_never_through_a_link(tree: Path) -> None:
    os.close(beneath.open_folder(tree, ("a", "b"), make=0o700))
    assert (tree / "a" / "b").stat().st_mode & 0o777 == 0o700
    with pytest.raises(OSError) as error:
        beneath.open_folder(tree, ("linked", "new"), make=0o700)
    assert beneath.is_link_error(error.value) and not (tree.parent / "outside" / "new").exists()


@pytest.mark.parametrize(
    ("path", "parts"), [("a", ("a",)), ("./a//b/", ("a", "b")), ("..", None), ("a/../b", None), ("", None), (".", None), ("a\0", None), ("x" * 256, None)]
)
def test_plain_parts(path: str, parts: tuple[str, ...] | None) -> None:
    assert beneath.plain_parts(path) == parts


def arrival(folder: Path) -> beneath.Arrival:
    return beneath.Arrival(beneath.open_folder(folder))


def test_a_file_arrives_whole_and_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("kept")
    with arrival(tmp_path) as file:
        file.write(b"new")
        with pytest.raises(FileExistsError):
            file.publish("there.txt", replace=False)
        file.publish("here.txt", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"there.txt": "kept", "here.txt": "new"}


def test_a_file_that_is_not_published_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), arrival(tmp_path) as file:
        file.write(b"part")
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    with arrival(tmp_path) as file:
        file.write(b"new")
        file.publish("link", replace=True)
    assert (tmp_path / "target").read_text() == "kept" and (tmp_path / "link").read_text() == "new" and not (tmp_path / "link").is_symlink()


def test_a_free_name_is_found(tmp_path: Path) -> None:
    names = []
    for text in ("one", "two", "three"):
        with arrival(tmp_path) as file:
            file.write(text.encode())
            names.append(beneath.publish_free(file, "a.tar.gz"))
    assert names == ["a.tar.gz", "a.tar (1).gz", "a.tar (2).gz"] and [(tmp_path / name).read_text() for name in names] == ["one", "two", "three"]


def test_a_whole_file_is_copied(tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(os.urandom(300_000))
    with open(tmp_path / "from", "rb") as source, arrival(tmp_path) as file:
        beneath.copy(source.fileno(), file)
        file.publish("to", replace=False)
    assert (tmp_path / "to").read_bytes() == (tmp_path / "from").read_bytes()

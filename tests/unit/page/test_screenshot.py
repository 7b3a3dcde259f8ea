"""Where a picture may be written, and that it is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.page.screenshot import safe_path, write_file


@pytest.mark.parametrize("name", ["a.png", "a", "folder/b.jpg", "Ünïcode name (1).png", "日本.png"])
def test_plain_names_stay_inside(tmp_path: Path, name: str) -> None:
    path = safe_path(tmp_path, name, "png")
    assert path.is_relative_to(tmp_path)
    assert path.suffix in (".png", ".jpg")


@pytest.mark.parametrize("name", ["/etc/x.png", "../x.png", "a/../../x.png", "a//b.png", "./x.png", "~/x.png", "..\\x.png", "x\0.png", "", "a/", "x" * 200])
def test_anything_else_is_unsafe(tmp_path: Path, name: str) -> None:
    with pytest.raises(TelebrowserError) as caught:
        safe_path(tmp_path, name, "png")
    assert caught.value.code == "UNSAFE_PATH"


def test_a_link_that_leads_out_is_unsafe(tmp_path: Path) -> None:
    folder, outside = tmp_path / "out", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    with pytest.raises(TelebrowserError, match="leads out"):
        safe_path(folder, "link/x.png", "png")


def test_names_of_one_moment_differ(tmp_path: Path) -> None:
    assert len({safe_path(tmp_path, None, "jpeg") for _ in range(50)}) == 50


def test_nothing_is_left_of_a_failed_write(tmp_path: Path) -> None:
    (tmp_path / "x.png").mkdir()
    with pytest.raises(TelebrowserError):
        write_file(tmp_path / "x.png", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]

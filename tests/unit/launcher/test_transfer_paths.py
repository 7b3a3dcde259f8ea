"""Which paths a tool call may name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.launcher.transfer_paths import Roots, declared


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A working directory beside a home with keys."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("secret")
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "cv.pdf").write_text("cv")
    (project / "link").symlink_to(tmp_path / "home" / "key")
    (project / "home").symlink_to(tmp_path / "home")
    (project / "hard").symlink_to("docs")
    os.mkfifo(project / "pipe")
    return project


def read(roots: Roots, path: str) -> str:
    with open(roots.source(path).descriptor) as file:
        return file.read()


def test_relative_and_absolute_paths_below_the_working_directory(project: Path) -> None:
    roots = Roots(str(project))
    assert read(roots, "docs/cv.pdf") == read(roots, "./docs/./cv.pdf") == read(roots, f"{project}/docs/cv.pdf") == "cv"
    source = roots.source("docs/cv.pdf")
    os.close(source.descriptor)
    assert (source.name, source.path, source.size) == ("cv.pdf", f"{project}/docs/cv.pdf", 2)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../home/key", "UNSAFE_PATH"),
        ("docs/../../home/key", "UNSAFE_PATH"),
        ("docs/../docs/cv.pdf", "UNSAFE_PATH"),
        ("/etc/passwd", "UNSAFE_PATH"),
        ("link", "UNSAFE_PATH"),
        ("home/key", "UNSAFE_PATH"),
        ("hard/cv.pdf", "UNSAFE_PATH"),
        ("docs", "UNSAFE_PATH"),
        ("pipe", "UNSAFE_PATH"),
        ("", "UNSAFE_PATH"),
        ("docs/cv.pdf\0", "UNSAFE_PATH"),
        ("~/key", "NOT_FOUND"),
        ("docs/none.pdf", "NOT_FOUND"),
        ("/proc/self/cwd/docs/cv.pdf", "UNSAFE_PATH"),
    ],
)
def test_what_may_not_be_read(project: Path, path: str, code: str) -> None:
    with pytest.raises(TelebrowserError) as error:
        Roots(str(project)).source(path)
    assert error.value.code == code and error.value.hint


def test_a_prefix_is_no_root(project: Path) -> None:
    beside = project.with_name("project-secrets")
    beside.mkdir()
    (beside / "key").write_text("secret")
    with pytest.raises(TelebrowserError) as error:
        Roots(str(project)).source(f"{beside}/key")
    assert error.value.code == "UNSAFE_PATH"


def test_roots_of_the_client_count_and_their_own_links_do_not_matter(project: Path, tmp_path: Path) -> None:
    (tmp_path / "workspace").symlink_to(tmp_path / "home")
    roots = Roots(str(project), [str(tmp_path / "workspace")])
    assert read(roots, f"{tmp_path}/workspace/key") == read(roots, f"{tmp_path}/home/key") == "secret"
    with pytest.raises(TelebrowserError):
        roots.source("key")  # a relative path begins at the working directory only


def test_the_whole_file_system_is_no_root(project: Path) -> None:
    for roots in (Roots("/"), Roots("/", ["/"])):
        with pytest.raises(TelebrowserError) as error:
            roots.source("/etc/passwd")
        assert error.value.code == "UNSAFE_PATH"
    with pytest.raises(TelebrowserError):
        Roots("/", [str(project)]).source("etc/passwd")


def put(roots: Roots, path: str, text: str = "new") -> None:
    target = roots.target(path)
    with target.open() as arrival:
        arrival.write(text.encode())
        target.publish(arrival)


def test_a_new_file_is_written_and_its_folders_are_made(project: Path) -> None:
    os.umask(mask := os.umask(0))
    put(Roots(str(project)), "shots/today/a.png")
    file = project / "shots" / "today" / "a.png"
    assert file.read_text() == "new" and file.stat().st_mode & 0o777 == 0o666 & ~mask and os.listdir(file.parent) == ["a.png"]


@pytest.mark.parametrize(
    "path", ["docs/cv.pdf", "../a", "/tmp/a.png", "link", "home/new", "docs", "docs/", ".git/hooks/post-commit", ".envrc", "pipe", "docs/cv.pdf/below", ""]
)
def test_what_may_not_be_written_is_known_before(project: Path, path: str) -> None:
    before = sorted(str(each) for each in project.parent.rglob("*"))
    with pytest.raises(TelebrowserError) as error:
        Roots(str(project)).target(path)
    assert error.value.code == "UNSAFE_PATH"
    assert sorted(str(each) for each in project.parent.rglob("*")) == before and (project / "docs" / "cv.pdf").read_text() == "cv"


def test_a_file_that_has_appeared_meanwhile_stays(project: Path) -> None:
    target = Roots(str(project)).target("a.png")
    (project / "a.png").write_text("theirs")
    with pytest.raises(TelebrowserError) as error, target.open() as arrival:
        target.publish(arrival)
    assert error.value.code == "UNSAFE_PATH" and (project / "a.png").read_text() == "theirs"


def test_a_folder_that_became_a_link_meanwhile_is_not_followed(project: Path, tmp_path: Path) -> None:
    target = Roots(str(project)).target("out/a.png")
    (project / "out").symlink_to(tmp_path / "home")
    with pytest.raises(TelebrowserError) as error:
        target.open()
    assert error.value.code == "UNSAFE_PATH" and os.listdir(tmp_path / "home") == ["key"]


def test_what_the_client_declares() -> None:
    uris = ["file:///a/b%20c/", "file://localhost/d", "file://other/e", "https://x/f", "file:///g%00", "nonsense", "file:///"]
    assert declared({"roots": [*({"uri": uri} for uri in uris), {"name": "x"}, 1]}) == ["/a/b c", "/d", "/"]
    for nothing in (None, {}, {"roots": 1}, {"roots": [{"uri": 3}]}):
        assert declared(nothing) == []

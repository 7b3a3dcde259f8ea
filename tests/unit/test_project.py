"""Working directory → project, on real repositories and on odd ones."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from telebrowser import project
from telebrowser.project import HASH_LENGTH, MAX_LENGTH, SCRATCH, is_valid, resolve, safe_name

Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Runs git in a directory below the test's own, with no configuration from outside."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }

    def run(where: str, *arguments: str) -> None:
        folder = tmp_path / where
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "-c", "protocol.file.allow=always", *arguments], cwd=folder, env=environment, check=True, capture_output=True)

    return run


def at(path: Path) -> str:
    """The project there, with no override."""
    return resolve(str(path), None, {})


def repository(git: Git, name: str) -> None:
    """A repository with a commit."""
    git(name, "init", "-q", "-b", "main")
    git(name, "commit", "-q", "--allow-empty", "-m", "first")


def test_outside_git_it_is_scratch(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert at(tmp_path / "plain") == SCRATCH
    assert resolve(None, None, {}) == SCRATCH


def test_a_repository_and_its_folders(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    (tmp_path / "shop/a/b").mkdir(parents=True)
    assert at(tmp_path / "shop") == at(tmp_path / "shop/a/b") == at(tmp_path / "shop/.git/hooks") == "shop"


def test_worktrees_share_the_project_of_the_main_checkout(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    git("shop", "worktree", "add", "-q", "../elsewhere/feature")
    git("shop", "worktree", "add", "-q", "inside")
    (tmp_path / "elsewhere/feature/deep").mkdir()
    assert at(tmp_path / "elsewhere/feature/deep") == at(tmp_path / "shop/inside") == "shop"


def test_a_worktree_with_relative_paths(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    git("shop", "worktree", "add", "-q", "../feature")
    (tmp_path / "feature/.git").write_text("gitdir: ../shop/.git/worktrees/feature\r\n")
    assert at(tmp_path / "feature") == "shop"


def test_a_worktree_whose_repository_cannot_be_seen(git: Git, tmp_path: Path) -> None:
    """As in a container that mounts only the worktree."""
    repository(git, "shop")
    git("shop", "worktree", "add", "-q", "../feature")
    (tmp_path / "shop").rename(tmp_path / "moved")
    assert at(tmp_path / "feature") == "shop"


def test_a_submodule_is_its_own_project_in_every_worktree(git: Git, tmp_path: Path) -> None:
    repository(git, "library")
    repository(git, "shop")
    git("shop", "submodule", "add", "-q", "--name", "other", str(tmp_path / "library"), "vendor/lib")
    git("shop", "commit", "-q", "-m", "submodule")
    git("shop", "worktree", "add", "-q", "../feature")
    git("feature", "submodule", "update", "-q", "--init")
    git("shop/vendor/lib", "worktree", "add", "-q", str(tmp_path / "lib-feature"))
    assert at(tmp_path / "shop/vendor/lib") == at(tmp_path / "feature/vendor/lib") == at(tmp_path / "lib-feature") == "lib"
    assert at(tmp_path / "shop/vendor") == at(tmp_path / "feature") == "shop"


@pytest.mark.parametrize(
    ("bare", "worktree"), [("shop.git", "feature"), ("shop/.bare", "shop/feature"), ("shop/bare.git", "shop/feature"), ("shop/.git", "shop/feature")]
)
def test_bare_repositories_and_their_worktrees(git: Git, tmp_path: Path, bare: str, worktree: str) -> None:
    repository(git, "origin")
    git(".", "clone", "-q", "--bare", "origin", bare)
    git(bare, "worktree", "add", "-q", str(tmp_path / worktree))
    assert at(tmp_path / bare) == at(tmp_path / bare / "refs") == at(tmp_path / worktree) == "shop"


def test_a_pointer_to_a_bare_repository_beside_it(git: Git, tmp_path: Path) -> None:
    repository(git, "origin")
    git(".", "clone", "-q", "--bare", "origin", "shop/.bare")
    (tmp_path / "shop/.git").write_text("gitdir: ./.bare\n")
    git("shop", "worktree", "add", "-q", "feature")
    assert at(tmp_path / "shop") == at(tmp_path / "shop/feature") == "shop"


def test_the_main_checkout_of_a_worktree_is_where_its_git_directory_is(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    git("shop", "worktree", "add", "-q", "../feature")
    with open(tmp_path / "shop/.git/config", "a") as config:
        config.write("[core]\n\tworktree = /somewhere/else\n")
    assert at(tmp_path / "shop") == at(tmp_path / "feature") == "shop"


def test_files_that_would_wait_are_not_read(git: Git, tmp_path: Path) -> None:
    repository(git, "origin")
    git(".", "clone", "-q", "--bare", "origin", "shop.git")
    (tmp_path / "shop.git/config").unlink()
    os.mkfifo(tmp_path / "shop.git/config")
    assert at(tmp_path / "shop.git") == "shop"


def test_a_separate_git_directory(git: Git, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    git(".", "init", "-q", "--separate-git-dir", str(tmp_path / "store/x.git"), "shop")
    assert at(tmp_path / "shop") == "shop"


def test_a_folder_called_git_that_is_none(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    (tmp_path / "shop/a/.git").mkdir(parents=True)
    (tmp_path / "shop/b").mkdir()
    (tmp_path / "shop/b/.git").write_text("nothing of git's\n")
    (tmp_path / "shop/c").mkdir()
    os.mkfifo(tmp_path / "shop/c/.git")
    (tmp_path / "shop/d").mkdir()
    (tmp_path / "shop/d/.git").symlink_to("nowhere")
    (tmp_path / "shop/e").mkdir()
    (tmp_path / "shop/e/.git").write_bytes(b"gitdir: \0\n")
    for folder in "abcde":
        assert at(tmp_path / "shop" / folder) == "shop", folder


def test_a_linked_working_directory(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    (tmp_path / "link").symlink_to("shop")
    assert at(tmp_path / "link") == "shop"


def test_a_checkout_called_scratch_is_not_wiped(git: Git, tmp_path: Path) -> None:
    repository(git, "scratch")
    assert at(tmp_path / "scratch").startswith("scratch-")
    assert resolve(str(tmp_path / "scratch"), "scratch", {}) == SCRATCH


def test_unreadable_directories_raise_nothing(git: Git) -> None:
    script = """if True:
        import os, sys
        from telebrowser.project import resolve
        os.geteuid() or os.setuid(65534)  # root may read everything
        for path in sys.argv[1:]:
            print(resolve(path, None, {}))
    """
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        for folder in ("shop/.git", "shop/sub", "file", "closed/inside"):
            (root / folder).mkdir(parents=True)
        (root / "file/.git").write_text("gitdir: /nowhere\n")
        for closed in ("shop/.git", "file/.git", "closed"):
            (root / closed).chmod(0)
        paths = [str(root / folder) for folder in ("shop/sub", "file", "closed/inside")]
        shown = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, cwd="/")
        for closed in ("shop/.git", "file/.git", "closed"):
            (root / closed).chmod(0o700)
    assert (shown.stdout.split(), shown.stderr) == (["shop", "scratch", "scratch"], "")


def test_odd_working_directories_raise_nothing(tmp_path: Path) -> None:
    for cwd in ("", "/nowhere/at/all", "\0", "relative", "/proc/self/fd/0"):
        assert is_valid(resolve(cwd, None, {})), cwd


def test_overrides_in_order(git: Git, tmp_path: Path) -> None:
    repository(git, "shop")
    where = str(tmp_path / "shop")
    assert resolve(where, "one", {"TELEBROWSER_PROJECT": "two"}) == "one"
    assert resolve(where, None, {"TELEBROWSER_PROJECT": "two"}) == "two"
    assert resolve(where, None, {"TELEBROWSER_PROJECT": ""}) == "shop"
    assert resolve(where, "my shop", {}) == safe_name("my shop")


@pytest.mark.parametrize("name", ["shop", "Shop", "9", "a.b_c-d", "x" * MAX_LENGTH, "a..", "a.git"])
def test_valid_names_stay_as_they_are(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("my shop", "my-shop-"),
        (".dotfiles", "dotfiles-"),
        ("Über Café", "Uber-Cafe-"),
        ("日本語", "project-"),
        ("x" * 65, "x" * 53 + "-"),
        ("../../etc", "etc-"),
        ("a/b", "a-b-"),
        ("", "project-"),
        ("/", "project-"),
        ("-rf", "rf-"),
        ("a\nb", "a-b-"),
        ("a\x00b", "a-b-"),
        ("\ud800", "project-"),
        ("shop\udcff", "shop-"),
        ("👍🏽 shop", "shop-"),
    ],
)
def test_other_names_get_a_safe_one(name: str, safe: str) -> None:
    made = safe_name(name)
    assert is_valid(made) and len(made) <= MAX_LENGTH
    assert made.startswith(safe) and len(made.removeprefix(safe)) == HASH_LENGTH


def test_safe_names_are_the_same_for_ever() -> None:
    """A change here would take every such project's logins away."""
    assert safe_name("my shop") == "my-shop-21e023186c"
    assert safe_name("Über Café") == "Uber-Cafe-fe71f1d21d"
    assert safe_name("日本語") == "project-77710aedc7"


def test_different_names_stay_different() -> None:
    names = ["my shop", "my  shop", "my-shop", "my_shop ", "My shop", "mý shop", "x" * 65, "x" * 66, ".x", "..x", "", "/", "日", "本"]
    assert len({safe_name(name) for name in names}) == len(names)


def test_composed_and_decomposed_accents_are_one_name() -> None:
    assert safe_name(unicodedata.normalize("NFC", "Café ñ")) == safe_name(unicodedata.normalize("NFD", "Café ñ"))


def test_the_name_does_not_depend_on_the_locale(git: Git, tmp_path: Path) -> None:
    repository(git, "Café 日本")
    names = set()
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONUTF8": "1"}):
        done = subprocess.run(
            [sys.executable, "-m", "telebrowser", "project"],
            env={"PATH": os.environ["PATH"], **locale},
            cwd=tmp_path / "Café 日本",
            capture_output=True,
            text=True,
            check=True,
        )
        names.add(done.stdout)
    assert names == {safe_name("Café 日本") + "\n"}


def test_nothing_heavy_is_imported_for_it() -> None:
    """The fast path stays fast: only small modules of the standard library at the top."""
    tree = ast.parse(Path(project.__file__).read_text())
    imported = {name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "os", "stat", "collections.abc"}

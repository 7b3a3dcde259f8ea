"""Working directory → project.

A project is named after the directory of the *main* checkout, so that every worktree of a repository
shares one browser. Git's own files are read by hand: starting a git process would cost more than all the
rest of the launcher. Nothing here raises on an unreadable or odd directory; what cannot be read is treated
as git treats what is absent.

One layout cannot be told apart by its files: a linked worktree of a checkout made with
``--separate-git-dir`` does not record where that checkout is, so it is named after the git directory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

SCRATCH = "scratch"
"""The project outside any repository; its profile is wiped whenever its browser stops."""

MAX_LENGTH = 64
HASH_LENGTH = 10
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_ALLOWED = _LETTERS | frozenset("._-")
_NAMELESS_BARE = ("bare", "bare.git")
_READ_LIMIT = 65536


def is_valid(name: str) -> bool:
    """Whether ``name`` is ``[A-Za-z0-9][A-Za-z0-9._-]{0,63}`` and may be used as it is."""
    return 0 < len(name) <= MAX_LENGTH and name[0] in _LETTERS and _ALLOWED.issuperset(name)


def safe_name(raw: str) -> str:
    """``raw`` itself when it is valid, else a readable valid name that ends in a short hash of ``raw``.

    The result depends on the name alone: not on the locale, the Python version or the way in which the
    file system composes accents.
    """
    return raw if is_valid(raw) else _hashed(raw)


def resolve(cwd: str | None, explicit: str | None, environ: Mapping[str, str]) -> str:
    """The project for ``cwd`` (None: the directory is gone), overridden by ``explicit``, then by TELEBROWSER_PROJECT.

    An empty override counts as absent. A checkout that happens to be called ``scratch`` gets a hashed name,
    since its logins must not be wiped; the override reaches the real ``scratch``.
    """
    override = explicit or environ.get("TELEBROWSER_PROJECT")
    if override:
        return safe_name(override)
    name = None if cwd is None else checkout_name(cwd)
    if name is None:
        return SCRATCH
    return _hashed(name) if name == SCRATCH else safe_name(name)


def checkout_name(cwd: str) -> str | None:
    """The directory name of the main checkout around ``cwd``; None outside git."""
    try:
        path = os.path.realpath(cwd)
    except (OSError, ValueError):
        return None
    while True:
        name = _name_at(path)
        if name is not None:
            return name
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent


def _name_at(path: str) -> str | None:
    dotgit = os.path.join(path, ".git")
    mode = _mode(dotgit)
    if stat.S_ISDIR(mode) and _is_git_dir(dotgit):
        return _last(path)
    if stat.S_ISREG(mode):
        gitdir = _pointer(dotgit, "gitdir:", path)
        if gitdir is not None:
            return _linked_name(gitdir, path)
    if _is_git_dir(path):
        return _common_name(path)
    return None


def _linked_name(gitdir: str, top: str) -> str:
    """The name for a checkout ``top`` whose ``.git`` is a file: a worktree, a submodule or a separate git directory."""
    common = _pointer(os.path.join(gitdir, "commondir"), "", gitdir)
    if common is None and not _mode(gitdir):
        # A container often sees the worktree but not the repository; the path alone still names it.
        above = os.path.dirname(gitdir)
        if os.path.basename(above) == "worktrees" and os.path.basename(os.path.dirname(above)) != "modules":
            common = os.path.dirname(above)
    return _last(top) if common is None else _common_name(common)


def _common_name(common: str) -> str:
    """The name of the main checkout whose git directory is ``common``."""
    base = os.path.basename(common)
    if base == ".git":
        return _last(os.path.dirname(common))
    worktree = _core_worktree(os.path.join(common, "config"))
    if worktree is not None:
        return _last(os.path.normpath(os.path.join(common, worktree)))
    if base.startswith(".") or base in _NAMELESS_BARE:
        return _last(os.path.dirname(common))
    return base.removesuffix(".git") or base


def _is_git_dir(path: str) -> bool:
    """Whether git would take ``path`` for a repository; one that it may not look into counts as one if called ``.git``."""
    try:
        os.lstat(os.path.join(path, "HEAD"))
    except PermissionError:
        return os.path.basename(path) == ".git"
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(_mode(os.path.join(path, "objects"))) and stat.S_ISDIR(_mode(os.path.join(path, "refs")))


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _read(path: str) -> str | None:
    """The text of a regular file, at most 64 KiB of it; never waits on a pipe or a device."""
    if not stat.S_ISREG(_mode(path)):
        return None
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_READ_LIMIT))
    except (OSError, ValueError):
        return None


def _pointer(path: str, prefix: str, base: str) -> str | None:
    """The path that a ``.git`` or ``commondir`` file holds after ``prefix``, made absolute from ``base``."""
    text = _read(path)
    if text is None or not text.startswith(prefix):
        return None
    target = text.removeprefix(prefix).strip(" \t").split("\n", 1)[0].rstrip("\r")
    if not target or "\0" in target:
        return None
    try:
        return os.path.realpath(os.path.join(base, target))
    except (OSError, ValueError):
        return None


def _core_worktree(path: str) -> str | None:
    """``core.worktree`` of a git config file: git writes it for submodules."""
    section = ""
    for line in (_read(path) or "").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line.strip("[] \t").lower()
        elif section == "core":
            key, equals, value = line.partition("=")
            if equals and key.strip().lower() == "worktree" and value.strip():
                return value.strip().strip('"').replace("\\\\", "\\").replace('\\"', '"')
    return None


def _last(path: str) -> str:
    return os.path.basename(path) or "/"


def _hashed(raw: str) -> str:
    import hashlib
    import unicodedata

    # The frozen database of Unicode 3.2 gives the same answer on every Python.
    frozen = unicodedata.ucd_3_2_0
    text = _text(raw)
    digest = hashlib.sha256(frozen.normalize("NFC", text).encode("utf-8", "surrogateescape")).hexdigest()[:HASH_LENGTH]
    stem = "".join(letter if letter in _ALLOWED else "-" for letter in frozen.normalize("NFKD", text) if not frozen.combining(letter))
    while "--" in stem:
        stem = stem.replace("--", "-")
    stem = stem.lstrip("._-")[: MAX_LENGTH - HASH_LENGTH - 1].rstrip("._-")
    return f"{stem or 'project'}-{digest}"


def _text(raw: str) -> str:
    """``raw`` as UTF-8 would have been read, whatever the locale decoded it with."""
    try:
        return os.fsencode(raw).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return raw.encode("utf-8", "replace").decode("utf-8")

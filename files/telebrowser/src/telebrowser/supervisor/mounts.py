"""What a browser inside walls sees of the file system, as options of bubblewrap.

Everything is mounted where it lies outside, so that a path means the same on both sides. What is not named here is not there.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from .profile import Profile

SYSTEM = ("/usr", "/etc", "/nix/store", "/gnu/store")
ROOT_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Fonts that are found faster, how many processors there are, and where name servers are written down. The latter are folders, not
# files: a file that is replaced later would be seen as it was.
USEFUL = ("/var/cache/fontconfig", "/sys/devices/system/cpu", "/run/systemd/resolve", "/run/resolvconf")
GRAPHICS = "/dev/dri"
ETC = "/etc"
RESOLVER = "/etc/resolv.conf"
X_SOCKETS = "/tmp/.X11-unix"
# A folder is not shown as a whole when one of these lies in it.
BROAD = ("/home", "/root", "/tmp", "/var", "/run", "/proc", "/dev", "/sys")
OPEN_FOLDER = stat.S_IROTH | stat.S_IXOTH
PATH_VARIABLES = ("FONTCONFIG_PATH", "FONTCONFIG_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH")
"""Variables of the environment that name what the browser then has to read."""


def system(program: str | None, environ: Mapping[str, str], hidden: Sequence[str], *, own_proc: bool = True) -> list[str]:
    """What every browser has: programs, libraries, fonts, /etc, and /proc, /dev, /tmp and /dev/shm of its own.

    ``program`` and what ``environ`` names are shown too, wherever they lie. ``hidden`` are folders that stay out of sight
    even when they lie below something that is shown. Without ``own_proc`` there is the /proc from outside: the kernel keeps what is in
    other processes, but not their names. It must be writable, for Chromium's sandbox maps its users there.
    """
    options = [*(["--proc", "/proc"] if own_proc else ["--bind", "/proc", "/proc"]), "--dev", "/dev", "--tmpfs", "/dev/shm", "--tmpfs", "/tmp"]
    for path in SYSTEM:
        options += ["--ro-bind-try", path, path]
    for name in ROOT_FOLDERS:
        if os.path.islink(f"/{name}"):
            options += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
        else:
            options += ["--ro-bind-try", f"/{name}", f"/{name}"]
    for path in USEFUL:
        options += ["--ro-bind-try", path, path]
    if os.path.isdir(GRAPHICS):
        options += ["--dev-bind", GRAPHICS, GRAPHICS, "--ro-bind", "/sys", "/sys"]
    extra = _extra(program, environ, hidden)
    for path in extra:
        options += ["--ro-bind-try", path, path]
    if program is not None and os.path.realpath(program) != program and not _within(program, SYSTEM):
        options += ["--symlink", os.path.realpath(program), program]
    options += _closed(ETC)
    for path in map(os.path.realpath, hidden):
        if os.path.isdir(path) and _within(path, [*SYSTEM, *extra]):
            options += ["--tmpfs", path]
    return options


def project(profile: Profile, display: Mapping[str, str]) -> list[str]:
    """What a project's browser has besides: the project's folders, and the socket and cookie of its display.

    Each folder is mounted by itself, so that from inside none can be replaced by a link that would be followed outside.
    """
    options = ["--ro-bind", str(profile.uploads), str(profile.uploads)]
    for folder in (profile.path, profile.downloads, profile.home, profile.temporary):
        options += ["--bind", str(folder), str(folder)]
    number = display.get("DISPLAY", "").partition(":")[2].partition(".")[0]
    if number.isdigit():
        options += ["--ro-bind-try", f"{X_SOCKETS}/X{number}", f"{X_SOCKETS}/X{number}"]
    compositor = display.get("WAYLAND_DISPLAY")
    if compositor is not None:
        options += ["--ro-bind-try", compositor, compositor]
    cookie = display.get("XAUTHORITY")
    if cookie is not None and not _within(cookie, [str(profile.home)]):
        options += ["--ro-bind-try", cookie, cookie]
    return options


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(PurePath(path).is_relative_to(folder) for folder in folders)


def _extra(program: str | None, environ: Mapping[str, str], hidden: Sequence[str]) -> list[str]:
    """Files and folders outside of `SYSTEM` that the browser needs."""
    wanted = [os.path.realpath(RESOLVER)] if os.path.islink(RESOLVER) else []
    if program is not None:
        real = os.path.realpath(program)
        folder = os.path.dirname(real)
        # Its libraries lie beside it, unless it lies in a folder of all sorts.
        wanted.append(folder if _narrow(folder, hidden) else real)
    for name in PATH_VARIABLES:
        wanted += [path for path in environ.get(name, "").split(":") if os.path.isabs(path) and (os.path.isfile(path) or _narrow(path, hidden))]
    return [path for path in dict.fromkeys(wanted) if not _within(path, [*SYSTEM, *USEFUL])]


def _narrow(folder: str, hidden: Sequence[str]) -> bool:
    """Whether a folder can be shown as a whole: nobody's home, nothing hidden and nothing broad lies in it."""
    homes = [entry.pw_dir for entry in pwd.getpwall()]
    private = map(os.path.realpath, [*BROAD, *hidden, *homes, os.path.expanduser("~")])
    return not any(_within(path, [os.path.realpath(folder)]) for path in private)


def _closed(top: str) -> list[str]:
    """Cover everything below ``top`` that is not open to everyone, whoever the browser runs as."""
    options: list[str] = []
    for folder, names, files in os.walk(top):
        for name in list(names):
            path = os.path.join(folder, name)
            if not os.path.islink(path) and _mode(path) & OPEN_FOLDER != OPEN_FOLDER:
                names.remove(name)
                options += ["--tmpfs", path, "--remount-ro", path]
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and not _mode(path) & stat.S_IROTH:
                options += ["--ro-bind", "/dev/null", path]
    return options


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        # It has just been removed: nothing to cover.
        return OPEN_FOLDER

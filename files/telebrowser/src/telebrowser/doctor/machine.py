"""What a machine needs to run browsers: programs, fonts, shared memory, and the sandbox's namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from ..config import Settings
from ..novnc import NOVNC, has_novnc
from ..supervisor import chromium, walls
from ..supervisor.profile import find_identity
from .report import Failure, Note

SCRIPTS = {"ja": "fonts-noto-cjk", "zh": "fonts-noto-cjk", "ko": "fonts-noto-cjk", "und-zsye": "fonts-noto-color-emoji"}
MIN_SHM_BYTES = 512 << 20
MIN_FREE_BYTES = 512 << 20
PROGRAM_SECONDS = 10.0
NAMESPACES = "Allow them: kernel.unprivileged_userns_clone, user.max_user_namespaces, or the container's seccomp profile."


def checks(settings: Settings) -> list[tuple[str, Callable[[], str]]]:
    """The checks, by name; ``settings`` are those of the supervisor."""
    return [
        ("Chromium", lambda: chromium_version(settings)),
        *display_checks(settings),
        ("openbox", lambda: program("openbox", "openbox")),
        ("fonts", fonts),
        ("/dev/shm", shared_memory),
        ("sandbox", lambda: sandbox(settings)),
        ("walls", lambda: walls_check(settings)),
        ("disk", lambda: disk(settings.data)),
    ]


def display_checks(settings: Settings) -> list[tuple[str, Callable[[], str]]]:
    """The checks of what shows windows."""
    if settings.view != "vnc":
        return [("Xvfb", lambda: program("Xvfb", "xvfb"))]
    return [("Xvnc", lambda: program("Xvnc", "tigervnc-standalone-server")), ("noVNC", novnc)]


def novnc() -> str:
    """The files that show a VNC display in a person's browser."""
    if not has_novnc():
        raise Failure(f"its files are not in {NOVNC}", "Install them; on Debian: apt-get install novnc")
    return str(NOVNC)


def python_version() -> str:
    """The Python that runs this."""
    shown = ".".join(map(str, sys.version_info[:3]))
    if f"{os.sep}shims{os.sep}" in sys.executable:
        raise Note(f"{shown} by way of a shim", "Create the environment with the interpreter itself; a shim more than doubles every start.")
    return f"{shown}, {sys.executable}"


def chromium_version(settings: Settings) -> str:
    """The Chromium that the supervisor starts."""
    path = chromium.find_program(settings.chromium_path)
    return f"{chromium.read_version(path)}, {path}"


def program(name: str, package: str) -> str:
    """A program on PATH, of a Debian package."""
    path = shutil.which(name)
    if path is None:
        raise Failure("not installed", f"Install it; on Debian: apt-get install {package}")
    return path


def fonts() -> str:
    """Fonts for the scripts that every system should show."""
    if shutil.which("fc-list") is None:
        raise Note("fontconfig's fc-list is not installed, so fonts cannot be seen", "Install it; on Debian: apt-get install fontconfig")
    if not _fc_list(""):
        raise Failure("no fonts at all", "Install some; on Debian: apt-get install fonts-liberation fonts-noto-cjk fonts-noto-color-emoji")
    missing = [language for language in SCRIPTS if not _fc_list(f":lang={language}")]
    if missing:
        raise Note(
            f"none for {', '.join(missing)}: such text shows as boxes in screenshots",
            "Install some; on Debian: apt-get install " + " ".join(sorted({SCRIPTS[language] for language in missing})),
        )
    return "Latin, CJK and emoji"


def _fc_list(pattern: str) -> bool:
    try:
        done = subprocess.run(["fc-list", pattern, "family"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PROGRAM_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failure("fc-list does not end", "Run `fc-cache -f` and look at what it says.") from None
    return bool(done.stdout.strip())


def shared_memory() -> str:
    """Chromium's renderers crash on big pages when /dev/shm is small, as it is in a container by default."""
    info = os.statvfs("/dev/shm")
    size = info.f_blocks * info.f_frsize
    if size < MIN_SHM_BYTES:
        raise Note(f"only {_mib(size)}", "Give the container more, for example --shm-size 1g, or pages crash.")
    return _mib(size)


def sandbox(settings: Settings) -> str:
    """Whether Chromium's sandbox will be on."""
    user = settings.browser_user
    if os.geteuid() == 0 and not user:
        raise Note("off: browsers run as root", "Set TELEBROWSER_BROWSER_USER to an unprivileged user, or run the stack as one.")
    if os.geteuid() != 0:
        choice = chromium.choose_sandbox(chromium.find_program(settings.chromium_path), None)
        if not choice.on:
            raise Note(
                "off: no user namespaces", "Allow them (kernel.unprivileged_userns_clone, user.max_user_namespaces, or the container's seccomp profile)."
            )
    return f"on, as user {user}" if user and os.geteuid() == 0 else "on"


def walls_check(settings: Settings) -> str:
    """Whether each browser will be confined to its own project's files and processes."""
    program = chromium.find_program(settings.chromium_path)
    identity = find_identity(settings.browser_user) if settings.browser_user and os.geteuid() == 0 else None
    sandbox = chromium.choose_sandbox(program, identity)
    chosen = walls.choose(settings.walls, program, sandbox, identity, [settings.data, settings.secrets_dir])
    if not chosen.on:
        raise Note(f"off: {chosen.warning}", "Allow user namespaces, mounts in them included; TELEBROWSER_WALLS=required refuses to run without.")
    if chosen.warning:
        return f"on: {chosen.warning}"
    return "on: each browser sees its own project's files and processes only"


def disk(directory: str) -> str:
    """Room for profiles and downloads."""
    path = os.path.abspath(directory)
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    free = shutil.disk_usage(path).free
    if free < MIN_FREE_BYTES:
        raise Failure(f"{_mib(free)} free for {directory}", "Free room on this disk, or set TELEBROWSER_DATA to another one.")
    return f"{_mib(free)} free for {directory}"


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"

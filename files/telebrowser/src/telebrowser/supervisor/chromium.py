"""How a Chromium is started: its program, options, environment and sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import TelebrowserError
from .children import Identity
from .profile import Profile

PROGRAMS = ("chromium-browser", "chromium", "google-chrome", "google-chrome-stable")
VERSION_DEADLINE = 10.0
# Only what programs need to run at all. Secrets, D-Bus addresses and the desktop's own folders stay out.
KEPT_VARIABLES = frozenset({
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GTK_IM_MODULE", "XMODIFIERS",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
})  # fmt: skip
KEPT_PREFIXES = ("LC_", "LIBGL_", "MESA_", "LIBVA_", "VK_")

OPTIONS = (
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    # Tabs that nobody looks at must run at full speed: agents work in them.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    # A page that has painted nothing yet (an empty editor) would get no keys and clicks.
    "--allow-pre-commit-input",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-domain-reliability",
    "--disable-quic",
    "--hide-crash-restore-bubble",
    # The debugging pipe alone would set navigator.webdriver, which a debugging port does not.
    "--disable-blink-features=AutomationControlled",
    # Keeps a bar about the option above, or about --no-sandbox, from taking 56 pixels of every page.
    "--test-type",
    # The last two would keep two more pages, each with a process of its own, for the list below the address bar.
    "--disable-features=Translate,MediaRouter,OptimizationHints,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--start-maximized",
)


class Sandbox(NamedTuple):
    """Whether Chromium's sandbox is on; ``warning`` says why not."""

    on: bool
    warning: str | None


class Chromium(NamedTuple):
    """The program that is started, and its version as it prints it."""

    path: str
    version: str


def find_program(configured: str | None) -> str:
    """The Chromium to start. Raises `TelebrowserError` BROWSER_UNAVAILABLE with one line."""
    if configured is not None:
        if not os.access(configured, os.X_OK) or os.path.isdir(configured):
            raise TelebrowserError("BROWSER_UNAVAILABLE", f"CHROMIUM_PATH names no program: {configured}")
        return configured
    for name in PROGRAMS:
        path = f"/usr/bin/{name}"
        if os.access(path, os.X_OK):
            return path
    raise TelebrowserError("BROWSER_UNAVAILABLE", "Chromium is not installed; on Debian: apt-get install chromium")


def read_version(path: str) -> str:
    """What ``--version`` prints. Raises `TelebrowserError` when the program does not run."""
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=VERSION_DEADLINE, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TelebrowserError("BROWSER_UNAVAILABLE", f"{path} does not run: {error}") from None
    return done.stdout.decode(errors="replace").strip()


# Chromium's sandbox nests user, process and network namespaces; this asks the kernel for the first of them.
PROBE = "import ctypes,sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000) != 0)"


def choose_sandbox(program: str, identity: Identity | None) -> Sandbox:
    """Whether the sandbox can be on for browsers that run as ``identity`` (None: as this very user)."""
    if os.geteuid() == 0 and identity is None:
        return Sandbox(False, "browsers run as root and without Chromium's sandbox; set TELEBROWSER_BROWSER_USER to an unprivileged user")
    if _has_setuid_helper(program) or _has_user_namespaces(identity):
        return Sandbox(True, None)
    return Sandbox(False, "the kernel or container gives no user namespaces; browsers run without Chromium's sandbox")


def _has_setuid_helper(program: str) -> bool:
    folders = {os.path.dirname(os.path.realpath(program)), f"/usr/lib/{os.path.basename(program)}", "/opt/google/chrome"}
    for folder in folders:
        try:
            info = os.stat(os.path.join(folder, "chrome-sandbox"))
        except OSError:
            continue
        if info.st_uid == 0 and info.st_mode & 0o4000:
            return True
    return False


def _has_user_namespaces(identity: Identity | None) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-E", "-c", PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=VERSION_DEADLINE,
            user=identity.uid if identity else None,
            group=identity.gid if identity else None,
            extra_groups=identity.groups if identity else None,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def command(program: str, profile: Profile, sandbox: Sandbox, screen: str, display: Sequence[str] = (), closed_port: int = 0) -> list[str]:
    """The command line of a project's browser on a screen of size ``screen`` (``WIDTHxHEIGHT``), with the options of its ``display``.

    No page can connect to ``closed_port`` of any host; 0 closes none.
    """
    options = [*OPTIONS, *display, f"--user-data-dir={profile.path}", f"--window-name=[{profile.project}]"]
    # The window manager maximises the window as well; with the right size from the start no page is laid out twice.
    options += ["--window-position=0,0", f"--window-size={screen.replace('x', ',')}"]
    if closed_port:
        # The pages for people: an agent that opened its own handoff there would let itself in.
        options.append(f"--host-resolver-rules=MAP *:{closed_port} ~NOTFOUND")
    if not sandbox.on:
        options.append("--no-sandbox")
    if not Path("/dev/dri").exists():
        options.append("--disable-gpu")
    return [program, *options, "about:blank"]


def environment(profile: Profile, display: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a project's browser: folders of its own, the display, and nothing that is not needed."""
    kept = {name: value for name, value in environ.items() if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)}
    home = profile.home
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    kept.update(
        HOME=str(home),
        XDG_CONFIG_HOME=str(home / ".config"),
        XDG_CACHE_HOME=str(home / ".cache"),
        XDG_DATA_HOME=str(home / ".local" / "share"),
        XDG_STATE_HOME=str(home / ".local" / "state"),
        XDG_RUNTIME_DIR=str(home / ".run"),
        TMPDIR=str(profile.temporary),
    )
    kept.update(display)
    return kept

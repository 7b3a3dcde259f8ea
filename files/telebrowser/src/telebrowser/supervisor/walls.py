"""Walls below CDP: a browser under bubblewrap sees its own project, the system's programs and fonts, and nothing else.

bubblewrap (``bwrap``), or `mason` where that is not installed, starts it in mount, process and host name namespaces of its own; see
`mounts` for what is in there. The network is shared: pages need it. Where the machine cannot do this, browsers run without walls, and
everybody is told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import ConfigError
from . import mounts
from .children import Identity
from .chromium import Sandbox
from .enclosure import INFO_DESCRIPTOR
from .profile import WALLS_MARK, Profile

OFF, REQUIRED = "off", "required"
PROBE_SECONDS = 20.0
# Not --unshare-ipc: Chromium hands its pictures to the X server in System V shared memory. Without it every picture goes through the
# socket, at 3.6 times the processor time a frame; and whoever could read it there can read the display itself.
NAMESPACES = (WALLS_MARK, "--unshare-pid", "--unshare-uts")
# Chromium's sandbox makes these inside the walls. When it cannot, it is worth more than the walls.
NESTED = ("unshare", "--user", "--map-root-user", "--pid", "--net", "--fork", "true")
MASON = (sys.executable, "-I", "-S", os.path.join(os.path.dirname(os.path.abspath(__file__)), "mason.py"))
SHARED_PROC = (
    "browsers can see the names of each other's processes, and so of the projects that run: a container that hides parts of /proc lets nobody mount it anew"
)


class Walls(NamedTuple):
    """Whether browsers run inside walls; ``warning`` says why not, or what they let through.

    ``builder`` and ``setsid`` are the programs that it takes, ``hidden`` the folders that are never shown.
    """

    on: bool
    warning: str | None
    builder: tuple[str, ...] = ()
    setsid: str = ""
    hidden: tuple[str, ...] = ()
    own_proc: bool = True

    def command(self, browser: Sequence[str], profile: Profile, display: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
        """The command that runs the command line ``browser`` inside walls, with `INFO_DESCRIPTOR` open for what bubblewrap tells."""
        system = mounts.system(browser[0], environ, self.hidden, own_proc=self.own_proc)
        options = [*_namespaces(profile.identity), *system, *mounts.project(profile, display)]
        options += ["--remount-ro", "/", "--chdir", str(profile.home), "--info-fd", str(INFO_DESCRIPTOR)]
        # In a session and group of its own, Chromium can be known and ended by its pid as it is without walls.
        return [*self.builder, *options, "--", self.setsid, *browser]


def choose(wanted: str, program: str | None, sandbox: Sandbox, identity: Identity | None, hidden: Sequence[str]) -> Walls:
    """Whether browsers that run as ``identity`` can be inside walls; ``program`` is their Chromium, if it is known yet.

    Raises `ConfigError` when walls are required and cannot be.
    """
    if wanted == OFF:
        return _none("TELEBROWSER_WALLS is off")
    setsid, bwrap = shutil.which("setsid"), shutil.which("bwrap")
    if setsid is None:
        obstacle: str | None = "util-linux is not installed; on Debian: apt-get install util-linux"
    else:
        builder = (bwrap,) if bwrap else MASON
        obstacle = None
        for own_proc in (True, False):
            problem = _obstacle(builder, program, sandbox, identity, hidden, own_proc)
            if problem is None:
                return Walls(True, None if own_proc else SHARED_PROC, builder, setsid, tuple(hidden), own_proc)
            obstacle = obstacle or problem
    if wanted == REQUIRED:
        raise ConfigError(f"TELEBROWSER_WALLS is required, but {obstacle}")
    return _none(str(obstacle))


def _none(reason: str) -> Walls:
    return Walls(False, f"browsers run without walls around their files and processes: {reason}")


def _obstacle(builder: Sequence[str], program: str | None, sandbox: Sandbox, identity: Identity | None, hidden: Sequence[str], own_proc: bool) -> str | None:
    walls = [*builder, *_namespaces(identity), *mounts.system(program, {}, hidden, own_proc=own_proc), "--remount-ro", "/", "--chdir", "/", "--"]
    if error := _try([*walls, "true"], identity):
        return f"they cannot be built here ({error})"
    if sandbox.on and (error := _try([*walls, *NESTED], identity)):
        return f"Chromium's own sandbox does not work inside of them ({error})"
    if program is not None and (error := _try([*walls, program, "--version"], identity)):
        return f"{program} does not run inside of them ({error})"
    return None


def _namespaces(identity: Identity | None) -> list[str]:
    # A browser that runs as root keeps root's number, and nothing that root may do.
    return [*NAMESPACES, *(["--cap-drop", "ALL"] if os.geteuid() == 0 and identity is None else [])]


def _try(command: Sequence[str], identity: Identity | None) -> str | None:
    """Why a command fails; None when it does not."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PROBE_SECONDS,
            cwd="/",
            user=identity.uid if identity else None,
            group=identity.gid if identity else None,
            extra_groups=identity.groups if identity else None,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {PROBE_SECONDS:.0f} s"
    except OSError as error:
        return str(error.strerror)
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"

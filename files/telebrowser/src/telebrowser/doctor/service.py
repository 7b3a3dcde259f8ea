"""The way to the gateway: address, secret, token, and what the gateway says of the browsers behind it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from .. import config, tokens
from ..cli.gateway import call
from ..datadir import DataDir
from ..launcher import address as addresses
from ..processes import read_pid_file
from .report import Failure, Note

PROJECT = "doctor"
"""The project whose browser the checks may use: never a real one."""

LOOPBACK = ("localhost", "::1")
DESKTOP_VIEWS = ("selkies", "vnc")
ANSWER_SECONDS = 5.0
PARTS = ("stack", "supervisor", "gateway")


class Service:
    """Checks that build on one another: each keeps what the next ones need."""

    def __init__(self, settings: config.Settings) -> None:
        self.settings = settings
        self.address: addresses.Address | None = None
        self.status: dict[str, Any] | None = None

    def checks(self) -> list[tuple[str, Callable[[], str]]]:
        """The checks, by name, in order."""
        return [("secret", self.secret), ("gateway", self.gateway), ("browsers", self.browsers), ("view", self.view)]

    def secret(self) -> str:
        """A secret or token is there, and closed to others."""
        self.address = addresses.find(self.settings, PROJECT)
        if self.settings.secret:
            raise Note("from TELEBROWSER_SECRET", f"A file {os.path.join(self.settings.config_dir, tokens.SECRET)} of mode 0600 is harder to leak.")
        folder = self.settings.config_dir
        if stat.S_IMODE(os.stat(folder).st_mode) & 0o022:
            raise Failure(f"others can replace files in {folder}", f"Run: chmod go-w {folder}")
        return f"in {folder}, closed to others"

    def gateway(self) -> str:
        """The gateway answers and accepts the token."""
        if self.address is None:
            raise Failure("not asked: there is no token", "See the check before.")
        self.status = call(self.address, "GET", "status")
        return f"{self.address.shown}, version {(self.status.get('gateway') or {}).get('version') or self.status.get('version')}"

    def browsers(self) -> str:
        """What the gateway says of the supervisor and the browsers: its warnings are ours."""
        if self.status is None:
            raise Failure("not asked: the gateway does not answer", "See the check before.")
        if self.status.get("state") == "failed":
            raise Failure(f"the browser of project {PROJECT} was left down: {self.status.get('reason')}", "See the supervisor's log.")
        warnings = [str(warning) for warning in self.status.get("warnings") or ()]
        if warnings:
            raise Note("; ".join(warnings), "The warning names the setting or package.")
        return f"project {PROJECT}: {self.status.get('state')}"

    def view(self) -> str:
        """What shows browsers to people, and that the pages for them answer."""
        if self.status is None:
            raise Failure("not asked: the gateway does not answer", "See the check before.")
        people = self.status.get("people") or {}
        url, shown = people.get("url"), f"{people.get('view')} at {people.get('url')}"
        if not url:
            raise Note("there are no pages for people", "Set TELEBROWSER_PEOPLE_PORT for the gateway.")
        if not _answers(str(url)):
            raise Failure(f"{shown}, which does not answer", "Set TELEBROWSER_PEOPLE_URL to the address at which people reach it; see gateway.log.")
        if people.get("setting") in DESKTOP_VIEWS and people.get("displays") == "shared" and people.get("view") == "screencast":
            raise Note(f"{shown}: no desktop is shown now, only the tab", "See supervisor.log, display.log and view.log in the data directory's run folder.")
        return shown

    @property
    def on_this_machine(self) -> bool:
        """Whether browsers run, or would run, on this machine: then its programs matter."""
        if self.address is None:
            return True
        host = self.address.host
        return host in LOOPBACK or host.startswith("127.")


def _answers(url: str) -> bool:
    """Whether something speaks HTTP there, whatever it says."""
    from urllib import error, request

    try:
        with request.build_opener(request.ProxyHandler({})).open(url, timeout=ANSWER_SECONDS):
            return True
    except error.HTTPError as answer:
        answer.close()
        return True
    except (OSError, ValueError):
        return False


def local_parts(settings: config.Settings) -> str:
    """Which parts of the embedded stack run here; ``settings`` are those of the supervisor."""
    data = DataDir(settings.data)
    if not data.root.exists():
        raise Note("none runs here", "Start the stack with `telebrowser up`, unless the gateway runs elsewhere.")
    data.check_owner()
    running = [part for part in PARTS if read_pid_file(data.pid_file(part)) is not None]
    missing = [part for part in PARTS if part not in running]
    if not running:
        raise Note(f"none runs with the data directory {data.root}", "Start the stack with `telebrowser up`, unless the gateway runs elsewhere.")
    if missing:
        raise Failure(f"not running: {', '.join(missing)}", f"See {data.log_file(missing[0])}, then run `telebrowser down` and `telebrowser up`.")
    return f"{', '.join(running)} run"

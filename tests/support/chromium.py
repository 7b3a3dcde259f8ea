"""A plain headless Chromium with a debug port: the browser that `--cdp-url` attaches to, and the one that decodes images."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path

from . import proc

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def binary() -> str:
    """The Chromium of this machine."""
    for name in ("chromium-browser", "chromium", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name, path="/usr/bin"):
            return path
    raise AssertionError("no Chromium in /usr/bin")


class Chromium:
    """Started on construction; `close` kills its group and removes its profile."""

    def __init__(self, root: Path, *flags: str, prefix: tuple[str, ...] = ()) -> None:
        self.profile = root
        root.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [*prefix, binary(), *FLAGS, *flags, "--remote-debugging-port=0", f"--user-data-dir={root}", "about:blank"],
            env={**os.environ, "HOME": str(root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        port = root / "DevToolsActivePort"
        proc.until(lambda: port.exists() and port.read_text().count("\n") >= 1, "Chromium opens its debug port", 30)
        number, path = port.read_text().split("\n")[:2]
        self.http = f"http://127.0.0.1:{number}"
        self.ws = f"ws://127.0.0.1:{number}{path}"

    def pages(self) -> list[dict[str, str]]:
        """Its tabs, by the HTTP list of its own."""
        with urllib.request.urlopen(self.http + "/json/list", timeout=10) as answer:
            return [row for row in json.load(answer) if row["type"] == "page"]

    def close(self) -> None:
        """Kill the browser with everything it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)
        proc.gone(str(self.profile), seconds=20)
        shutil.rmtree(self.profile, ignore_errors=True)

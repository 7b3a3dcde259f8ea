"""The peers: installed once into ``.bench`` from the pinned lock, without their install scripts (no browser of their own is fetched)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .adapters import MODULES, PEERS

HERE = Path(__file__).resolve().parent
FILES = ("package.json", "package-lock.json")
MANUAL = "install Node 20 or newer with npm (Debian: apt-get install --no-install-recommends nodejs npm), or pass --servers gateway,standalone"


class Missing(Exception):
    """The peers cannot be had; the message says what to do."""


def install() -> None:
    """Install the peers unless they are there as pinned. Raises `Missing`."""
    if all((PEERS / name).is_file() and (PEERS / name).read_bytes() == (HERE / name).read_bytes() for name in FILES) and MODULES.is_dir():
        return
    if not (shutil.which("node") and shutil.which("npm")):
        raise Missing(MANUAL)
    PEERS.mkdir(exist_ok=True)
    print("installing the peers into .bench", flush=True)
    staged = PEERS / "staged"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir()
    for name in FILES:
        shutil.copy(HERE / name, staged / name)
    done = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=staged,
        env={**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Missing(f"npm ci failed: {done.stderr.strip()[-800:]}")
    shutil.rmtree(MODULES, ignore_errors=True)
    for path in staged.iterdir():
        path.replace(PEERS / path.name)
    staged.rmdir()

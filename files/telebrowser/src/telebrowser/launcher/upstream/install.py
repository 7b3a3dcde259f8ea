"""The pinned chrome-devtools-mcp: installed from a lock on its first use, then run as it lies on the disk.

As a program (``python -m telebrowser.launcher.upstream.install FOLDER NODE ARGUMENTS…``) it installs and becomes the
server, so that stdin, stdout and the process group are the server's from the start.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from ...errors import EXIT_CONFIG, ConfigError

CHROME_DEVTOOLS_MCP = "1.11.0"
"""The version; the lock beside this module is made for it."""
OPTIONS = ("--wsEndpoint", "{ws}", "--no-usage-statistics")
LOCK = Path(__file__).parent / "chrome-devtools"
FILES = ("package.json", "package-lock.json")
ENTRY = "node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
MIN_NODE = 20
INSTALL_SECONDS = 300
NODE_SECONDS = 20
NPM_CI = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
SKIP_BROWSERS = {"PUPPETEER_SKIP_DOWNLOAD": "1"}


def place(folder: Path) -> Path:
    """Where below the launcher's data folder this version lies; another lock is another place."""
    digest = hashlib.sha256((LOCK / FILES[1]).read_bytes()).hexdigest()[:12]
    return folder / "upstream" / f"chrome-devtools-mcp-{CHROME_DEVTOOLS_MCP}-{digest}"


def argv(folder: Path) -> list[str]:
    """The command line that runs it, installing it first if need be. Raises `ConfigError` without Node.js or npm."""
    node = shutil.which("node")
    if node is None:
        raise ConfigError(f"--upstream chrome-devtools needs Node.js {MIN_NODE} or newer: install it and see that `node` is in PATH")
    entry = place(folder) / ENTRY
    if entry.exists():
        return [node, str(entry), *OPTIONS]
    if shutil.which("npm") is None:
        raise ConfigError("--upstream chrome-devtools is not installed yet and needs npm for that: install npm and see that it is in PATH")
    return [sys.executable, "-m", __name__, str(folder), node, *OPTIONS]


def install(folder: Path, node: str) -> Path:
    """Install it unless it is there: one at a time, whole or not at all. Raises `ConfigError` or `TimeoutError`."""
    final = place(folder)
    final.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(final.parent / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (final / ENTRY).exists():
            for left in final.parent.glob(".new-*"):  # of one that was killed
                shutil.rmtree(left, ignore_errors=True)
            _install_into(final, node)
    return final / ENTRY


def _install_into(final: Path, node: str) -> None:
    version = subprocess.run([node, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=NODE_SECONDS).stdout.strip()
    if not version.startswith("v") or int(version[1:].partition(".")[0]) < MIN_NODE:
        raise ConfigError(f"chrome-devtools-mcp needs Node.js {MIN_NODE} or newer; {node} is {version or 'something else'}")
    print(f"telebrowser mcp: installing chrome-devtools-mcp {CHROME_DEVTOOLS_MCP} into {final}", file=sys.stderr, flush=True)
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=final.parent))
    try:
        for name in FILES:
            shutil.copyfile(LOCK / name, temporary / name)
        done = subprocess.run(["npm", *NPM_CI], cwd=temporary, stdin=subprocess.DEVNULL, stdout=sys.stderr, env={**os.environ, **SKIP_BROWSERS})
        if done.returncode or not (temporary / ENTRY).exists():
            raise ConfigError(f"npm could not install chrome-devtools-mcp {CHROME_DEVTOOLS_MCP} (status {done.returncode}); what it said is above")
        if final.exists():
            shutil.rmtree(final)
        os.rename(temporary, final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _late(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def main(words: list[str]) -> int:
    """Install within `INSTALL_SECONDS`, then become the server; gives an exit status only when that fails."""
    folder, node, *options = words
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(INSTALL_SECONDS)
    try:
        entry = install(Path(folder), node)
    except ConfigError as error:
        print(f"telebrowser mcp: {error}", file=sys.stderr)
        return EXIT_CONFIG
    except TimeoutError:
        print(f"telebrowser mcp: chrome-devtools-mcp was not installed within {INSTALL_SECONDS} s; call again when npm's registry answers", file=sys.stderr)
        return EXIT_CONFIG
    except OSError as error:
        print(f"telebrowser mcp: chrome-devtools-mcp cannot be installed into {folder}: {error.strerror}", file=sys.stderr)
        return EXIT_CONFIG
    signal.alarm(0)
    os.execv(node, [node, str(entry), *options])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Agents' machines that share no disk with the browser's: network namespaces joined by veth pairs, with folders hidden."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HIDE = 'for each in $HIDDEN; do mount -t tmpfs none "$each" || exit 97; done; exec "$@"'


def ip(*words: str) -> None:
    """Run ``ip``, which must succeed."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()} (this test makes network namespaces: run it as root, with iproute2)"


class Host:
    """One such machine. ``address`` is where it reaches the browser's; what runs by ``prefix`` sees ``hidden`` as empty folders."""

    def __init__(self, number: int, hidden: list[Path]) -> None:
        self.name = f"tb{os.getpid()}h{number}"
        self.address = f"10.213.{number}.1"
        self._outer, inner = f"tb{os.getpid() % 100000}o{number}", f"tb{os.getpid() % 100000}i{number}"
        self._hidden = hidden
        ip("netns", "add", self.name)
        ip("link", "add", self._outer, "type", "veth", "peer", "name", inner, "netns", self.name)
        ip("address", "add", f"{self.address}/24", "dev", self._outer)
        ip("link", "set", self._outer, "up")
        ip("-netns", self.name, "address", "add", f"10.213.{number}.2/24", "dev", inner)
        ip("-netns", self.name, "link", "set", inner, "up")
        ip("-netns", self.name, "link", "set", "lo", "up")

    @property
    def prefix(self) -> tuple[str, ...]:
        """What stands before a command that runs on this machine."""
        hidden = " ".join(str(path) for path in self._hidden)
        return ("ip", "netns", "exec", self.name, "unshare", "--mount", "env", f"HIDDEN={hidden}", "sh", "-c", HIDE, "sh")

    def run(self, *command: str) -> str:
        """The output of a command on this machine."""
        return subprocess.run([*self.prefix, *command], capture_output=True, text=True, timeout=30).stdout

    def close(self) -> None:
        """Take the machine away."""
        subprocess.run(["ip", "link", "delete", self._outer], capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)

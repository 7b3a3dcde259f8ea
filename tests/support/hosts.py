"""Agents' machines that share no disk with the browser's: network namespaces joined by veth pairs, with folders hidden."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLONE_NEWNET = 0x40000000
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

    def connect(self, port: int) -> socket.socket:
        """A connection to 127.0.0.1:``port`` of this machine. A thread of its own goes there, and what it opens stays there."""
        with ThreadPoolExecutor(1) as there:
            return there.submit(self._connect, port).result(20)

    def _connect(self, port: int) -> socket.socket:
        with open(f"/run/netns/{self.name}") as there:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.setns(there.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        return socket.create_connection(("127.0.0.1", port), 10)

    def link(self, state: str) -> None:
        """Pull the plug (``down``) or put it in again (``up``)."""
        ip("link", "set", self._outer, state)

    @contextlib.contextmanager
    def lost(self) -> Iterator[None]:
        """Everything between the two machines is lost on its way, without a word to either."""
        rules = [("INPUT", "-i", self._outer, "-j", "DROP"), ("OUTPUT", "-o", self._outer, "-j", "DROP")]
        for rule in rules:
            subprocess.run(["iptables", "-w", "-I", *rule], check=True, capture_output=True)
        try:
            yield
        finally:
            for rule in rules:
                subprocess.run(["iptables", "-w", "-D", *rule], check=True, capture_output=True)

    def run(self, *command: str) -> str:
        """The output of a command on this machine."""
        return subprocess.run([*self.prefix, *command], capture_output=True, text=True, timeout=30).stdout

    def close(self) -> None:
        """Take the machine away."""
        subprocess.run(["ip", "link", "delete", self._outer], capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)

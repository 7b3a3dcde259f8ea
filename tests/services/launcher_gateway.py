"""The launcher's test gateway as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.stack import SECRET, free_port

RESOURCE = Path(__file__).parents[1] / "resources" / "gateway.py"


class Gateway:
    """The test gateway as a process that can be killed and started again on the same port."""

    def __init__(self, *options: str, broken: str = "") -> None:
        self.port = free_port()
        self.options = options
        self.environment = {**os.environ, "BROKEN": broken}
        self.url = f"{'https' if options else 'http'}://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Gateway:
        """Start it and wait until it listens."""
        command = [sys.executable, str(RESOURCE), str(self.port), SECRET, *self.options]
        self.process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == f"ready {self.port}\n"
        return self

    def kill(self) -> None:
        """SIGKILL it, if it runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout
            self.process.stdout.close()
            self.process = None

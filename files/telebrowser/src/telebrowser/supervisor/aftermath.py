"""``python -m telebrowser.supervisor.aftermath``: give the browsers of a supervisor that was killed the time to end by themselves.

They do so, with their cookies saved, once the pipes to it are gone. systemd runs this as ``ExecStopPost=`` of a service with
``KillMode=process``: with ``mixed`` it kills them the moment the supervisor is dead. What is still there then is killed here, so that
nothing of the service stays. After an orderly stop there is nothing to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence

from .. import config
from ..datadir import DataDir
from ..errors import EXIT_FAILED, EXIT_OK, ExitError
from ..processes import everyone, signal_process
from . import display, orphans

log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Wait for, then end, what is left; the exit code."""
    try:
        settings = config.from_command_line(sys.argv[1:] if arguments is None else arguments, config.SUPERVISOR)
        logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
        asyncio.run(_end_all(DataDir(settings.data)))
    except (ExitError, OSError) as error:
        print(f"telebrowser supervisor: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, ExitError) else EXIT_FAILED
    return EXIT_OK


async def _end_all(data: DataDir) -> None:
    await orphans.end_all(data)
    await display.clear_remains(data)
    _kill_rest()


def _kill_rest() -> None:
    """Kill what else is in the control group of this process, which is the service's."""
    ours = _control_group("self")
    for process in everyone():
        if ours and process.pid != os.getpid() and _control_group(str(process.pid)) == ours and signal_process(process.pid, process.start, signal.SIGKILL):
            log.warning("killed process %d, which was left of the service", process.pid)


def _control_group(pid: str) -> str:
    """Where systemd has put a process; empty when it is gone, or when no service manager put this one anywhere."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cgroup", encoding="ascii", errors="replace") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
        return next((path for _, controller, path in lines if controller in ("", "name=systemd") and path.endswith(".service")), "")
    return ""


if __name__ == "__main__":
    sys.exit(main())

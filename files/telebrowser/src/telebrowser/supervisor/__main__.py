"""``python -m telebrowser.supervisor``: options, pid file, lock, signals.

Every setting of the supervisor is an option, ``--data DIR`` before all; see `telebrowser.config`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence

from .. import config
from ..datadir import DataDir
from ..errors import EXIT_FAILED, EXIT_OK, ExitError, TelebrowserError
from ..logs import open_log
from ..processes import remove_pid_file, write_pid_file
from .core import Supervisor

NAME = "supervisor"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the supervisor until SIGTERM, SIGINT or SIGHUP; the exit code."""
    try:
        settings = config.from_command_line(sys.argv[1:] if arguments is None else arguments, config.SUPERVISOR)
        logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
        data = DataDir(settings.data)
        data.prepare(traversable=bool(settings.browser_user) and os.geteuid() == 0)
        lock = data.lock("supervisor")
        if settings.supervisor_log == "file":
            # Everything from here on, what Python itself says included.
            descriptor = open_log(data.log_file(NAME))
            os.dup2(descriptor, sys.stderr.fileno())
            os.close(descriptor)
        try:
            write_pid_file(data.pid_file(NAME))
            asyncio.run(_run(settings, data))
        finally:
            remove_pid_file(data.pid_file(NAME))
            os.close(lock)
    except ExitError as error:
        print(f"telebrowser supervisor: {error}", file=sys.stderr)
        return error.exit_code
    except TelebrowserError as error:
        print(f"telebrowser supervisor: {error.message}", file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"telebrowser supervisor: {error.strerror or error}{where}", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


async def _run(settings: config.Settings, data: DataDir) -> None:
    supervisor = Supervisor(settings, data)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, supervisor.request_stop)
    await supervisor.run()


if __name__ == "__main__":
    sys.exit(main())

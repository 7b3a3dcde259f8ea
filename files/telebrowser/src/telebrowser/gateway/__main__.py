"""``python -m telebrowser.gateway``: options, secrets, pid file, lock, port, signals.

Every setting of the gateway is an option, ``--data DIR`` before all; see `telebrowser.config`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence

import uvloop
from aiohttp import web

from .. import config
from ..datadir import DataDir, is_disk_full
from ..errors import EXIT_CONFIG, EXIT_FAILED, EXIT_OK, ConfigError, ExitError
from ..heartbeat import Watch
from ..processes import remove_pid_file, write_pid_file
from ..tokens import SecretStore
from .app import RedactingFormatter, make_app
from .handoff.view import NoView
from .state import GATEWAY
from .view.desktop import DesktopView
from .view.screencast import ScreencastView
from .web.app import make_app as make_people_app

NAME = "gateway"
BACKLOG = 256
SHUTDOWN_SECONDS = 5.0
LOOK_SECONDS = 2.0
DESKTOPS = ("selkies", "vnc")

log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gateway until SIGTERM or SIGINT; the exit code."""
    try:
        settings = config.from_command_line(sys.argv[1:] if arguments is None else arguments, config.GATEWAY)
        _set_up_logging(settings)
        secrets = SecretStore(settings.secrets_dir, settings.secret_grace)
        secrets.current()
        data = DataDir(settings.data)
        data.prepare(traversable=_traversable(data))
        lock = data.lock("gateway")
        try:
            listener = _listen(settings.bind, settings.port)
            app = make_app(settings, data, secrets)
            people = _people(app, settings)
            write_pid_file(data.pid_file(NAME))
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(_serve(app, listener, people, Watch(data) if settings.shared_network else None))
        finally:
            remove_pid_file(data.pid_file(NAME))
            os.close(lock)
    except ExitError as error:
        print(f"telebrowser gateway: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        text = "no space left on the disk" if is_disk_full(error) else error.strerror or str(error)
        print(f"telebrowser gateway: {text}{where}", file=sys.stderr)
        return EXIT_FAILED


def _set_up_logging(settings: config.Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    # aiohttp's own access lines would hold whole paths.
    logging.getLogger("aiohttp.access").disabled = True
    # At its lower levels the SDK writes whole messages, and with them what agents type.
    logging.getLogger("mcp").setLevel(logging.WARNING)


def _traversable(data: DataDir) -> bool:
    """Whether the supervisor has let other users pass through the directory, for browsers that run as one; it decides that."""
    try:
        return bool(os.stat(data.root).st_mode & 0o011)
    except OSError:
        return False


def _people(app: web.Application, settings: config.Settings) -> tuple[web.Application, socket.socket] | None:
    """The pages for people with their listener, unless they are switched off. Raises `ExitError`."""
    if not settings.people_port:
        return None
    listener = _listen(settings.bind, settings.people_port)
    handoffs = app[GATEWAY].handoffs
    handoffs.pages_url = settings.people_url or f"http://127.0.0.1:{listener.getsockname()[1]}"
    if settings.view == "screencast":
        handoffs.view = ScreencastView()
    elif settings.view in DESKTOPS or (settings.view == "auto" and not settings.view_url):
        handoffs.view = DesktopView(app[GATEWAY].data, apart=settings.displays == "per-project")
    elif settings.view == "none":
        handoffs.view = NoView(None)
    elif not settings.view_url:
        listener.close()
        raise ConfigError("TELEBROWSER_VIEW is url, so that TELEBROWSER_VIEW_URL must be set")
    return make_people_app(app[GATEWAY]), listener


def _listen(bind: str, port: int) -> socket.socket:
    """A listening socket. Raises `ExitError` naming address and port."""
    try:
        family, _, _, _, address = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ExitError(EXIT_CONFIG, f"cannot listen on {bind} port {port}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror
        raise ExitError(EXIT_CONFIG, f"cannot listen on {bind} port {port}: {why}") from None
    return listener


async def _serve(app: web.Application, listener: socket.socket, people: tuple[web.Application, socket.socket] | None, watch: Watch | None) -> int:
    """Serve until a signal, or until ``watch`` tells that nobody can reach this process any more; the exit code."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS, keepalive_timeout=75)
    await runner.setup()
    pages = web.AppRunner(people[0], access_log=None, handle_signals=False, shutdown_timeout=0.5) if people is not None else None
    try:
        if people is not None and pages is not None:
            await pages.setup()
            await web.SockSite(pages, people[1]).start()
            log.info("pages for people on %s port %d", *people[1].getsockname()[:2])
        await web.SockSite(runner, listener).start()
        log.info("listening on %s port %d", *listener.getsockname()[:2])
        while not stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if watch is not None else None):
                    await stopping.wait()
            if watch is not None and (reason := watch.look()) is not None:
                log.error("ending, to be started again where it can be reached: %s", reason)
                return EXIT_FAILED
        log.info("ending; browsers run on")
        return EXIT_OK
    finally:
        if pages is not None:
            await pages.cleanup()
        await runner.cleanup()


if __name__ == "__main__":
    sys.exit(main())

"""`telebrowser doctor [--live]`: check what is needed and say what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from .. import config
from ..doctor import machine, service
from ..doctor.report import FAILED, NOTED, Result, run_check
from ..errors import EXIT_FAILED, EXIT_OK, ConfigError
from .common import CONFIG_DIR, JSON, URL, settings_of
from .options import Arguments, Option, Verb

VERB = Verb(
    "doctor",
    "Check what is needed and say what to do; ✓ holds, ! works but can be better, ✗ must be mended.",
    (Option("live", "also drive a real browser through a real MCP session"), URL, CONFIG_DIR, JSON),
    details="--live uses the project `doctor`, never a real one, and stops its browser at the end.",
)


def run(arguments: Arguments) -> int:
    """Print each check as soon as it is done; the exit code tells whether all hold."""
    results: list[Result] = []
    for result in _results(arguments):
        results.append(result)
        if not arguments.json:
            print(result.line(), flush=True)
    failed = [result.name for result in results if result.outcome == FAILED]
    if arguments.json:
        print(json.dumps({"ok": not failed, "checks": [result.as_dict() for result in results]}, indent=2, ensure_ascii=False))
    else:
        noted = sum(result.outcome == NOTED for result in results)
        print(f"failed: {', '.join(failed)}" if failed else f"{len(results)} checks hold" + (f", {noted} with a remark" if noted else ""))
    return EXIT_FAILED if failed else EXIT_OK


def _results(arguments: Arguments) -> Iterator[Result]:
    yield run_check("Python", machine.python_version)
    settings = settings_of(arguments)
    gateway = service.Service(settings)
    secret, *others = gateway.checks()
    yield run_check(*secret)
    if gateway.on_this_machine:
        yield from _machine()
    for name, check in others:
        yield run_check(name, check)
    if "live" in arguments.flags and gateway.status is not None and gateway.address is not None:
        from ..doctor import live

        environment = live.launcher_environment(gateway.address.shown, settings.config_dir)
        yield from live.run(gateway.address, [sys.executable, "-m", "telebrowser", "mcp", "--project", service.PROJECT], environment)


def _machine() -> Iterator[Result]:
    """The checks of this machine, where browsers run beside the gateway."""
    try:
        settings = config.load(config.SUPERVISOR, config.ENGINE)
    except ConfigError as error:
        yield Result("settings", FAILED, 0.0, str(error), "")
        return
    for name, check in machine.checks(settings):
        yield run_check(name, check)
    yield run_check("processes", lambda: service.local_parts(settings))

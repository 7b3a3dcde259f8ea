"""`telebrowser mcp`: MCP on stdin and stdout. On the fast path: the SDK is imported by `--standalone` only."""

from __future__ import annotations

import os

from .. import config
from ..launcher import address as addresses
from .common import CONFIG_DIR, PROJECT, URL, settings_of
from .options import Arguments, Option, Verb, usage
from .project import here

VERB = Verb(
    "mcp",
    "Serve MCP on stdin and stdout: the browser of this project, through the gateway.",
    (
        PROJECT,
        Option("session", "name of the session (default: a random one for each process)", "NAME"),
        URL,
        CONFIG_DIR,
        Option("standalone", "no gateway: a private headless Chromium of this process"),
        Option("cdp-url", "with --standalone: use the Chromium that runs there, on a tab of its own", "URL"),
    ),
    details="One session per process: it sees only its own tabs. stdout carries JSON-RPC only; the process ends when stdin closes.",
)


def run(arguments: Arguments) -> int:
    """Serve until the client closes stdin; the exit code is 0 then."""
    session = addresses.check_session(arguments.values.get("session") or os.urandom(8).hex())
    project = here(arguments)
    if "standalone" in arguments.flags:
        from ..local import standalone

        return standalone.run(project=project, session=session, cdp_url=arguments.values.get("cdp-url"))
    if "cdp-url" in arguments.values:
        raise usage(VERB, "--cdp-url goes with --standalone")
    settings = settings_of(arguments, config.LAUNCHER)
    addresses.find(settings, project)  # a bad setting or secret ends the process at once, with its one line
    from ..launcher.pump import Pump

    return Pump(lambda: addresses.find(settings, project), session).run()

"""`telebrowser mcp`: MCP on stdin and stdout. On the fast path: the SDK is imported by `--standalone` only."""

from __future__ import annotations

import os

from .. import config
from ..launcher import address as addresses
from .common import CONFIG_DIR, PROJECT, URL, settings_of
from .options import Arguments, Option, Verb, usage
from .project import here

CHROME_DEVTOOLS = "chrome-devtools"
COMMAND = "--"
TOOLS = ("native", "upstream", "both")
MAX_WORDS = 1000

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
        Option(
            "upstream",
            "another MCP server on this session's browser beside ours: chrome-devtools (installed on its first use), "
            "or any, by its command, in which {ws} and {http} stand for the browser's address",
            "chrome-devtools | -- CMD …",
            command=True,
        ),
        Option("tools", "which tools to show: native (ours; the default), upstream (the other server's; the default with --upstream) or both", "SET"),
    ),
    max_words=MAX_WORDS,
    details="One session per process: it sees only its own tabs. stdout carries JSON-RPC only; the process ends when stdin closes.\n"
    "browser_handoff, browser_downloads, browser_info and our resources are there with every set of tools.",
)


def run(arguments: Arguments) -> int:
    """Serve until the client closes stdin; the exit code is 0 then."""
    session = addresses.check_session(arguments.values.get("session") or os.urandom(8).hex())
    tools = chosen(arguments)
    project = here(arguments)
    if "standalone" in arguments.flags:
        from ..local import standalone

        return standalone.run(project=project, session=session, cdp_url=arguments.values.get("cdp-url"))
    settings = settings_of(arguments, config.LAUNCHER)
    addresses.find(settings, project)  # a bad setting or secret ends the process at once, with its one line
    from ..launcher.pump import Pump

    def find() -> addresses.Address:
        return addresses.find(settings, project)

    if tools == "native":
        return Pump(find, session).run()
    from ..launcher.upstream.server import Server, command

    server = Server(command(arguments.words, settings.launcher_data), find, session)
    return Pump(find, session, beside=server, query="?tools=own" if tools == "upstream" else "").run()


def chosen(arguments: Arguments) -> str:
    """The set of tools to show. Raises `ExitError` for options that do not go together."""
    upstream = arguments.values.get("upstream")
    tools = arguments.values.get("tools") or ("upstream" if upstream else "native")
    if tools not in TOOLS:
        raise usage(VERB, f"--tools must be one of {', '.join(TOOLS)}; it is {tools!r}")
    if upstream not in (None, CHROME_DEVTOOLS, COMMAND):
        raise usage(VERB, f"--upstream takes {CHROME_DEVTOOLS}, or -- and a command; it is {upstream!r}")
    if arguments.words and upstream != COMMAND:
        raise usage(VERB, f"unexpected {arguments.words[0]!r}")
    if upstream == COMMAND and not arguments.words:
        raise usage(VERB, "--upstream -- needs a command")
    if "standalone" in arguments.flags and (upstream or tools != "native"):
        raise usage(VERB, "--standalone has no session that another server could use; leave out --upstream and --tools")
    if "cdp-url" in arguments.values and "standalone" not in arguments.flags:
        raise usage(VERB, "--cdp-url goes with --standalone")
    return tools

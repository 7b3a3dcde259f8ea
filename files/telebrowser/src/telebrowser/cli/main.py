"""`telebrowser VERB …`: imports the one verb's module and turns every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from ..errors import EXIT_BROWSER, EXIT_FAILED, EXIT_FORBIDDEN, EXIT_INTERRUPTED, EXIT_OK, EXIT_TIMEOUT, EXIT_USAGE, ExitError, TelebrowserError

VERBS = {
    "mcp": "serve MCP on stdin and stdout for the agent of this project",
    "status": "show the project's browser",
    "start": "start the project's browser",
    "stop": "stop the project's browser, cookies saved",
    "focus": "raise the project's window in the view",
    "hold": "keep the browser from being stopped while idle, for MIN minutes",
    "handoffs": "list what agents ask people for, or end one",
    "open": "print the address at which a person can see the browser",
    "downloads": "list the files that the project's browser downloaded",
    "ws": "print the unscoped CDP WebSocket address (holds the token)",
    "http": "print the unscoped CDP HTTP address (holds the token)",
    "project": "print the project of this directory",
    "up": "start the whole stack on this machine",
    "down": "stop the stack on this machine, cookies saved",
    "doctor": "check what is needed and say what to do",
    "config": "print the configuration for MCP clients",
}

_EXIT_OF_CODE = {
    "BROWSER_UNAVAILABLE": EXIT_BROWSER,
    "BROWSER_CRASHED": EXIT_BROWSER,
    "DISK_FULL": EXIT_BROWSER,
    "FORBIDDEN": EXIT_FORBIDDEN,
    "TIMEOUT": EXIT_TIMEOUT,
    "INVALID_ARGS": EXIT_USAGE,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (default: the process's) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except ExitError as error:
        return _fail(str(error), error.exit_code)
    except TelebrowserError as error:
        return _fail(error.text(), _EXIT_OF_CODE.get(error.code, EXIT_FAILED))
    except KeyboardInterrupt:
        return _fail("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout has gone (`… | head`): nothing to say, and nothing more to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_OK
    except Exception as error:  # the text of an unforeseen error may hold an address with its token: name the place instead
        return _fail(_fault(error), EXIT_FAILED)


def _run(words: list[str]) -> int:
    if not words:
        return _fail("which verb? see `telebrowser --help`", EXIT_USAGE)
    verb, *rest = words
    if verb in ("--help", "-h", "help"):
        print(_help())
        return EXIT_OK
    if verb in ("--version", "-V"):
        from .. import __version__

        print(f"telebrowser {__version__}")
        return EXIT_OK
    if verb not in VERBS:
        return _fail(f"unknown verb {verb!r}; see `telebrowser --help`", EXIT_USAGE)
    from importlib import import_module

    from .options import HelpRequested, parse

    module = import_module(f"telebrowser.cli.{verb}")
    try:
        code: int = module.run(parse(module.VERB, rest))
    except HelpRequested as help_text:
        print(help_text)
        code = EXIT_OK
    if sys.stdout is not None:  # it is None when the caller closed it
        sys.stdout.flush()
    return code


def _fail(text: str, code: int) -> int:
    with suppress(OSError):  # stderr may be closed; the exit code still says it
        print("telebrowser:", " ".join(text.split()), file=sys.stderr)
    return code


def _fault(error: Exception) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"fault in telebrowser itself ({type(error).__name__}{place}); please report it"


def _help() -> str:
    from ..errors import EXITS

    width = max(map(len, VERBS))
    lines = ["usage: telebrowser VERB [options]", "", "Real browsers for coding agents on a headless box.", ""]
    lines += [f"  {verb:<{width}}  {summary}" for verb, summary in VERBS.items()]
    lines += ["", "`telebrowser VERB --help` shows the options of a verb. Exit codes:", ""]
    lines += [f"  {code:>3}  {meaning}" for code, meaning in EXITS.items()]
    return "\n".join(lines)

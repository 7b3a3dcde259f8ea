"""`telebrowser config`: the configuration with which MCP clients start the launcher, and the skill that tells agents how to use it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping

from ..errors import EXIT_CONFIG, EXIT_OK, ExitError
from .clients import CLIENTS, NAME, expand
from .common import CONFIG_DIR, JSON, URL, option_texts
from .options import Arguments, Option, Verb, usage

PASSED_ON = ("TELEBROWSER_URL", "TELEBROWSER_CONFIG_DIR")
"""Set in the configuration when they are set here. Never the secret."""

VERB = Verb(
    "config",
    "Print or install the configuration for MCP clients: Claude Code, Codex CLI, opencode, Visual Studio Code, Cursor.",
    (
        Option("client", "only for one: " + ", ".join(CLIENTS), "NAME"),
        Option("install", "put it into the client's own file, where all else stays; what was there is kept beside it"),
        Option("file", "with --install: this file instead of the user's", "FILE"),
        Option("skill", "the skill that tells agents how to use the tools, instead of the configuration"),
        URL,
        CONFIG_DIR,
        JSON,
    ),
)


def run(arguments: Arguments) -> int:
    """Print one block for each client, or install for one."""
    name = arguments.values.get("client")
    if name is not None and name not in CLIENTS:
        raise usage(VERB, f"--client must be one of {', '.join(CLIENTS)}; it is {name!r}")
    if "file" in arguments.values and "install" not in arguments.flags:
        raise usage(VERB, "--file goes with --install")
    if "install" in arguments.flags:
        if name is None:
            raise usage(VERB, "--install needs --client")
        return _install(arguments, name)
    if "skill" in arguments.flags:
        print(json.dumps({"name": NAME, "text": skill()}, indent=2) if arguments.json else skill().rstrip())
        return EXIT_OK
    command = launcher_path()
    environment = passed_on(option_texts(arguments), os.environ)
    texts = {each: CLIENTS[each].text(command, environment) for each in ((name,) if name else CLIENTS)}
    if arguments.json:
        files = {each: expand(CLIENTS[each].file, os.environ) for each in texts}
        print(json.dumps({"command": command, "args": ["mcp"], "env": environment, "clients": texts, "files": files}, indent=2))
    else:
        print("\n\n".join(f"# {CLIENTS[each].title}: {CLIENTS[each].place}\n{text}" for each, text in texts.items()))
    return EXIT_OK


def _install(arguments: Arguments, name: str) -> int:
    from . import merge

    client, file = CLIENTS[name], arguments.values.get("file")
    if "skill" in arguments.flags:
        done = merge.replace(os.path.abspath(file or os.path.join(expand(client.skills, os.environ), NAME, "SKILL.md")), skill())
    else:
        environment = passed_on(option_texts(arguments), os.environ)
        done = merge.install(client, os.path.abspath(file or expand(client.file, os.environ)), launcher_path(), environment, PASSED_ON)
    if arguments.json:
        print(json.dumps({"client": name, **done._asdict()}, indent=2))
    else:
        kept = f"; what was there before: {done.backup}" if done.backup else ""
        print(f"{done.file}: {'written' if done.changed else 'is as it should be'}{kept}")
    return EXIT_OK


def skill() -> str:
    """The text of the skill, which the package carries."""
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "skill", "SKILL.md"), encoding="utf-8") as file:
        return file.read()


def passed_on(options: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the client must set for the launcher to find the same gateway."""
    found = {}
    for name in PASSED_ON:
        value = options.get(name.removeprefix("TELEBROWSER_").lower()) or environ.get(name)
        if value:
            found[name] = os.path.abspath(os.path.expanduser(value)) if name.endswith("_DIR") else value
    return found


def launcher_path() -> str:
    """The absolute path of the `telebrowser` command that runs now."""
    for candidate in (sys.argv[0], os.path.join(os.path.dirname(sys.executable), "telebrowser"), shutil.which("telebrowser")):
        if candidate and os.path.basename(candidate) == "telebrowser" and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return os.path.abspath(candidate)
    raise ExitError(EXIT_CONFIG, "the command `telebrowser` is not installed beside this Python and not on PATH")

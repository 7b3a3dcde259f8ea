# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An agent at work: agent.py READY LAUNCHER [its options]. Opens a page by MCP, writes its pid into READY, and stays until it is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys


def main() -> None:
    """Work, then wait."""
    ready, launcher = sys.argv[1:3]
    # The launcher ends with its stdin, which ends with this process.
    child = subprocess.Popen([launcher, "mcp", *sys.argv[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(number, method, **params):
        child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
        child.stdin.flush()
        for line in child.stdout:
            message = json.loads(line)
            if message.get("id") == number:
                return message
        raise SystemExit("the launcher ended")

    ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "agent", "version": "1"})
    child.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    answer = ask(2, "tools/call", name="browser_tabs", arguments={"action": "list"})
    if "error" in answer or answer["result"].get("isError"):
        raise SystemExit(json.dumps(answer))
    temporary = ready + ".new"
    with open(temporary, "w") as file:
        file.write(str(os.getpid()))
    os.rename(temporary, ready)
    for _line in child.stdout:
        pass


if __name__ == "__main__":
    main()

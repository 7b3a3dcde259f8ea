"""Drives a deployed stack as an agent does, by `telebrowser mcp` over stdio, and prints one JSON object with what it saw.

drive.py PROJECT LOGIN -- LAUNCHER…: opens a page that sets the cookie LOGIN unless it has one, clicks its button, reads it again. The page is served
on an address that is made for it: policies keep browsers from the loopback, and the machine's other address changes when it is restarted.
"""

import http.server
import json
import re
import subprocess
import sys
import threading

PORT = 8099
ADDRESS = "198.51.100.7"
PAGE = """<!doctype html><title>before</title>
<button onclick="document.title='clicked'">Press</button>
<p id=seen></p>
<script>
document.getElementById('seen').textContent = 'had ' + (document.cookie || 'nothing');
if (!document.cookie) document.cookie = 'login=LOGIN; max-age=86400; path=/';
</script>
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """One page, whatever is asked for."""

    login = ""

    def do_GET(self):
        """Answer with the page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.replace("LOGIN", self.login).encode())

    def log_message(self, *arguments):
        """Say nothing."""


class Agent:
    """A conversation with `telebrowser mcp`."""

    def __init__(self, command):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._number = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "molecule", "version": "1"})
        self._send({"method": "notifications/initialized"})

    def _send(self, message):
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def ask(self, method, **params):
        """The answer to a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
        raise SystemExit(f"{method}: the launcher ended")

    def call(self, tool, **arguments):
        """The text of a tool's answer; an error ends the program."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        if result.get("isError"):
            raise SystemExit(f"{tool}: {text}")
        return text

    def close(self):
        """End it as a client does."""
        self._process.stdin.close()
        return self._process.wait(20)


def main():
    """Run one visit."""
    project, login, _, *launcher = sys.argv[1:]
    Handler.login = login
    subprocess.run(["ip", "address", "replace", f"{ADDRESS}/32", "dev", "lo"], check=True)
    server = http.server.ThreadingHTTPServer((ADDRESS, PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    agent = Agent([*launcher, "mcp", "--project", project])
    agent.call("browser_navigate", url=f"http://{ADDRESS}:{PORT}/")
    before = agent.call("browser_snapshot")
    ref = re.search(r'button "Press".*?ref=(\w+)', before)
    if ref is None:
        raise SystemExit(f"no button in {before}")
    agent.call("browser_click", ref=ref[1])
    after = agent.call("browser_snapshot")
    had = re.search(r"had (\S+)", before)
    print(json.dumps({"had": had[1] if had else "", "clicked": "clicked" in after, "exit": agent.close()}))


if __name__ == "__main__":
    main()

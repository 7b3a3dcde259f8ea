"""Drives a deployed stack as an agent does, by `telebrowser mcp` over stdio, and prints one JSON object with what it saw.

drive.py PROJECT LOGIN [person] -- LAUNCHER…: opens a page that sets the cookie LOGIN unless it has one, clicks its button, reads it again. With
``person`` it then asks for one, and is that person, too, as far as that goes without a browser: follows the link, takes the view, hears the desktop's
first word, is done. The page is served on an address that is made for it: policies keep browsers from the loopback, and the machine's other address
changes when it is restarted.
"""

import http.cookiejar
import http.server
import json
import re
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

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


class Person:
    """Who follows a handoff's link."""

    def __init__(self, link):
        self._base = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(link))
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))
        self._ask(link)
        self._where, page = self._ask(link, {})
        self._form = re.search(r'name="form" value="([^"]+)"', page)[1]

    def _ask(self, url, fields=None):
        """Where one comes to, and what stands there."""
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        with self._opener.open(urllib.request.Request(url, data, {"Origin": self._base}), timeout=30) as answer:
            return answer.url, answer.read().decode()

    def look(self):
        """What the view begins with: its page's script, the reason for less than the desktop, and the first word of its connection."""
        granted = json.loads(self._ask(self._where + "/take", {"form": self._form, "secure": "yes"})[1])
        view = urllib.parse.urljoin(self._where, granted["url"])
        page = self._ask(view)[1]
        at = urllib.parse.urlsplit(view)
        head = [f"GET {at.path}socket HTTP/1.1", f"Host: {at.netloc}", f"Origin: {self._base}", "Upgrade: websocket", "Connection: Upgrade"]
        head += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "", ""]
        with socket.create_connection((at.hostname, at.port), 30) as connection:
            connection.sendall("\r\n".join(head).encode())
            heard = b""
            while b"RFB 003.008" not in heard and len(heard) < 4096:
                part = connection.recv(4096)
                if not part:
                    break
                heard += part
        return {"page": re.search(r"static/(\w+)\.js", page)[1], "instead": granted["instead"], "desktop": b"RFB 003.008" in heard}

    def done(self):
        """Give the browser back."""
        self._ask(self._where + "/done", {"form": self._form, "note": ""})


def main():
    """Run one visit."""
    split = sys.argv.index("--")
    project, login, *wishes = sys.argv[1:split]
    launcher = sys.argv[split + 1 :]
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
    told = {"had": had[1] if had else "", "clicked": "clicked" in after}
    if "person" in wishes:
        person = Person(json.loads(agent.call("browser_handoff", reason="Look at this", wait_seconds=0))["link"])
        told["seen"] = person.look()
        person.done()
        told["ended"] = json.loads(agent.call("browser_handoff_status", wait_seconds=20))["state"]
    print(json.dumps({**told, "exit": agent.close()}))


if __name__ == "__main__":
    main()

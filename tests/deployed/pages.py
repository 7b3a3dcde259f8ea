"""Pages that the browsers in the containers open: one colour a project, a button, a download, and a login kept by a cookie."""

from __future__ import annotations

import http.server
import threading
import urllib.parse

COLOURS = {"shop": (200, 30, 30), "bank": (30, 30, 200)}
FILE = b"what the shop sends\n" * 1000
YEAR = 31536000

PAGE = """<!doctype html><title>{name}</title><style>html{{background:rgb{colour}}}</style>
<button onclick="this.textContent='pressed'">press</button> <a href="/file" download="receipt.txt">receipt</a>"""


class Handler(http.server.BaseHTTPRequestHandler):
    """``/<project>`` is a page of that project's colour, ``/login`` gives a cookie for a year, ``/who`` shows it, ``/file`` is a download."""

    def do_GET(self) -> None:
        """Answer one request."""
        path = urllib.parse.urlsplit(self.path).path.strip("/")
        if path == "file":
            self._reply(FILE, "application/octet-stream", {"Content-Disposition": 'attachment; filename="receipt.txt"'})
        elif path == "login":
            self._reply(b"<title>in</title>signed in", "text/html", {"Set-Cookie": f"login=yes; Max-Age={YEAR}; Path=/"})
        elif path == "who":
            known = "login=yes" in self.headers.get("Cookie", "")
            self._reply(f"<title>who</title>{'known' if known else 'unknown'}".encode(), "text/html", {})
        elif path in COLOURS:
            self._reply(PAGE.format(name=path, colour=COLOURS[path]).encode(), "text/html", {})
        else:
            self.send_error(404)

    def _reply(self, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


class Server:
    """Serves the pages on an address of this machine that containers reach."""

    def __init__(self, address: str) -> None:
        self._server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        self.base = f"http://{address}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

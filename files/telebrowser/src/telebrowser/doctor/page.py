"""The page that the live check opens, served by the check itself."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUTTON = "Press me"
BEFORE = "not pressed yet"
AFTER = "pressed by the agent"
PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>telebrowser doctor</title>
<h1>telebrowser doctor</h1><p id="state">{BEFORE}</p>
<button onclick="document.getElementById('state').textContent = {AFTER!r}">{BUTTON}</button></html>
"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = self.path.split("?")[0] == "/"
        body = PAGE.encode() if known else b""
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: stdout and stderr belong to the check."""


class _Server6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


class PageServer:
    """Serves `PAGE` at `url` until `close`."""

    def __init__(self, host: str) -> None:
        self._server = (_Server6 if ":" in host else ThreadingHTTPServer)((host, 0), _Handler)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def own_address(host: str, port: int, seconds: float) -> str:
    """The address of this machine on the way to ``host``: where a browser beside the gateway reaches the page."""
    with socket.create_connection((host, port), timeout=seconds) as connection:
        return str(connection.getsockname()[0])

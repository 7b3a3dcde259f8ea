"""Serves the case pages on 127.0.0.1, which has two origins: ``127.0.0.1`` and ``localhost``.

========================  ==========================================================
``/NAME.html``            a page of ``tests/cases/pages``
``/never``                an answer whose body never comes
``/sse``                  an endless event stream
``/slow?ms=N``            a page that takes N milliseconds
``/file.bin``             a download of 4096 bytes
``/doc.pdf``              a small PDF
``/to?url=U``             a redirect to U
``/set``                  sets the cookie ``login=yes`` for a day
``/who``                  shows the request's Cookie header
========================  ==========================================================

``python tests/cases/serve.py [PORT]`` prints the address and serves until it is interrupted. Standard
library only, so that it can be used without the project's environment.
"""

from __future__ import annotations

import http.server
import sys
import threading
import urllib.parse
from pathlib import Path
from types import TracebackType

PAGES = Path(__file__).resolve().parent / "pages"
PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
NOT_FOUND = b"<title>404</title>not here"


class Handler(http.server.BaseHTTPRequestHandler):
    """One request. Endless answers end once `closing` is set; a subclass may have an event of its own."""

    closing = threading.Event()

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        match url.path:
            case "/never":
                self._head(200, "text/html")
                self.closing.wait()
            case "/sse":
                self._stream()
            case "/slow":
                self.closing.wait(int(query.get("ms", "1000")) / 1000)
                self.reply(b"<title>slow</title>slow")
            case "/file.bin":
                self.reply(b"x" * 4096, "application/octet-stream", content_disposition='attachment; filename="file.bin"')
            case "/doc.pdf":
                self.reply(PDF, "application/pdf")
            case "/to":
                self.reply(b"", status=302, location=query["url"])
            case "/set":
                self.reply(b"<title>set</title>", set_cookie="login=yes; Max-Age=86400; Path=/")
            case "/who":
                self.reply(f"<title>who</title><p>{self.headers.get('cookie', 'none')}</p>".encode())
            case path:
                self._page(path)

    def _page(self, path: str) -> None:
        page = PAGES / Path(path).name
        if page.suffix == ".html" and page.is_file():
            self.reply(page.read_bytes())
        else:
            self.reply(NOT_FOUND, status=404)

    def _stream(self) -> None:
        self._head(200, "text/event-stream")
        try:
            while not self.closing.wait(0.2):
                self.wfile.write(b"data: x\n\n")
                self.wfile.flush()
        except OSError:
            return  # the page went away

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.flush()

    def reply(self, body: bytes, kind: str = "text/html; charset=utf-8", *, status: int = 200, **headers: str) -> None:
        """Send one whole answer; ``set_cookie="…"`` names the header ``set-cookie``."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            return  # a browser that is closed in the middle of an answer

    def log_message(self, format: str, *args: object) -> None:
        """Silent: requests are the pages' own business."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


class CaseServer:
    """The server in a thread of its own, as a context manager; `url` and `other_origin` name its two origins."""

    def __init__(self, port: int = 0) -> None:
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), type("BoundHandler", (Handler,), {"closing": self._closing}))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def other_origin(self) -> str:
        return f"http://localhost:{self.port}"

    def __enter__(self) -> CaseServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def main() -> None:
    with CaseServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()

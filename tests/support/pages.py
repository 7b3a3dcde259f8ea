"""The case pages on 127.0.0.1, with pages of a single test beside them and a record of what was asked for."""

from __future__ import annotations

import http.server
import threading
import time
import urllib.parse
from typing import Any

from tests.cases.serve import Handler


class Pages:
    """A page server in a thread of this process, on ``host``. `add` puts a page of the test's own beside the cases.

    ``/report?…`` records its query: a page tells the test what happened where no CDP client can look.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.extra: dict[str, tuple[bytes, str, float, dict[str, str]]] = {}
        self.requests: list[str] = []
        self.reports: list[dict[str, str]] = []
        self._arrived = threading.Condition()
        outer, closing = self, threading.Event()

        class Recording(Handler):
            def do_GET(self) -> None:
                outer.answer(self, super().do_GET)

        Recording.closing = self._closing = closing
        self.server = http.server.ThreadingHTTPServer((host, 0), Recording)
        self.server.daemon_threads, self.server.block_on_close = True, False
        self.server.request_queue_size = 64
        self.port = self.server.server_port
        self.base = f"http://{host}:{self.port}"
        self.other = f"http://localhost:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def answer(self, handler: Any, otherwise: Any) -> None:
        """Answer one request: a report, a page of the test's own, or a case."""
        url = urllib.parse.urlsplit(handler.path)
        with self._arrived:
            self.requests.append(handler.path)
            if url.path == "/report":
                self.reports.append(dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
            self._arrived.notify_all()
        if url.path == "/report":
            handler.reply(b"", status=204)
        elif url.path in self.extra:
            body, kind, delay, headers = self.extra[url.path]
            self._closing.wait(delay)
            handler.reply(body, kind, **headers)
        else:
            otherwise()

    def add(self, name: str, body: str | bytes, kind: str = "text/html; charset=utf-8", delay: float = 0, **headers: str) -> str:
        """Serve ``body`` at ``/name``, ``delay`` seconds after it was asked for, and give its address."""
        self.extra["/" + name] = (body.encode() if isinstance(body, str) else body, kind, delay, headers)
        return f"{self.base}/{name}"

    def asked(self, part: str) -> int:
        """How many requests had ``part`` in their path."""
        with self._arrived:
            return sum(part in path for path in self.requests)

    def wait_report(self, seconds: float = 10, **wanted: str) -> dict[str, str]:
        """The first report that has all of ``wanted``; fails after ``seconds``."""
        end = time.monotonic() + seconds
        with self._arrived:
            while True:
                for report in self.reports:
                    if wanted.items() <= report.items():
                        return report
                if (left := end - time.monotonic()) <= 0:
                    raise AssertionError(f"no report with {wanted} in {seconds} s; there are {self.reports}")
                self._arrived.wait(left)

    def close(self) -> None:
        """Stop serving."""
        self._closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)

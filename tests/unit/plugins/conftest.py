# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules run as Ansible runs them, in this process: arguments in, JSON on stdout out."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading

import pytest
from ansible.module_utils import basic

try:
    from ansible.module_utils.testing import patch_module_args
except ImportError:
    # ansible-core before 2.19 has no such helper.
    @contextlib.contextmanager
    def patch_module_args(args):
        """Arguments for the next AnsibleModule."""
        before = basic._ANSIBLE_ARGS
        basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": args}).encode()
        try:
            yield
        finally:
            basic._ANSIBLE_ARGS = before


@pytest.fixture
def run_module(capsys):
    """Run ``main`` of a module; its result, with ``failed`` set when it failed."""

    def run(main, check_mode=False, diff=True, **params):
        args = dict(params, _ansible_check_mode=check_mode, _ansible_diff=diff)
        capsys.readouterr()
        with patch_module_args(args), pytest.raises(SystemExit) as ended:
            main()
        result = json.loads(capsys.readouterr().out)
        assert bool(ended.value.code) == bool(result.get("failed"))
        result.pop("invocation", None)
        return result

    return run


class Answers:
    """A server on loopback that gives what a test wants and remembers what it was asked."""

    def __init__(self):
        self.replies = {}
        self.asked = []
        self.headers = []
        answers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers from the table."""

            def do_GET(self):
                """Any method."""
                answers.asked.append((self.command, self.path))
                answers.headers.append(dict(self.headers))
                key = (self.command, self.path.rpartition("/")[2])
                status, body = answers.replies.get(key, (404, {"error": {"code": "NOT_FOUND", "message": "There is nothing at this path"}}))
                if callable(body):
                    body = body()
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def log_message(self, *args):
                """Nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self):
        """Stop."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def answers():
    """The server; ``answers.replies[method, last word of the path] = status, body``."""
    server = Answers()
    yield server
    server.close()


@pytest.fixture
def nobody():
    """The address of a port where nothing listens."""
    server = Answers()
    server.close()
    return server.url

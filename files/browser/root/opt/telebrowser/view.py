"""Starts the view (Selkies) so that its own port asks for a password too, and ends it when that port does not.

Pages of every project can reach that port, past nginx. The password is read from a file as root, and given to Selkies inside of this
very process after root's rights are given up: it is in no argument list, in no environment, and the kernel is asked to let nobody else
of the same user look into the process.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import socket
import sys
import threading
import time

PASSWORD = "/telebrowser-view/password"
USER = "telebrowser"
ACCOUNT = "abc"
MIN_LENGTH = 12
PR_SET_DUMPABLE = 4
START_SECONDS = 60.0
ANSWER_SECONDS = 5.0
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
PLAIN = "Connection: close\r\n"
REQUESTS = (("/", PLAIN), ("/api/screenshot", PLAIN), ("/websocket", UPGRADE), ("/api/websockets", UPGRADE))


def read_password() -> str:
    with open(PASSWORD, encoding="utf-8") as file:
        password = file.readline().rstrip("\r\n")
    if len(password) < MIN_LENGTH:
        sys.exit(f"telebrowser: the view is not started: {PASSWORD} holds no password of {MIN_LENGTH} characters or more")
    return password


def become(name: str) -> None:
    entry = pwd.getpwnam(name)
    os.initgroups(name, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    # Most kernels do so by themselves, as fs.suid_dumpable says.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def ask(port: int, path: str, headers: str) -> bytes:
    """The first line of the answer to a request without any credential."""
    with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
        return connection.recv(4096).partition(b"\r\n")[0]


def guard(port: int) -> None:
    """Wait until the port answers, and end everything unless it asks for a password, whatever is asked of it."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            for path, headers in REQUESTS:
                line = ask(port, path, headers)
                if b" 401 " not in line + b" ":
                    print(f"telebrowser: the view is ended: port {port} answers {path} without a password ({line!r}); use an image with Selkies 2", flush=True)
                    os._exit(1)
        except OSError:
            # Nothing tells when it listens.
            time.sleep(0.2)
        else:
            return


def main() -> None:
    port = next((int(word.partition("=")[2]) for word in sys.argv if word.startswith("--port=")), 8082)
    password = read_password()
    become(ACCOUNT)
    sys.argv = ["selkies", *sys.argv[1:], "--enable-basic-auth=true", f"--basic-auth-user={USER}", f"--basic-auth-password={password}"]
    from selkies.__main__ import main as selkies

    threading.Thread(target=guard, args=(port,), daemon=True).start()
    sys.exit(selkies())


if __name__ == "__main__":
    main()

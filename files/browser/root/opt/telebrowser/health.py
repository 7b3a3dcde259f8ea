"""The container's health: the supervisor is alive, the desktop takes windows, and the view asks for a password."""

from __future__ import annotations

import os
import socket
import sys
import time

HEARTBEAT = "/data/run/heartbeat"
FRESH_SECONDS = 15.0
DESKTOP = "/config/.XDG/wayland-0"
ANSWER_SECONDS = 3.0


def problem() -> str | None:
    """What is wrong; None when nothing is."""
    try:
        age = time.time() - os.stat(HEARTBEAT).st_mtime
    except OSError:
        return "the supervisor has not started"
    if age > FRESH_SECONDS:
        return f"the supervisor has not been heard for {age:.0f} s"
    try:
        with socket.socket(socket.AF_UNIX) as desktop:
            desktop.connect(DESKTOP)
    except OSError as error:
        return f"the desktop takes no windows: {error.strerror}"
    for port in (int(os.environ.get("CUSTOM_PORT") or 3000), int(os.environ.get("CUSTOM_WS_PORT") or 8082)):
        try:
            with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as view:
                view.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = view.recv(4096).partition(b"\r\n")[0].decode(errors="replace")
        except OSError as error:
            return f"the view does not answer on port {port}: {error.strerror or error}"
        if " 401 " not in answer + " ":
            return f"the view does not ask for a password on port {port}: {answer}"
    return None


if __name__ == "__main__":
    found = problem()
    print(found or "ok")
    sys.exit(found is not None)

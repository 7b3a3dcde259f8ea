"""Starts the view (Selkies) so that its own port asks for a password too, and ends it when that port does not.

Pages of every project can reach that port, past nginx. The password is read from a file as root, and given to Selkies inside of this
very process after root's rights are given up: it is in no argument list, in no environment, and the kernel is asked to let nobody else
of the same user look into the process.

The gateway, which lets people through who have a credential for a handoff, must not know that password. For it a second process listens
on a Unix socket beside the supervisor's, which nobody else may open, and adds the password to each request that comes in there.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ctypes
import os
import pwd
import signal
import socket
import sys
import threading
import time

PASSWORD = "/telebrowser-view/password"
USER = "telebrowser"
ACCOUNT = "abc"
SCREEN = "1600x900"
MIN_LENGTH = 12
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
START_SECONDS = 60.0
ANSWER_SECONDS = 5.0
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 << 10
PIECE_BYTES = 256 << 10
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


class Relay:
    """Passes each connection to a Unix socket on to the port, with the password in its request. One request a connection."""

    def __init__(self, path: str, port: int, password: str) -> None:
        self.path, self.port = path, port
        self.credential = b"Authorization: Basic " + base64.b64encode(f"{USER}:{password}".encode()) + b"\r\n"

    def start(self) -> None:
        """Serve in a process of its own, which ends with this one: pictures must not wait for Selkies' other work."""
        parent = os.getpid()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            try:
                # It may have ended before that was asked for.
                if os.getppid() == parent:
                    asyncio.run(self.serve())
            finally:
                os._exit(1)

    async def serve(self) -> None:
        os.umask(0o177)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        server = await asyncio.start_unix_server(self.take, self.path, limit=HEAD_BYTES)
        await server.serve_forever()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
            port_reader, port_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            writer.close()
            return
        first, *lines = head[:-4].split(b"\r\n")
        kept = [line for line in lines if line.split(b":")[0].strip().lower() not in (b"authorization", b"connection")]
        upgrade = any(line.split(b":")[0].strip().lower() == b"upgrade" for line in kept)
        # A second request on the same connection would come without the password.
        kept.append(b"Connection: Upgrade" if upgrade else b"Connection: close")
        port_writer.write(b"\r\n".join([first, *kept]) + b"\r\n" + self.credential + b"\r\n")
        both = [asyncio.ensure_future(copy(reader, port_writer)), asyncio.ensure_future(copy(port_reader, writer))]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        writer.close()
        port_writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()


def keep_size() -> None:
    """Agents lay out their pages by the desktop's size: it must not become that of the window of whoever looks, and stay so."""
    width, _, height = (os.environ.get("TELEBROWSER_SCREEN") or SCREEN).partition("x")
    for name, value in (("ENABLE_RESIZE", "false|locked"), ("MANUAL_WIDTH", width), ("MANUAL_HEIGHT", height)):
        os.environ.setdefault(f"SELKIES_{name}", value)


def main() -> None:
    port = next((int(word.partition("=")[2]) for word in sys.argv if word.startswith("--port=")), 8082)
    password = read_password()
    become(ACCOUNT)
    if os.environ.get("TELEBROWSER_VIEW", "") in ("", "auto", "selkies"):
        Relay(os.path.join(os.environ.get("TELEBROWSER_DATA", "/data"), "run", "view.sock"), port, password).start()
    keep_size()
    sys.argv = ["selkies", *sys.argv[1:], "--enable-basic-auth=true", f"--basic-auth-user={USER}", f"--basic-auth-password={password}"]
    from selkies.__main__ import main as selkies

    threading.Thread(target=guard, args=(port,), daemon=True).start()
    sys.exit(selkies())


if __name__ == "__main__":
    main()

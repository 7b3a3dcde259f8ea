"""The view and the pages for people through real proxies, set up by the role reverse_proxy in folders of their own: no file of the system is touched."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import websockets

from tests.support import proc
from tests.support.stack import free_port, request

from . import handoff
from .pages import Server
from .site import Site, say

NAME = "view.example.net"
SECONDS = 15.0
NGINX = "pid {folder}/pid;\nerror_log {folder}/error.log;\ndaemon off;\nevents {{}}\nhttp {{ access_log off; include conf.d/*.conf; }}\n"
CADDY = "{{\n\tadmin off\n\tauto_https off\n}}\nimport {folder}/telebrowser*.caddy\n"


async def serve(site: Site, pages: Server) -> None:
    """Picture and socket of the view through nginx and through Caddy; through nginx, where the links for people lead, a handoff too."""
    people = urlsplit(site.facts["people_url"])
    for kind, port in (("nginx", int(people.port or 80)), ("caddy", free_port())):
        folder = Path(tempfile.mkdtemp(prefix=f"tb-{kind}-", dir="/tmp"))
        try:
            render(site, kind, folder, port)
            with running(kind, folder, port):
                await through(site, kind, port)
                if port == people.port:
                    await handoff.journey(site, pages)
        finally:
            shutil.rmtree(folder)


def render(site: Site, kind: str, folder: Path, port: int) -> None:
    """Play the role into a folder that holds the main file of a proxy, as on a host that has one."""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    (folder / "conf.d").mkdir()
    (folder / "Caddyfile").write_text(CADDY.format(folder=folder))
    playbook = folder / "play.yml"
    playbook.write_text(
        "- hosts: telebrowser_browser_hosts\n  gather_facts: false\n  roles: [telebrowser.telebrowser.reverse_proxy]\n",
    )
    settings = {
        "kind": kind,
        "dir": str(folder),
        "view_host": NAME,
        "people_host": urlsplit(site.facts["people_url"]).hostname,
        "tls": False,
        "listen_address": "127.0.0.1",
        "listen_port": port,
        "reload_command": ["true"],
        "caddy_import": False,
    }
    site.play(str(playbook), "-e", json.dumps({f"telebrowser_reverse_proxy_{name}": value for name, value in settings.items()}))


@contextlib.contextmanager
def running(kind: str, folder: Path, port: int) -> Iterator[None]:
    """The proxy itself, on a port of its own, until it answers."""
    command = {
        "nginx": ["nginx", "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")],
        "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")],
    }[kind]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder)}
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
    try:
        proc.until(lambda: process.poll() is not None or answers(port), f"{kind} answers", SECONDS)
        assert process.poll() is None, (folder / "output").read_text()
        yield
    finally:
        process.terminate()
        process.wait(SECONDS)


def answers(port: int) -> bool:
    """Whether the proxy speaks HTTP."""
    try:
        return request(f"http://127.0.0.1:{port}/", timeout=5, Host=NAME).status > 0
    except OSError:
        return False


async def through(site: Site, kind: str, port: int) -> None:
    """The password is asked for, the picture comes, and the socket opens and speaks."""
    base = f"http://127.0.0.1:{port}"
    assert (await asyncio.to_thread(request, base + "/api/screenshot", Host=NAME)).status == 401
    picture = await asyncio.to_thread(request, base + "/api/screenshot", Host=NAME, Authorization=site.authorization())
    assert picture.status == 200 and picture.body.startswith(b"\x89PNG"), picture
    headers = {"Authorization": site.authorization()}
    address = f"ws://{NAME}:{port}{site.facts['view_socket']}"
    async with asyncio.timeout(SECONDS):
        async with websockets.connect(address, host="127.0.0.1", additional_headers=headers, proxy=None, max_size=None) as socket:
            first = await socket.recv()
    assert first, "the view's socket said nothing"
    say(f"the view through {kind}: {len(picture.body)} bytes of picture, and its socket speaks")

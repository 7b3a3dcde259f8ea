"""``python -m tests.deployed.verify DESCRIPTION``: the stack does its work, seen from an agent host and from the view."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.stack import request

from . import leaks, proxies
from .pages import COLOURS, FILE, Server
from .picture import pixel
from .site import Site, say

SECONDS = 15.0
GRACE_SECONDS = 45.0
"""The gateway keeps a session for 30 s after its last connection."""
INSIDE = """
import urllib.error, urllib.request
for port in (3000, 8082):
    try:
        print(port, urllib.request.urlopen(f"http://127.0.0.1:{port}/api/screenshot", timeout=5).status)
    except urllib.error.HTTPError as error:
        print(port, error.code)
"""


async def agents_work(site: Site, pages: Server) -> None:
    """Two agents in two projects: navigate, snapshot, click, download; and the window of one, then of the other, in front."""
    # The tab that a former agent left in front is closed with its session; until then the window shows it.
    await asyncio.to_thread(proc.until, lambda: nobody_works(site), "the sessions of former agents end", GRACE_SECONDS)
    shop = await site.agent("shop")
    bank = await site.agent("bank")
    try:
        await shop.ok("browser_navigate", url=f"{pages.base}/shop")
        await bank.ok("browser_navigate", url=f"{pages.base}/bank")
        await press(shop)
        await fetch(site, shop)
        for project in ("shop", "bank", "shop"):
            in_front(site, project)
    finally:
        await shop.close()
        await bank.close()


def nobody_works(site: Site) -> bool:
    """Whether no session is left in the projects."""
    told = [site.launcher("status", "--project", project, "--json").stdout for project in COLOURS]
    return all(json.loads(text)["sessions"] == [] for text in told)


async def press(agent: McpClient) -> None:
    """The snapshot names the button, and a click on it has its effect."""
    snapshot = await agent.ok("browser_snapshot")
    ref = snapshot.ref("press", "button")
    assert ref, f"no button in {snapshot}"
    await agent.ok("browser_click", ref=ref)
    assert (await agent.ok("browser_get_text")).says("pressed")
    say("an agent navigated, took a snapshot and clicked")


async def fetch(site: Site, agent: McpClient) -> None:
    """A download lands in the project's folder, whole, and belongs to the user who owns the data."""
    snapshot = await agent.ok("browser_snapshot")
    ref = snapshot.ref("receipt", "link")
    assert ref, f"no link in {snapshot}"
    await agent.ok("browser_click", ref=ref)
    folder = site.data / "projects" / "shop" / "downloads"
    end = time.monotonic() + SECONDS
    while not (found := [path for path in folder.glob("receipt*.txt") if path.stat().st_size == len(FILE)]):
        assert time.monotonic() < end, f"no download in {folder}: {list(folder.iterdir())}"
        await asyncio.sleep(0.1)
    owner = found[0].stat()
    assert found[0].read_bytes() == FILE
    assert (owner.st_uid, owner.st_gid) == (site.facts["puid"], site.facts["pgid"]), owner
    assert owner.st_mode & 0o400, oct(owner.st_mode)
    say(f"a download of {owner.st_size} bytes belongs to {owner.st_uid}:{owner.st_gid}")


def in_front(site: Site, project: str) -> None:
    """`telebrowser focus` brings the project's window to the front of the desktop that people see."""
    done = site.launcher("focus", "--project", project)
    assert done.returncode == 0, done.stderr
    end = time.monotonic() + SECONDS
    while True:
        seen = pixel(site.screenshot(), 0.5, 0.7)
        if all(abs(a - b) <= 20 for a, b in zip(seen, COLOURS[project], strict=True)):
            say(f"the window of {project} is in front")
            return
        assert time.monotonic() < end, f"the view shows {seen} where the window of {project} should be"
        time.sleep(0.2)


def view_asks(site: Site) -> None:
    """The view gives nothing without its password, from here and from inside the container."""
    for path in ("/", "/api/screenshot"):
        answer = request(site.view + path)
        assert answer.status == 401, f"{path}: {answer}"
    seen = site.docker("exec", site.browser, "python3", "-c", INSIDE)
    assert re.findall(r"\d+ (\d+)", seen) == ["401", "401"], seen
    say("the view asks for its password, on the host and on both ports inside")


def owners(site: Site) -> None:
    """Everything that the stack wrote belongs to the user who owns the data. The desktop's folder is the image's own."""
    wrong = [path for name in ("projects", "run", "audit") for path in (site.data / name).rglob("*") if path.lstat().st_uid != site.facts["puid"]]
    assert not wrong, f"not of user {site.facts['puid']}: {wrong[:10]}"


def same_containers(site: Site) -> None:
    """The runs after the first left the containers alone."""
    assert site.ids() == site.facts["ids"], f"{site.ids()} after {site.facts['ids']}"


def sealed(site: Site) -> None:
    """The containers have the rights that they need and no more, and their ports are on loopback."""
    gateway, browser = site.inspect(site.gateway), site.inspect(site.browser)
    assert gateway["HostConfig"]["ReadonlyRootfs"] and gateway["HostConfig"]["CapDrop"] == ["ALL"], gateway["HostConfig"]
    assert gateway["Config"]["User"] == f"{site.facts['puid']}:{site.facts['pgid']}"
    for container in (gateway, browser):
        assert not container["HostConfig"]["Privileged"]
        assert "no-new-privileges" in " ".join(container["HostConfig"]["SecurityOpt"])
        for bindings in (container["HostConfig"]["PortBindings"] or {}).values():
            assert {binding["HostIp"] for binding in bindings} == {"127.0.0.1"}, bindings
    assert any(option.startswith("seccomp={") for option in browser["HostConfig"]["SecurityOpt"])
    assert str(site.secrets) not in str(browser["Mounts"]), "the token secret is mounted where the browsers are"


def main() -> None:
    """All of it, once."""
    site = Site(Path(sys.argv[1]))
    pages = Server(site.neighbour())
    try:
        same_containers(site)
        sealed(site)
        site.wait_answer("verify")
        asyncio.run(agents_work(site, pages))
        view_asks(site)
        owners(site)
        asyncio.run(proxies.serve(site, pages))
        leaks.check(site)
        same_containers(site)
    finally:
        pages.close()
        site.close()


if __name__ == "__main__":
    main()

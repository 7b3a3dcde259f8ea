"""``python -m tests.deployed.events DESCRIPTION``: what happens to containers at night, when nobody runs Ansible."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.stack import request, token

from . import leaks
from .pages import Server
from .site import Site, say

DAY = 86400


async def signed_in(site: Site, pages: Server, what: str) -> None:
    """A new agent finds its project still signed in."""
    agent = await site.agent("shop")
    try:
        await agent.ok("browser_navigate", url=f"{pages.base}/who")
        await known(agent, what)
        say(f"{what}: the login is kept")
    finally:
        await agent.close()


async def known(agent: McpClient, what: str) -> None:
    """The page in the agent's tab knows the login."""
    text = await agent.ok("browser_get_text")
    assert text.says(r"\bknown\b"), f"{what}: the login is lost: {text}"


async def sign_in(site: Site, pages: Server) -> None:
    """Sign the project in."""
    agent = await site.agent("shop")
    try:
        await agent.ok("browser_navigate", url=f"{pages.base}/login")
    finally:
        await agent.close()


async def restarted_under_an_agent(site: Site, pages: Server) -> None:
    """``docker restart`` of the browsers while an agent works: the same agent goes on."""
    agent = await site.agent("shop")
    try:
        await agent.ok("browser_navigate", url=f"{pages.base}/who")
        await asyncio.to_thread(site.docker, "restart", site.browser)
        await asyncio.to_thread(site.wait_answer, "docker restart")
        end = time.monotonic() + 60
        while (answer := await agent.call("browser_navigate", url=f"{pages.base}/who")).error:
            assert time.monotonic() < end, answer
            await asyncio.sleep(0.5)
        await known(agent, "docker restart")
        say("docker restart: the agent that was connected goes on, and the login is kept")
    finally:
        await agent.close()


def crash(site: Site) -> None:
    """The first process of the browsers' container dies, and everything in it."""
    pid = int(site.inspect(site.browser)["State"]["Pid"])
    os.kill(pid, signal.SIGKILL)
    proc.until(lambda: proc.process(pid) is None, "the container's first process is gone")
    site.wait_answer("crash of the container")


def gateway_first(site: Site) -> None:
    """Somebody stops both and starts the gateway before what it talks to."""
    site.docker("stop", "-t", "30", site.gateway, site.browser)
    begin = time.monotonic()
    site.docker("start", site.gateway)
    site.docker("start", site.browser)
    site.wait_answer("the gateway started first", since=begin)


def engine_restarted(site: Site) -> None:
    """The engine ends and starts again, as in a reboot: both containers come back by their policy."""
    pid_file, command = os.environ.get("TELEBROWSER_ENGINE_PIDFILE"), os.environ.get("TELEBROWSER_ENGINE_COMMAND")
    if not pid_file or not command:
        say("engine restart: LEFT OUT, the engine was not started for this scenario (TELEBROWSER_ENGINE_PIDFILE and TELEBROWSER_ENGINE_COMMAND)")
        return
    pid = int(Path(pid_file).read_text())
    os.kill(pid, signal.SIGTERM)
    proc.until(lambda: proc.process(pid) is None, "the engine ended", 60)
    with open("/dev/null", "wb") as nothing:
        subprocess.Popen(json.loads(command), stdin=subprocess.DEVNULL, stdout=nothing, stderr=nothing, start_new_session=True)
    proc.until(lambda: site.docker("info", "-f", "{{.ServerVersion}}", check=False)[:1].isdigit(), "the engine answers", 60)
    site.wait_answer("engine restart")


async def rotation(site: Site, pages: Server) -> None:
    """A rotation under a running session: it goes on, the old token dies after the grace, and nothing restarts."""
    before = site.started()
    old = (site.secrets / "secret").read_text().strip()
    agent = await site.agent("shop")
    try:
        await agent.ok("browser_navigate", url=f"{pages.base}/who")
        done = await asyncio.to_thread(site.play, "telebrowser.telebrowser.rotate_tokens", "--diff", "-vvv", "--limit", "telebrowser_browser_hosts")
        assert (site.secrets / "secret").read_text().strip() != old, "the secret is the old one"
        proc.until(lambda: status(site, (site.secrets / "secret").read_text().strip()) == 200, "the gateway takes the new secret", 10)
        assert status(site, old) == 200, "the old token is refused within its grace"
        await agent.ok("browser_navigate", url=f"{pages.base}/who")
        await known(agent, "rotation")
        await asyncio.to_thread(leaks.nowhere, site, {"the rotation's output": done.stdout + done.stderr})
        previous = site.secrets / "secret.previous"
        past = time.time() - site.facts["grace_hours"] * 3600 - 1
        os.utime(previous, (past, past))
        proc.until(lambda: status(site, old) == 403, "the old token is refused after its grace", 10)
        await agent.ok("browser_snapshot")
    finally:
        await agent.close()
    assert site.started() == before, f"{before} became {site.started()}"
    site.renew_secret()
    say("rotation: the session went on, the old token died after its grace, nothing restarted")


def status(site: Site, secret: str) -> int:
    """The gateway's answer to a token of this secret."""
    return request(f"{site.url}/t/{token('shop', secret)}/status").status


def healed(site: Site) -> None:
    """A run after all of that puts right what is left, and the next one has nothing to do."""
    site.docker("rm", "-f", site.gateway)
    site.play("telebrowser.telebrowser.site")
    site.wait_answer("a run after the gateway was removed")
    done = site.play("telebrowser.telebrowser.site")
    assert not leaks.changes(done.stdout), leaks.changes(done.stdout)
    say("a run heals, and the run after it changes nothing")


def shared_network(site: Site) -> None:
    """The other arrangement: the gateway in the network of the browsers' container, which it loses whenever that one starts again."""
    options = ("telebrowser.telebrowser.site", "-e", "telebrowser_gateway_network=container")
    site.play(*options)
    site.wait_answer("the gateway in the browsers' network")
    begin = time.monotonic()
    site.docker("restart", site.browser)
    site.wait_answer("docker restart, in the browsers' network", since=begin)
    again = leaks.changes(site.play(*options).stdout)
    assert len(again) == 1 and "Run the container of the gateway" in again[0], f"only the gateway was to be made anew: {again}"
    assert not leaks.changes(site.play(*options).stdout), "it is made anew on every run"
    site.wait_answer("a run after it")
    site.play("telebrowser.telebrowser.site")
    site.wait_answer("back to a network of its own")


def main() -> None:
    """One after the other; each leaves the stack well."""
    site = Site(Path(sys.argv[1]))
    pages = Server(site.neighbour())
    try:
        asyncio.run(sign_in(site, pages))
        asyncio.run(restarted_under_an_agent(site, pages))
        crash(site)
        asyncio.run(signed_in(site, pages, "crash of the container"))
        gateway_first(site)
        asyncio.run(signed_in(site, pages, "the gateway started first"))
        engine_restarted(site)
        asyncio.run(rotation(site, pages))
        healed(site)
        shared_network(site)
        asyncio.run(signed_in(site, pages, "all of it"))
        site.remember()
    finally:
        pages.close()
        site.close()


if __name__ == "__main__":
    main()

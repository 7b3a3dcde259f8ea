"""``python -m tests.deployed.podman DESCRIPTION verify|events``: the same tests on a stack that podman runs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support import proc

from . import events, leaks, verify
from .pages import Server
from .site import Site, say


class PodmanSite(Site):
    """A deployed stack; what asks the engine asks podman."""

    def docker(self, *arguments: str, check: bool = True) -> str:
        """One command of podman, which takes those of Docker's client; its output."""
        done = subprocess.run(["podman", *arguments], capture_output=True, text=True, timeout=120)
        assert not check or done.returncode == 0, f"podman {' '.join(arguments)}: {done.stderr.strip()}"
        return done.stdout + ("" if check else done.stderr)

    def neighbour(self) -> str:
        """The address under which pages in the containers reach this machine."""
        return str(json.loads(self.docker("network", "inspect", self.browser))[0]["subnets"][0]["gateway"])


def sealed(site: Site) -> None:
    """The containers have the rights that they need and no more, and their ports are on loopback; podman describes that in its own words."""
    gateway, browser = site.inspect(site.gateway), site.inspect(site.browser)
    assert gateway["HostConfig"]["ReadonlyRootfs"] and not gateway["EffectiveCaps"], gateway["EffectiveCaps"]
    assert gateway["Config"]["User"] == f"{site.facts['puid']}:{site.facts['pgid']}"
    for container in (gateway, browser):
        assert not container["HostConfig"]["Privileged"]
        assert "no-new-privileges" in " ".join(container["HostConfig"]["SecurityOpt"])
        assert container["HostConfig"]["RestartPolicy"]["Name"] == "always"
        for bindings in (container["HostConfig"]["PortBindings"] or {}).values():
            # A port that the image only names has none.
            assert {binding["HostIp"] for binding in bindings or []} <= {"127.0.0.1"}, bindings
    assert any("seccomp" in option and "/seccomp-" in option for option in browser["HostConfig"]["SecurityOpt"]), browser["HostConfig"]["SecurityOpt"]
    assert str(site.secrets) not in str(browser["Mounts"]), "the token secret is mounted where the browsers are"


def reboot(site: Site) -> None:
    """Both ended as by a reboot, and started by what podman-restart.service runs."""
    site.docker("stop", "--time", "30", site.gateway, site.browser)
    site.docker("start", "--all", "--filter", "restart-policy=always")
    site.wait_answer("started as after a reboot")


def crash(site: Site) -> None:
    """The first process of the browsers' container dies, and everything in it."""
    pid = int(site.inspect(site.browser)["State"]["Pid"])
    os.kill(pid, signal.SIGKILL)
    proc.until(lambda: proc.process(pid) is None, "the container's first process is gone")
    site.wait_answer("crash of the container")


def run_events(site: Site, pages: Server) -> None:
    """One after the other; each leaves the stack well."""
    asyncio.run(events.sign_in(site, pages))
    asyncio.run(events.restarted_under_an_agent(site, pages))
    crash(site)
    asyncio.run(events.signed_in(site, pages, "crash of the container"))
    reboot(site)
    asyncio.run(events.signed_in(site, pages, "started as after a reboot"))
    site.docker("rm", "-f", site.gateway)
    site.play("telebrowser.telebrowser.site")
    site.wait_answer("a run after the gateway was removed")
    done = site.play("telebrowser.telebrowser.site")
    assert not leaks.changes(done.stdout), leaks.changes(done.stdout)
    say("a run heals, and the run after it changes nothing")


def run_verify(site: Site, pages: Server) -> None:
    """All of it, once."""
    sealed(site)
    site.wait_answer("verify")
    asyncio.run(verify.agents_work(site, pages))
    verify.view_asks(site)
    verify.owners(site)
    leaks.check(site)


def main() -> None:
    """The part that the second argument names."""
    site = PodmanSite(Path(sys.argv[1]))
    pages = Server(site.neighbour())
    try:
        if sys.argv[2] == "verify":
            run_verify(site, pages)
        else:
            run_events(site, pages)
    finally:
        pages.close()
        site.close()


if __name__ == "__main__":
    main()

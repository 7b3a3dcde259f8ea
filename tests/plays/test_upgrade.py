"""site, upgrade and uninstall on a real engine: browsers are closed in order, logins are kept, nothing is left behind."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import scratch_dir
from tests.containers.engine import docker, images
from tests.support.pages import Pages
from tests.support.plays import Played, good, play, refused
from tests.support.stack import free_port, request, token

NAME = "tb-upgrade-test"
PROJECTS = ("shop", "blog")
TIMEOUT = 500


class Host:
    """One browser host of an inventory, on this machine's engine."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.data, self.config = place / "data", place / "config"
        self.port = free_port()
        self.inventory = place / "inventory.yml"
        settings = {
            "ansible_connection": "local",
            "telebrowser_browser_name": NAME,
            "telebrowser_gateway_name": f"{NAME}-gateway",
            "telebrowser_port": self.port,
            "telebrowser_people_port": free_port(),
            "telebrowser_view_port": free_port(),
            "telebrowser_data_dir": str(self.data),
            "telebrowser_config_dir": str(self.config),
            "telebrowser_browser_image": "telebrowser-test/chromium-standin",
            "telebrowser_browser_image_tag": "1",
            "telebrowser_browser_image_pull": False,
            "telebrowser_gateway_base_image": "telebrowser-test/python-base:1",
            "telebrowser_gateway_build_network": "host",
        }
        self.inventory.write_text(yaml.safe_dump({"telebrowser_browser_hosts": {"hosts": {"box": settings}}}))

    def play(self, name: str, *options: str, **settings: Any) -> Played:
        """One of the collection's playbooks."""
        return play(f"telebrowser.telebrowser.{name}", self.inventory, self.place, *options, settings=settings, timeout=TIMEOUT)

    def env(self) -> dict[str, str]:
        """An agent host's environment."""
        folder = self.place / "agent" / ".config" / "telebrowser"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "url").write_text(f"http://127.0.0.1:{self.port}\n")
        (folder / "secret").write_text((self.config / "secrets" / "secret").read_text())
        (folder / "secret").chmod(0o600)
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.place / "agent"), "LANG": "C.UTF-8"}

    def state(self, project: str) -> str:
        """The state of a project's browser."""
        secret = (self.config / "secrets" / "secret").read_text().strip()
        return str(request(f"http://127.0.0.1:{self.port}/t/{token(project, secret)}/status").json["state"])

    def started(self) -> str:
        """When the container of the browsers was started, and which one it is."""
        return docker("inspect", "-f", "{{.Id}} {{.State.StartedAt}}", NAME).strip()


@pytest.fixture
def host() -> Iterator[Host]:
    """The host; what is left on the engine is removed."""
    images()
    place = scratch_dir("upgrade")
    place.chmod(0o755)
    yield Host(place)
    for name in (f"{NAME}-gateway", NAME):
        docker("rm", "-f", name, check=False)
    docker("network", "rm", NAME, check=False)
    shutil.rmtree(place)


def downtimes(played: Played) -> dict[str, float]:
    """The seconds that the playbook prints for each project."""
    found = re.search(r"box: (.*?)\"", played.output)
    assert found, played.output[-2000:]
    return {name: float(seconds) for name, seconds in re.findall(r"(\w+) ([0-9.]+) s\b", found[1])}


@pytest.mark.timeout(1500)
async def test_from_nothing_over_an_upgrade_to_nothing(host: Host, clients: Callable[..., Any]) -> None:
    good(host.play("site"))
    pages = Pages(neighbour())
    try:
        await _over_an_upgrade_to_nothing(host, clients, pages)
    finally:
        pages.close()


def neighbour() -> str:
    """The address under which pages in the container reach this machine."""
    return docker("network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", NAME).strip()


async def _over_an_upgrade_to_nothing(host: Host, clients: Callable[..., Any], pages: Pages) -> None:
    login = pages.add("login.html", "<title>in</title>", set_cookie="sid=kept; Max-Age=9999; Path=/")
    for project in PROJECTS:
        agent = await clients("mcp", "--project", project, env=host.env(), cwd=host.place)
        await agent.ok("browser_navigate", url=login)
    before = host.started()

    # Nothing is new: nothing is closed.
    played = good(host.play("upgrade"))
    assert played.changed == 0 and "no browser was closed" in played.output
    assert host.started() == before

    # A change of the container, while agents are connected.
    changed = {"telebrowser_browser_shm_size": "900m"}
    refused(host.play("upgrade", telebrowser_upgrade_busy="refuse", **changed), "agents are connected to")
    assert host.started() == before
    played = good(host.play("upgrade", "-vvv", "--diff", **changed))
    assert host.started() != before
    times = downtimes(played)
    print("seconds without a browser:", times)
    assert sorted(times) == sorted(PROJECTS) and all(0 < seconds < 60 for seconds in times.values())
    secret = (host.config / "secrets" / "secret").read_text().strip()
    assert secret not in played.output and not any(token(project, secret) in played.output for project in PROJECTS)

    whoami = pages.add("whoami.html", "<title>who</title>")
    for project in PROJECTS:
        assert host.state(project) == "up"
        agent = await clients("mcp", "--project", project, env=host.env(), cwd=host.place)
        await agent.ok("browser_navigate", url=whoami)
        assert (await agent.ok("browser_evaluate", expression="document.cookie")).says("sid=kept")
        await agent.close()

    # The data and the secret stay, until it is said that they go.
    good(host.play("uninstall"))
    assert docker("ps", "-aq", "--filter", f"name={NAME}").strip() == ""
    assert docker("images", "-q", f"{NAME}-gateway").strip() == ""
    assert (host.data / "projects" / "shop" / "profile").is_dir() and (host.config / "secrets" / "secret").read_text().strip() == secret
    assert good(host.play("uninstall")).changed == 0
    good(host.play("uninstall", telebrowser_remove_data=True))
    assert not host.data.exists() and not host.config.exists()

"""The containers' lives: restarts, crashes, orderly stops; each heals without anybody doing anything, and logins are kept."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime

import pytest

from tests.support import proc
from tests.support.pages import Pages
from tests.support.stack import request

from .deployment import STOP_SECONDS, Deployment
from .engine import docker, inspect, logs

PROJECT = "life"
HEALED_SECONDS = 20.0


@pytest.fixture(scope="module")
def living() -> Iterator[Deployment]:
    """A deployment that these tests restart; each leaves it running."""
    made = Deployment()
    try:
        yield made.start()
    finally:
        made.remove()


async def visit(deployment: Deployment, url: str) -> str:
    """What an agent of the project reads at an address."""
    agent = await deployment.agent(PROJECT)
    try:
        await agent.ok("browser_navigate", url=url)
        return (await agent.ok("browser_get_text")).text
    finally:
        await agent.close()


@pytest.fixture
async def logged_in(living: Deployment, pages: Pages) -> AsyncIterator[Deployment]:
    """The project has logged in somewhere a moment ago, and is still logged in at the test's end."""
    await visit(living, f"{pages.base}/set")
    yield living
    living.wait_ready()
    assert "login=yes" in await visit(living, f"{pages.base}/who")


def started_at(name: str) -> datetime:
    return datetime.fromisoformat(inspect(name)["State"]["StartedAt"][:26].rstrip("Z"))


def same_network(deployment: Deployment) -> bool:
    """Whether both containers run in one network namespace."""
    try:
        first, second = (os.readlink(f"/proc/{deployment.main_pid(name)}/ns/net") for name in (deployment.name, deployment.gateway))
    except OSError:
        return False
    return first == second


def heals(deployment: Deployment, began: float, what: str) -> None:
    """The gateway's port answers again soon enough, and then everything does."""
    proc.until(lambda: answers(deployment) and same_network(deployment), "the port answers", HEALED_SECONDS - (time.monotonic() - began))
    port = time.monotonic() - began
    deployment.wait_ready()
    print(f"{what}: the port answered after {port:.1f} s, everything after {time.monotonic() - began:.1f} s")


def answers(deployment: Deployment) -> bool:
    try:
        return request(deployment.url + "/healthz", timeout=2).status == 200
    except OSError:
        return False


async def test_the_browsers_container_restarts(logged_in: Deployment) -> None:
    before = started_at(logged_in.gateway)
    docker("restart", logged_in.name)
    heals(logged_in, time.monotonic(), "docker restart")
    assert same_network(logged_in) and started_at(logged_in.gateway) > before
    assert "ending, to be started again where it can be reached" in logs(logged_in.gateway)


async def test_process_1_of_the_browsers_container_is_killed(living: Deployment, pages: Pages) -> None:
    """Logins older than the half minute after which Chromium writes them survive even that."""
    await visit(living, f"{pages.base}/set")
    before = living.main_pid()
    os.kill(before, signal.SIGKILL)
    began = time.monotonic()
    proc.until(lambda: living.main_pid() not in (0, before), "the engine starts it again", 10)
    heals(living, began, "process 1 killed")
    assert same_network(living)
    assert await visit(living, f"{pages.base}/set") is not None


async def test_the_gateways_process_is_killed(logged_in: Deployment) -> None:
    browsers = logged_in.browsers()
    before = logged_in.main_pid(logged_in.gateway)
    os.kill(before, signal.SIGKILL)
    heals(logged_in, time.monotonic(), "gateway killed")
    assert logged_in.main_pid(logged_in.gateway) not in (0, before)
    # Browsers outlive it.
    assert logged_in.browsers()[PROJECT] == browsers[PROJECT]


async def test_an_orderly_stop_keeps_what_is_a_moment_old(logged_in: Deployment) -> None:
    began = time.monotonic()
    docker("stop", logged_in.name)
    seconds = time.monotonic() - began
    print(f"docker stop {seconds:.1f} s")
    assert seconds < STOP_SECONDS and inspect(logged_in.name)["State"]["ExitCode"] in (0, 143)
    assert f"[{PROJECT}] closed" in logged_in.supervisor_log()
    docker("start", logged_in.name)
    heals(logged_in, time.monotonic(), "docker stop and start")


async def test_both_are_stopped_and_started(logged_in: Deployment) -> None:
    """As when the machine is shut down in order."""
    docker("stop", logged_in.gateway, logged_in.name)
    # Without the network that it shares it cannot be started; that is the engine's rule.
    assert "cannot join network" in docker_error("start", logged_in.gateway)
    docker("start", logged_in.name)
    docker("start", logged_in.gateway)
    heals(logged_in, time.monotonic(), "both stopped and started")


def docker_error(*arguments: str) -> str:
    """Why a command of Docker's client is refused."""
    with pytest.raises(AssertionError) as caught:
        docker(*arguments)
    return str(caught.value)


async def test_the_desktop_is_killed(logged_in: Deployment) -> None:
    """Chromium cannot live without it. It comes back, and so does what was wanted."""
    agent = await logged_in.agent(PROJECT)
    try:
        before = logged_in.browsers()[PROJECT]
        assert logged_in.http("POST", "hold?minutes=5", PROJECT).status == 200
        logged_in.run("sh", "-c", "kill -9 $(pidof labwc)")
        proc.until(lambda: logged_in.browsers().get(PROJECT) not in (None, before), f"the browser comes back; {logged_in.supervisor_log()[-2000:]}", 40)
        assert "the display was lost" in logged_in.supervisor_log()
        proc.until(lambda: logged_in.verb("focus", "--project", PROJECT).returncode == 0, "its window can be raised", 20)
    finally:
        await agent.close()


async def test_the_view_crashes(logged_in: Deployment) -> None:
    """The desktop inside of it would stay black; browsers are closed in order before it is started again."""
    assert logged_in.http("POST", "hold?minutes=5", PROJECT).status == 200
    before = logged_in.browsers()[PROJECT]
    began = time.monotonic()
    logged_in.run("pkill", "-9", "-f", "/opt/telebrowser/view.py")
    proc.until(lambda: logged_in.browsers().get(PROJECT) not in (None, before), f"the browser comes back; {logged_in.tail()}", 60)
    logged_in.wait_ready()
    print(f"view and browser back {time.monotonic() - began:.1f} s after the crash")
    assert logged_in.supervisor_log().count(f"[{PROJECT}] closed") >= 1
    proc.until(lambda: logged_in.verb("focus", "--project", PROJECT).returncode == 0, "its window can be raised", 20)


def test_health_turns_red(deploy: Callable[..., Deployment]) -> None:
    deployment = deploy()
    deployment.start_browser()
    healthy = ["python3", "/opt/telebrowser/health.py"]
    proc.until(lambda: deployment.run(*healthy, check=False).strip() == "ok", "it is healthy", 40)
    deployment.run("s6-svc", "-wd", "-d", "/run/service/svc-de")
    deployment.run("pkill", "-x", "labwc", check=False)
    proc.until(lambda: not deployment.run("pgrep", "-x", "labwc", check=False), "the desktop ends", 10)
    assert "the desktop takes no windows" in deployment.run(*healthy, check=False)
    deployment.run("s6-svc", "-wd", "-T", "25000", "-d", "/run/service/svc-telebrowser")
    assert "supervisor has not" in deployment.run(*healthy, check=False)

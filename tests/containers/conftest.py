"""One deployment for the tests that leave it as they found it; others make their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.pages import Pages

from .deployment import Deployment
from .engine import docker, require_engine


@pytest.fixture(scope="session")
def pages() -> Iterator[Pages]:
    """The page server, on the address at which containers reach this machine."""
    require_engine()
    server = Pages(docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}").strip() or "172.17.0.1")
    yield server
    server.close()


@pytest.fixture(scope="session")
def deployed() -> Iterator[Deployment]:
    """A running deployment."""
    require_engine()
    made = Deployment()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def deploy() -> Iterator[Callable[..., Deployment]]:
    """Makes deployments of a test's own, not started; they are removed at its end."""
    require_engine()
    made: list[Deployment] = []

    def make(**environment: str) -> Deployment:
        made.append(Deployment(**environment))
        return made[-1]

    yield make
    for deployment in made:
        deployment.remove()

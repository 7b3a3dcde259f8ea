"""The browsers' image by its digest, from a real registry on loopback: the right one is pulled, a wrong one is refused with what to do."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.conftest import scratch_dir
from tests.support import proc
from tests.support.plays import Played, good, play, refused
from tests.support.stack import free_port, request

from .engine import docker, require_engine

REGISTRY = "/usr/bin/docker-registry"
NAME = "telebrowser-test/from-registry"
SECONDS = 20.0
pytestmark = pytest.mark.timeout(300)


class Registry(NamedTuple):
    """A registry with one image, named ``image`` as a host writes it, of this ``digest``; ``place`` is a folder for plays."""

    image: str
    digest: str
    place: Path

    def install(self, engine: str, digest: str) -> Played:
        """The install phase of role browser, which gets the image."""
        playbook = self.place / "play.yml"
        # podman takes a registry without TLS only when it is told so; Docker does on loopback.
        environment = {"CONTAINERS_REGISTRIES_CONF": str(self.place / "registries.conf")}
        playbook.write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "environment": environment, "roles": ["telebrowser.telebrowser.browser"]}]))
        settings = {
            "telebrowser_engine": engine,
            "telebrowser_config_dir": str(self.place / "config"),
            "telebrowser_data_dir": str(self.place / "data"),
            "telebrowser_browser_image": self.image,
            "telebrowser_browser_image_digest": digest,
            "ansible_connection": "local",
        }
        return play(playbook, "here,", self.place, "--tags", "telebrowser_install", settings=settings)


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """Debian's docker-registry with an image that was pushed to it and is not here."""
    require_engine()
    assert Path(REGISTRY).exists(), "these tests need a real registry; apt-get install docker-registry"
    place = scratch_dir("registry")
    address = f"127.0.0.1:{free_port()}"
    settings = {"version": 0.1, "storage": {"filesystem": {"rootdirectory": str(place / "images")}}, "http": {"addr": address}}
    (place / "config.yml").write_text(yaml.safe_dump(settings))
    (place / "registries.conf").write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
    with open(place / "log", "wb") as log:
        process = subprocess.Popen([REGISTRY, "serve", str(place / "config.yml")], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        proc.until(lambda: process.poll() is not None or answers(address), "the registry answers", SECONDS)
        assert process.poll() is None, (place / "log").read_text()[-2000:]
        yield Registry(f"{address}/{NAME}", push(f"{address}/{NAME}:1", place), place)
    finally:
        process.terminate()
        process.wait(SECONDS)
        shutil.rmtree(place)


def answers(address: str) -> bool:
    """Whether the registry speaks."""
    try:
        return request(f"http://{address}/v2/", timeout=5).status == 200
    except OSError:
        return False


def push(tag: str, place: Path) -> str:
    """Make an image of one file, push it and forget it; its digest."""
    context = place / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    docker("build", "--quiet", "--tag", tag, str(context))
    pushed = docker("push", tag)
    docker("rmi", tag)
    digest = re.search(r"digest: (sha256:[0-9a-f]{64})", pushed)
    assert digest, pushed
    return digest[1]


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_the_digest_decides(registry: Registry, engine: str) -> None:
    """Another digest of an image that is there is a typing error or a tag that moved on: the role says which variable to look at."""
    reference = f"{registry.image}@{registry.digest}"
    wrong = "sha256:" + ("0" if registry.digest[7] != "0" else "1") + registry.digest[8:]
    try:
        played = refused(registry.install(engine, wrong), f"{registry.image}@{wrong} cannot be pulled")
        words = f"check telebrowser_browser_image and telebrowser_browser_image_digest against what {engine} pull {registry.image} prints"
        refused(played, words)
        assert "manifest unknown" in played.output, "the registry's own word is lost"
        assert good(registry.install(engine, registry.digest)).changed > 0
        held = subprocess.run([engine, "image", "inspect", reference], capture_output=True, text=True, timeout=60, check=False)
        assert held.returncode == 0 and registry.digest in held.stdout, held
        assert good(registry.install(engine, registry.digest)).changed == 0
    finally:
        subprocess.run([engine, "rmi", reference], capture_output=True, timeout=60, check=False)
        shutil.rmtree(registry.place / "config", ignore_errors=True)

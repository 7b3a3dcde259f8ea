"""The Docker Engine and the images that the tests run on."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER_IMAGE = "telebrowser-test/chromium-standin:1"
PYTHON_IMAGE = "telebrowser-test/python-base:1"
GATEWAY_IMAGE = "telebrowser-test/gateway"
BUILD_SECONDS = 900
NO_ENGINE = "no Docker Engine answers, and these tests need a real one; start it: apt-get install docker.io mmdebstrap && dockerd >/tmp/dockerd.log 2>&1 &"


def docker(*arguments: str, check: bool = True, timeout: float = 120) -> str:
    """What a command of Docker's client prints."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    assert not check or done.returncode == 0, f"docker {' '.join(arguments[:3])}: {done.stderr.strip()[-2000:]}"
    return done.stdout


def logs(name: str, *options: str) -> str:
    """What a container wrote, to either of its outputs."""
    return subprocess.run(["docker", "logs", *options, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False).stdout


def inspect(name: str) -> dict[str, Any]:
    """What the engine knows of a container or image."""
    found: list[dict[str, Any]] = json.loads(docker("inspect", name))
    return found[0]


@functools.cache
def require_engine() -> None:
    """Fail, with what to do, when no engine answers."""
    client = shutil.which("docker")
    if client is None or subprocess.run([client, "version"], capture_output=True, timeout=30, check=False).returncode != 0:
        pytest.fail(NO_ENGINE, pytrace=False)


@functools.cache
def images() -> None:
    """Build the images that stand in for those of a registry; a second's work when they are there."""
    require_engine()
    done = subprocess.run([str(ROOT / "tests/standin-image/build.sh")], capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@functools.cache
def gateway_image() -> str:
    """The gateway's image, built from files/ as the role builds it; its tag tells its content."""
    images()
    with tempfile.TemporaryDirectory(prefix="tb-context-") as folder:
        context = Path(folder)
        shutil.copy(ROOT / "files/gateway/Dockerfile", context)
        source = ROOT / "files/telebrowser"
        shutil.copytree(source, context / "telebrowser", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
        digest = hashlib.sha256(docker("image", "inspect", "--format", "{{.Id}}", PYTHON_IMAGE).encode())
        for path in sorted(path for path in context.rglob("*") if path.is_file()):
            digest.update(str(path.relative_to(context)).encode() + path.read_bytes())
        tag = f"{GATEWAY_IMAGE}:{digest.hexdigest()[:12]}"
        if not docker("images", "--quiet", tag).strip():
            arguments = ["build", "--quiet", "--network", "host", "--build-arg", f"BASE_IMAGE={PYTHON_IMAGE}", "--tag", tag, str(context)]
            done = subprocess.run(
                ["docker", *arguments],
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                check=False,
                env={"DOCKER_BUILDKIT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin"},
            )
            assert done.returncode == 0, done.stderr[-3000:]
    return tag

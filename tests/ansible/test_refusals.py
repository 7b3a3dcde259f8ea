"""What cannot work is refused before anything is changed, and each refusal says what to do.

Every case is a host of one inventory, so that all of them cost one run of the site playbook.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .playing import ANSIBLE, ROOT, collections

DIGEST = "sha256:" + "0" * 64
GOOD = {"telebrowser_browser_image": "telebrowser-test/chromium-standin", "telebrowser_browser_image_tag": "1", "telebrowser_browser_image_pull": False}

Case = tuple[dict[str, Any], str]

# Settings beside those of a good host ("{…}" is filled in by the fixture) → the words of the refusal.
PREFLIGHT: dict[str, Case] = {
    "system_folder": ({"telebrowser_data_dir": "/srv"}, "must be absolute paths, folders of their own"),
    "nested": ({"telebrowser_data_dir": "{place}/nested", "telebrowser_config_dir": "{place}/nested/config"}, "not inside each other"),
    "root_as_owner": ({"telebrowser_puid": 0}, "root may not own"),
    "same_port": ({"telebrowser_people_port": "{free}", "telebrowser_view_port": "{free}"}, "must differ"),
    "port_taken": (
        {"telebrowser_port": "{taken}"},
        r"Port {taken} on 127\.0\.0\.1 cannot be had .*process {pid}\); stop that program, or set telebrowser_port",
    ),
    "file_in_place": ({"telebrowser_data_dir": "{place}/file"}, "exists and is no directory"),
    "in_memory": ({"telebrowser_data_dir": "/dev/shm/telebrowser-refusals"}, r"is on tmpfs \(mounted at /dev/shm\): it is memory, and every login is gone"),
    "disk_not_mounted": ({"telebrowser_host_require_mount": True}, "lies on the root disk.*mount its disk"),
    "no_room": ({"telebrowser_host_free_mb": 10**9}, "MB left on .* make room, or set telebrowser_data_dir"),
    "files_of_root": (
        {"telebrowser_data_dir": "{place}/ofroot"},
        r"projects/shop below .* belong to user 0, but telebrowser_puid is 1234; .*chown -R 1234:1235",
    ),
    "no_docker": (
        {"telebrowser_docker_host": "unix:///nowhere/docker.sock"},
        r"Docker does not answer at unix:///nowhere/docker\.sock .*apt install docker\.io",
    ),
    "no_requests": ({"ansible_python_interpreter": "{bare}"}, "has no module requests.*apt install python3-requests.*ansible_python_interpreter"),
    "short_secret": ({"telebrowser_secrets_value": "too short"}, "telebrowser_secrets_value is shorter than 16 characters.*openssl rand"),
    "two_lines": ({"telebrowser_secrets_view_password": "long enough\nbut two lines"}, "telebrowser_secrets_view_password must be one line"),
    "encoder": ({"telebrowser_browser_encoder": "jpeg,x264enc"}, "telebrowser_browser_encoder is jpeg,x264enc; it may hold jpeg, h264enc"),
    "stop_too_short": ({"telebrowser_browser_stop_seconds": 20}, "must be longer than telebrowser_browser_grace_milliseconds"),
    "no_image": (
        {"telebrowser_browser_image_tag": ""},
        "Set telebrowser_browser_image_digest to the image that you tried: docker pull telebrowser-test/chromium-standin",
    ),
    "no_digest": ({"telebrowser_browser_image_digest": "sha256:beef"}, "must be sha256: and 64 hexadecimal digits; it is sha256:beef"),
    "unknown_engine": ({"telebrowser_engine": "lxc"}, "telebrowser_engine.*docker, podman, systemd"),
}
# --tags alone, where nothing was deployed.
CONFIGURE: dict[str, Case] = {"fresh": ({}, "program files of this version are not at .*; play without --tags first")}
INSTALL: dict[str, Case] = {
    "not_there": ({"telebrowser_browser_image": "telebrowser-test/nothing"}, "is not on this host and telebrowser_browser_image_pull is false"),
    "wrong_digest": (
        {"telebrowser_browser_image": "127.0.0.1:1/chromium", "telebrowser_browser_image_digest": DIGEST, "telebrowser_browser_image_pull": True},
        rf"127\.0\.0\.1:1/chromium@{DIGEST} cannot be pulled .*check telebrowser_browser_image and telebrowser_browser_image_digest",
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the cases need on the disk."""
    assert os.geteuid() == 0, "run these tests as root: they make files of other users"
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "file").write_text("")
    (folder / "ofroot" / "projects" / "shop").mkdir(parents=True)
    venv.create(folder / "bare", with_pip=False)
    return folder


@pytest.fixture(scope="module")
def words(place: Path) -> Iterator[dict[str, Any]]:
    """What stands for the braces in the cases."""
    with socket.socket() as taken, socket.socket() as free:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        yield {"place": str(place), "bare": str(place / "bare" / "bin" / "python"), "taken": taken.getsockname()[1], "free": port, "pid": os.getpid()}


def filled(value: Any, words: dict[str, Any]) -> Any:
    """A setting with its braces filled."""
    return re.sub(r"\{(\w+)\}", lambda found: str(words[found.group(1)]), value) if isinstance(value, str) else value


def play(place: Path, words: dict[str, Any], cases: dict[str, Case], tag: str) -> dict[str, str]:
    """One run over a host for each case: what the host that failed said."""
    hosts = {}
    for number, (name, (settings, _)) in enumerate(cases.items()):
        base = {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(ANSIBLE / "python"),
            "telebrowser_data_dir": f"{place}/{tag}-{name}/data",
            "telebrowser_config_dir": f"{place}/{tag}-{name}/config",
            "telebrowser_browser_name": f"telebrowser-{name}".replace("_", "-"),
            "telebrowser_gateway_name": f"telebrowser-{name}-gateway".replace("_", "-"),
            "telebrowser_puid": 1234,
            "telebrowser_pgid": 1235,
            **{f"telebrowser_{kind}port": 26000 + 3 * number + offset for offset, kind in enumerate(("", "people_", "view_"))},
        }
        hosts[name] = {**base, **GOOD, **{key: filled(value, words) for key, value in settings.items()}}
    inventory = place / f"{tag}.json"
    inventory.write_text(json.dumps({"telebrowser_browser_hosts": {"hosts": hosts}}))
    env = {
        "PATH": f"{ANSIBLE}:{os.environ['PATH']}",
        "HOME": str(place),
        "LANG": "C.UTF-8",
        "ANSIBLE_COLLECTIONS_PATH": collections(),
        "ANSIBLE_CONFIG": str(ROOT / "tests" / "ansible" / "ansible.cfg"),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_FORKS": "4",
    }
    command = [ANSIBLE / "ansible-playbook", "-i", inventory, "telebrowser.telebrowser.site", "--tags", f"telebrowser_{tag}"]
    done = subprocess.run(command, env=env, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170)
    assert done.stdout.lstrip().startswith("{"), done.stdout[:1000] + done.stderr[-2000:]
    told: dict[str, str] = {}
    for played in json.loads(done.stdout)["plays"]:
        for task in played["tasks"]:
            for host, result in task["hosts"].items():
                if result.get("failed"):
                    told[host] = " ".join([str(result.get("msg")), *map(str, (item.get("msg") for item in result.get("results", []) if item.get("failed")))])
    return told


@pytest.fixture(scope="module")
def told(place: Path, words: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What each host said, by the phase that was asked for."""
    phases = {"preflight": PREFLIGHT, "configure": CONFIGURE, "install": INSTALL}
    return {tag: play(place, words, cases, tag) for tag, cases in phases.items()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "tag, name", [(tag, name) for tag, cases in (("preflight", PREFLIGHT), ("configure", CONFIGURE), ("install", INSTALL)) for name in cases]
)
def test_it_says_what_to_do(told: dict[str, dict[str, str]], words: dict[str, Any], tag: str, name: str) -> None:
    cases = {"preflight": PREFLIGHT, "configure": CONFIGURE, "install": INSTALL}[tag]
    assert name in told[tag], f"{name} was not refused; refused were {sorted(told[tag])}"
    wanted = filled(cases[name][1], words)
    assert re.search(wanted, told[tag][name], re.S), told[tag][name]


def test_a_refused_host_is_left_as_it_was(told: dict[str, dict[str, str]], place: Path) -> None:
    assert not [path for path in place.glob("preflight-*")], "a preflight made something"
    assert (place / "ofroot" / "projects").stat().st_uid == 0, "the preflight changed an owner"


def test_secrets_are_in_no_refusal(told: dict[str, dict[str, str]]) -> None:
    assert "too short" not in str(told)

"""What is mounted into the browser container: its seccomp profile, policies, scripts and what its README says of them."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = ROOT / "files" / "browser"
TREE = BROWSER / "root"
POLICIES = json.loads((TREE / "etc/chromium/policies/managed/telebrowser.json").read_text())
FILES = sorted(path for path in TREE.rglob("*") if path.is_file())
NEW_USER, NEW_PID, NEW_NET, NEW_MOUNT, NEW_UTS, NEW_IPC, NEW_CGROUP = 0x10000000, 0x20000000, 0x40000000, 0x20000, 0x4000000, 0x8000000, 0x2000000


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


derive = load(BROWSER / "seccomp" / "derive.py")
PROFILE: dict[str, Any] = json.loads((BROWSER / "seccomp.json").read_text())


def test_the_profile_is_dockers_and_nothing_but_the_added_rows() -> None:
    rows = [row for _, row in derive.ADDED]
    base = {**PROFILE, "syscalls": PROFILE["syscalls"][: -len(rows)]}
    assert derive.digest(base) == derive.BASE["sha256"], "run: files/browser/seccomp/derive.py default.json > files/browser/seccomp.json"
    assert derive.derive(base) == PROFILE


def allowed(name: str, *arguments: int) -> bool:
    """Whether a call passes one of the added rows, on this kind of machine."""
    for _, row in derive.ADDED:
        if name in row["names"] and "includes" not in row:
            tests = [(arguments[test["index"]] & test["value"]) == test["valueTwo"] for test in row.get("args", [])]
            if all(tests):
                return True
    return False


@pytest.mark.parametrize("call", ["clone", "unshare"])
@pytest.mark.parametrize(
    ("flags", "passes"),
    [
        (NEW_USER | NEW_PID | NEW_NET, True),
        (NEW_USER | NEW_PID | NEW_UTS | NEW_MOUNT, True),
        (NEW_PID, True),
        (NEW_USER | NEW_CGROUP, False),
        (NEW_USER | NEW_IPC, False),
        (NEW_CGROUP, False),
    ],
)
def test_namespaces_that_are_needed(call: str, flags: int, passes: bool) -> None:
    assert allowed(call, flags) is passes


@pytest.mark.parametrize(
    "call", ["setns", "bpf", "perf_event_open", "open_tree", "move_mount", "fsopen", "mount_setattr", "keyctl", "sethostname", "clone3", "umount"]
)
def test_what_nothing_needs_is_not_added(call: str) -> None:
    assert not allowed(call, 0)


def test_every_added_row_has_a_reason() -> None:
    assert all(len(reason) > 20 and row["action"] == "SCMP_ACT_ALLOW" for reason, row in derive.ADDED)


@pytest.mark.parametrize("scheme", ["file", "chrome", "devtools", "view-source"])
def test_schemes_are_blocked(scheme: str) -> None:
    assert f"{scheme}:*" in POLICIES["URLBlocklist"] or f"{scheme}://*" in POLICIES["URLBlocklist"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::ffff:7f00:1]"])
def test_the_containers_own_ports_are_blocked(host: str) -> None:
    assert host in POLICIES["URLBlocklist"] and POLICIES["LoopbackNetworkBlockedForUrls"] == ["*"]


def test_nothing_keeps_passwords_or_signs_in() -> None:
    assert POLICIES["SyncDisabled"] is True and POLICIES["BrowserSignin"] == 0 and POLICIES["PasswordManagerEnabled"] is False
    assert POLICIES["PromptForDownloadLocation"] is False


@pytest.mark.parametrize("path", [path for path in FILES if path.read_bytes().startswith(b"#!") and "desktop" not in path.parts], ids=lambda path: path.name)
def test_scripts_can_be_run_and_are_understood(path: Path) -> None:
    assert path.stat().st_mode & 0o111 == 0o111
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_every_file_is_mounted() -> None:
    """Each file of the tree lies at or below a source that the README lists."""
    text = (BROWSER / "README.md").read_text().partition("## Mounts")[2]
    sources = [TREE / source for source in re.findall(r"\| `BROWSER/([^`]+)` \|", text)]
    assert sources and all(source.exists() for source in sources)
    assert not [path for path in FILES if not any(path == source or source in path.parents for source in sources)]


def test_no_secret_has_a_variable() -> None:
    text = (BROWSER / "README.md").read_text()
    variables = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", text.partition("## Environment")[2].partition("## The container")[0]))
    assert {"PUID", "TELEBROWSER_DISPLAY", "S6_SERVICES_GRACETIME"} <= variables
    assert not variables & {"PASSWORD", "CUSTOM_USER", "TELEBROWSER_SECRET", "SELKIES_BASIC_AUTH_PASSWORD", "SELKIES_MASTER_TOKEN"}

"""What a browser in the container can see and do: its own sandbox, the walls around it, and what the seccomp profile lets through."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support import proc
from tests.support.pages import Pages

from .deployment import Deployment

MINE, OTHER = "mine", "other"


def namespace(pid: int, kind: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def status(pid: int, name: str) -> str:
    return next(line.split(":")[1].strip() for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name + ":"))


@pytest.fixture(scope="module")
def browsers(deployed: Deployment, pages: Pages) -> dict[str, int]:
    """The browsers of two projects; by truth, not by what the supervisor says."""
    for project in (MINE, OTHER):
        assert deployed.http("POST", "start", project).status == 200
        assert deployed.http("POST", "hold?minutes=30", project).status == 200
    return proc.until(lambda: deployed.browsers() if {MINE, OTHER} <= set(deployed.browsers()) else {}, "both browsers run", 40)


def test_the_gateway_is_told(deployed: Deployment, browsers: dict[str, int]) -> None:
    told = deployed.status(MINE)
    assert "without walls" not in str(told) and "sandbox" not in str(told.get("warnings", "")), told
    assert deployed.run("sh", "-c", "command -v bwrap", check=False) == ""


def test_chromiums_sandbox_is_on(deployed: Deployment, browsers: dict[str, int]) -> None:
    main = browsers[MINE]
    assert "--no-sandbox" not in proc.read_text(f"/proc/{main}/cmdline")
    renderers = [row for row in proc.descendants([main]) if "--type=renderer" in row.cmdline]
    assert renderers
    for row in renderers:
        assert status(row.pid, "Seccomp") == "2" and int(status(row.pid, "Seccomp_filters")) >= 2
        assert namespace(row.pid, "user") != namespace(main, "user")
        assert namespace(row.pid, "pid") != namespace(main, "pid") and namespace(row.pid, "net") != namespace(main, "net")


def test_the_walls_are_up(deployed: Deployment, browsers: dict[str, int]) -> None:
    outside = deployed.main_pid()
    for kind in ("user", "mnt", "pid", "uts"):
        assert len({namespace(pid, kind) for pid in (outside, browsers[MINE], browsers[OTHER])}) == 3, kind
    assert status(browsers[MINE], "CapEff").strip("0") == "" and status(browsers[MINE], "NoNewPrivs") == "1"


def test_a_browser_sees_its_own_project_only(deployed: Deployment, browsers: dict[str, int]) -> None:
    root = Path(f"/proc/{browsers[MINE]}/root")
    assert [path.name for path in (root / "data/projects").iterdir()] == [MINE]
    assert {path.name for path in (root / "data").iterdir()} == {"projects"}
    assert not (root / "telebrowser-view").exists() and not (root / "opt").exists() and not (root / "run/s6").exists() and not (root / "root").exists()
    assert {path.name for path in (root / "config").rglob("*")} == {".XDG", "wayland-0"}
    # What in /etc is closed is covered by a device that cannot be opened there, whoever asks.
    for name in ("nginx/.htpasswd", "shadow"):
        with pytest.raises(PermissionError):
            (root / "etc" / name).read_bytes()


# Which parts of which processes can be opened from inside of walls, and what those are called.
LOOK = """
import json, os
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    name = open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ")
    for part in ("environ", "maps", "mem", "root/data", "cwd/.", "fd/0", "ns/net"):
        try:
            if part == "ns/net":
                os.readlink(f"/proc/{pid}/{part}")
            elif os.path.isdir(f"/proc/{pid}/{part}"):
                os.listdir(f"/proc/{pid}/{part}")
            else:
                open(f"/proc/{pid}/{part}", "rb").close()
        except OSError:
            continue
        found.append([part, name])
print(json.dumps(found))
"""


def test_other_processes_have_names_and_nothing_else(deployed: Deployment, browsers: dict[str, int]) -> None:
    """/proc cannot be mounted anew in a container, so the one from outside is there; the kernel keeps the rest."""
    builder = ["python3", "-I", "-S", "/opt/telebrowser/telebrowser/supervisor/mason.py", "--unshare-user", "--unshare-pid", "--unshare-uts"]
    system = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
    found = json.loads(deployed.run(*builder, "--bind", "/proc", "/proc", "--dev", "/dev", *system, "--chdir", "/", "--", "python3", "-c", LOOK, user="abc"))
    # What is inside is the script and the process that waits for it; both are known by their text.
    assert found and all("os.listdir" in name for _, name in found), [(part, name[:60]) for part, name in found if "os.listdir" not in name]
    assert "root/data" not in [part for part, _ in found]


@pytest.mark.parametrize(
    ("command", "passes"),
    [
        (["unshare", "--user", "--map-root-user", "--pid", "--net", "--fork", "true"], True),
        (["unshare", "--user", "--ipc", "true"], False),
        (["unshare", "--user", "--cgroup", "true"], False),
        (["unshare", "--mount", "true"], False),
        (["python3", "-c", "import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(308, 0, 0) == -1 and ctypes.get_errno() in (0, 1))"], True),
    ],
    ids=["what Chromium needs", "ipc", "cgroup", "mount without a user namespace", "setns"],
)
@pytest.mark.parametrize("user", ["abc", "root"])
def test_what_the_profile_lets_through(deployed: Deployment, user: str, command: list[str], passes: bool) -> None:
    script = ' "$@" >/dev/null 2>&1 && echo passed || echo refused'
    said = deployed.run("sh", "-c", script, "sh", *command, user=user).strip()
    if command[0] == "python3":
        # The call must fail, and it must be the profile that refuses it: EPERM.
        code = "import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(308, 0, 0); print(r, ctypes.get_errno())"
        assert deployed.run("python3", "-c", code, user=user).split() == ["-1", "1"]
    else:
        assert said == ("passed" if passes else "refused")


def test_root_of_the_container_cannot_mount(deployed: Deployment) -> None:
    assert "passed" not in deployed.run("sh", "-c", "mount -t tmpfs x /mnt 2>&1 && echo passed; mount -o remount,rw /proc/sys 2>&1 && echo passed", check=False)

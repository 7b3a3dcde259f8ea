"""Walls without bubblewrap: which options are understood, and that the browser's side of them is closed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from telebrowser.supervisor import mason, mounts
from telebrowser.supervisor.mason import Step, parse, resolve
from telebrowser.supervisor.walls import MASON, NAMESPACES

# The environment's own Python may lie where only root can reach it.
PYTHON = "/usr/bin/python3" if os.geteuid() == 0 else sys.executable
SYSTEM = [*NAMESPACES, *mounts.system(None, {}, [])]


def run(options: Sequence[str], *program: str, keep: tuple[int, ...] = (), **settings: object) -> subprocess.CompletedProcess[str]:
    """Run a program inside walls, as an ordinary user where the tests run as root."""
    user: dict[str, object] = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    command = [PYTHON, "-I", "-S", str(settings.pop("script", MASON[-1])), *options, "--", *program]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, pass_fds=keep, cwd="/", **user)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def script() -> Iterator[Path]:
    """A copy that the ordinary user can read, wherever the work tree lies. pytest's own folders are closed to others by each run."""
    folder = Path(tempfile.mkdtemp(prefix="tb-mason-", dir="/tmp"))
    folder.chmod(0o755)
    copy = folder / "mason.py"
    copy.write_bytes(Path(MASON[-1]).read_bytes())
    copy.chmod(0o644)
    yield copy
    shutil.rmtree(folder)


def inside(script: Path, shell: str, *more: str) -> subprocess.CompletedProcess[str]:
    return run([*SYSTEM, *more, "--remount-ro", "/", "--chdir", "/"], "/bin/sh", "-c", shell, script=script)


def test_options_are_taken_apart() -> None:
    steps, program = parse(["--unshare-user", "--ro-bind", "/a", "/b", "--chdir", "/", "--", "p", "--x"])
    assert steps == [Step("--unshare-user", ()), Step("--ro-bind", ("/a", "/b")), Step("--chdir", ("/",))] and program == ["p", "--x"]


@pytest.mark.parametrize("arguments", [["--nonsense", "--", "p"], ["--ro-bind", "/a"], [], ["--"], ["--unshare-user"], ["p"]])
def test_what_is_not_understood_is_refused(arguments: list[str]) -> None:
    with pytest.raises(ValueError, match=r"unknown or incomplete|no program"):
        parse(arguments)
    assert mason.main(arguments) == 1


def test_every_option_in_use_is_known() -> None:
    options = [*SYSTEM, *mounts.system("/usr/bin/env", {}, ["/home"], own_proc=False), "--cap-drop", "ALL", "--info-fd", "5", "--chdir", "/", "--", "true"]
    assert parse(options)[1] == ["true"]


def test_sources_are_real_and_what_may_be_missing_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    steps = resolve([Step("--ro-bind-try", (str(tmp_path / "link"), "/x")), Step("--ro-bind-try", (str(tmp_path / "gone"), "/y")), Step("--tmpfs", ("/z",))])
    assert steps == [Step("--ro-bind", (str(tmp_path / "real"), "/x")), Step("--tmpfs", ("/z",))]


def test_nothing_but_what_was_named_is_there(script: Path) -> None:
    done = inside(script, "ls -A / | tr '\\n' ' '; ls -A /tmp /dev/shm; test ! -e /root")
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) - {"/tmp:", "/dev/shm:"} <= {
        "bin",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "proc",
        "sbin",
        "sys",
        "tmp",
        "usr",
        "var",
        "run",
    }


@pytest.mark.parametrize("path", ["/usr/x", "/etc/x", "/x", "/dev/x/y"])
def test_the_system_cannot_be_written(script: Path, path: str) -> None:
    assert inside(script, f"touch {path}").returncode != 0


def test_no_rights_are_left(script: Path) -> None:
    status = inside(script, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status").stdout.split()
    assert status[0::2] == ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:"]
    assert {int(value, 16) for value in status[1:-1:2]} == {0} and status[-1] == "1"


def test_every_mount_is_tamed(script: Path) -> None:
    """What is shown from outside is read-only and without devices and set-user-id, whatever is mounted below it."""
    for line in inside(script, "cat /proc/self/mountinfo").stdout.splitlines():
        place, flags = line.split()[4:6]
        words = flags.split(",")
        assert "nosuid" in words, line
        assert place.startswith("/dev/") or "nodev" in words, line
        assert place in ("/proc", "/dev", "/dev/pts", "/dev/shm", "/tmp") or place.startswith("/dev/") or "ro" in words, line


def test_processes_outside_do_not_exist(script: Path) -> None:
    done = inside(script, f"echo $$; ls /proc | grep -c '^[0-9]'; kill -0 {os.getpid()}")
    first, count = done.stdout.split()
    assert first == "2" and int(count) <= 4 and done.returncode != 0


def test_chromiums_own_sandbox_fits_in(script: Path) -> None:
    assert inside(script, "unshare --user --map-root-user --pid --net --fork true").returncode == 0


@pytest.mark.parametrize("attempt", ["mount -t tmpfs x /usr", "umount /usr", "mount -o remount,rw /usr", "umount -l /proc", "chroot / true"])
def test_the_walls_cannot_be_taken_down(script: Path, attempt: str) -> None:
    assert inside(script, attempt).returncode != 0


def test_nor_from_a_namespace_inside(script: Path) -> None:
    done = inside(
        script, "unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw /usr && echo rw; umount /etc && echo gone; ls -A /etc | head -1'"
    )
    assert "rw" not in done.stdout and "gone" not in done.stdout


@pytest.mark.parametrize(("shell", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + signal.SIGKILL), ("kill -INT $$", 128 + signal.SIGINT)])
def test_exit_codes_are_those_of_a_shell(script: Path, shell: str, code: int) -> None:
    assert inside(script, shell).returncode == code


def test_what_is_left_behind_ends_with_the_last_one(script: Path) -> None:
    """The program's end is told at once, though something it started goes on."""
    done = inside(script, "sleep 1.5 </dev/null >/dev/null 2>&1 & exit 3")
    assert done.returncode == 3


def test_signals_are_as_new(script: Path) -> None:
    ignored = inside(script, "grep SigIgn /proc/self/status").stdout.split()[1]
    assert int(ignored, 16) & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGINT - 1)) == 0


def test_descriptors_pass_and_the_first_process_is_told(script: Path) -> None:
    reading, writing = os.pipe()
    done = run(
        [*SYSTEM, "--info-fd", str(writing), "--remount-ro", "/", "--chdir", "/"],
        "/bin/sh",
        "-c",
        f"ls -l /proc/self/fd/{writing}",
        keep=(writing,),
        script=script,
    )
    os.close(writing)
    with open(reading, encoding="ascii") as file:
        assert '"child-pid": ' in file.read()
    # The descriptor itself is not for the program.
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--unshare-user", "--ro-bind", "/nonexistent", "/x", "--"], "No such file or directory"),
        (["--unshare-user", "--nonsense", "--"], "unknown or incomplete option --nonsense"),
    ],
)
def test_what_fails_is_one_line(script: Path, options: list[str], said: str) -> None:
    done = run(options[:-1], "true", script=script)
    assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1 and done.stderr.startswith("walls: ")


def test_a_program_that_is_not_there(script: Path) -> None:
    done = run([*SYSTEM, "--chdir", "/"], "/usr/bin/nonexistent", script=script)
    assert done.returncode == 127 and "cannot run /usr/bin/nonexistent" in done.stderr


def test_a_user_that_is_mapped_stays_the_same(script: Path) -> None:
    done = inside(script, "id -u; id -g")
    assert done.stdout.split() == ([str(65534)] * 2 if os.geteuid() == 0 else [str(os.getuid()), str(os.getgid())])


def test_one_folder_is_shown_writable_and_its_neighbour_not_at_all(script: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = script.parent
    (folder / "mine").mkdir()
    (folder / "other").mkdir()
    (folder / "mine").chmod(0o777)
    mine = str(folder / "mine")
    done = inside(script, f"echo x > {mine}/new && ls -A {folder}", "--bind", mine, mine)
    assert done.stdout.split() == ["mine"] and (folder / "mine" / "new").exists()

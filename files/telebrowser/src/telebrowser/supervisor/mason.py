"""Walls where bubblewrap is not installed: the few options of ``bwrap`` that `walls` and `mounts` use, with the same meaning.

It is run as a program of its own, by its path. Not everywhere can a package be added (the stock browser container has none of it), and
all that it takes are a dozen system calls. Three processes: the first one waits outside, so that nothing inside has its rights; its
child is the first process (number 1) in the new user, process, mount and host name namespaces, builds the new root, gives up all
capabilities and collects what ends; and that one's child is the program.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import signal
import stat
import struct
import sys
from typing import NamedTuple, NoReturn

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_SILENT, MS_PRIVATE, MS_SLAVE, MS_RELATIME = 1024, 2048, 4096, 16384, 32768, 1 << 18, 1 << 19, 1 << 21
MNT_DETACH = 2
CLONE = {"--unshare-user": 0x10000000, "--unshare-pid": 0x20000000, "--unshare-uts": 0x04000000}
CLONE_NEWNS = 0x00020000
# Numbers of clone(2) and pivot_root(2), where the first argument of clone is the flags.
CALLS = {"x86_64": (56, 155), "aarch64": (220, 41), "riscv64": (220, 41), "ppc64le": (120, 203)}
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 24, 47, 4
LINUX_CAPABILITY_VERSION_3 = 0x20080522
# What an existing mount has must be kept when it is mounted anew: the kernel lets nobody in a user namespace take it away.
KEPT = {
    "ro": MS_RDONLY, "nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC,
    "noatime": MS_NOATIME, "nodiratime": MS_NODIRATIME, "relatime": MS_RELATIME,
}  # fmt: skip
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
BASE, NEW, OLD = "/tmp", "/newroot", "/oldroot"
ARGUMENTS = {
    "--ro-bind": 2, "--ro-bind-try": 2, "--bind": 2, "--dev-bind": 2, "--symlink": 2,
    "--proc": 1, "--dev": 1, "--tmpfs": 1, "--remount-ro": 1, "--chdir": 1, "--info-fd": 1, "--cap-drop": 1,
    "--unshare-user": 0, "--unshare-pid": 0, "--unshare-uts": 0,
}  # fmt: skip
SIGNALLED = 128
FAILED = 1

libc = ctypes.CDLL(None, use_errno=True)


class Step(NamedTuple):
    """One option and its arguments."""

    name: str
    values: tuple[str, ...]


def parse(arguments: list[str]) -> tuple[list[Step], list[str]]:
    """The options, and the program with its arguments. Raises ValueError."""
    steps = []
    rest = list(arguments)
    while rest:
        name = rest.pop(0)
        if name == "--":
            break
        count = ARGUMENTS.get(name)
        if count is None or len(rest) < count:
            raise ValueError(f"unknown or incomplete option {name}")
        steps.append(Step(name, tuple(rest[:count])))
        del rest[:count]
    if not rest:
        raise ValueError("no program named after --")
    return steps, rest


def check(result: int, what: str) -> int:
    """Raise OSError when a call of the C library has failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    what = f"cannot mount {kind or source or ''} on {target.removeprefix(NEW) or '/'}"
    check(libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), what)


def pivot_root(new: str, old: str) -> None:
    check(libc.syscall(CALLS[platform.machine()][1], os.fsencode(new), os.fsencode(old)), "pivot_root")


def make_parents(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)


def make_folder(path: str) -> None:
    os.makedirs(path, mode=0o755, exist_ok=True)


def mount_flags(point: str) -> dict[str, int]:
    """The mounts at and below ``point``, with the flags that they have."""
    found = {}
    with open(f"{OLD}/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            path = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[4])
            if path == point or path.startswith(point + "/"):
                found[path] = sum(KEPT.get(word, 0) for word in fields[5].split(","))
    return found


def remount(path: str, flags: int) -> None:
    mount(None, path, None, MS_SILENT | MS_BIND | MS_REMOUNT | flags)


def bind(source: str, target: str, *, read_only: bool, devices: bool = False) -> None:
    """Show ``source`` (as it was outside) at ``target``, with everything mounted below it."""
    outside, inside = OLD + source, NEW + target
    if stat.S_ISDIR(os.stat(outside).st_mode):
        make_folder(inside)
    elif not os.path.exists(inside):
        make_parents(inside)
        os.close(os.open(inside, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    mount(outside, inside, None, MS_SILENT | MS_BIND | MS_REC)
    added = MS_NOSUID | (0 if devices else MS_NODEV) | (MS_RDONLY if read_only else 0)
    real = os.path.realpath(inside)
    mounted = mount_flags(real)
    if real not in mounted:
        raise OSError(0, f"{target} was not mounted where it should be")
    for path, flags in mounted.items():
        try:
            remount(path, flags | added)
        except OSError:
            # A mount below that cannot be reached from here cannot be reached by the program either.
            if path == real or os.access(path, os.F_OK):
                raise


def temporary(target: str) -> None:
    make_folder(NEW + target)
    mount("tmpfs", NEW + target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")


def devices(target: str) -> None:
    temporary(target)
    for name in DEVICES:
        bind(f"/dev/{name}", f"{target}/{name}", read_only=False, devices=True)
    for name, link in (("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"), ("fd", "fd")):
        os.symlink(f"/proc/self/{link}", f"{NEW}{target}/{name}")
    for name in ("shm", "pts"):
        make_folder(f"{NEW}{target}/{name}")
    mount("devpts", f"{NEW}{target}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{NEW}{target}/ptmx")


def proc(target: str) -> None:
    make_folder(NEW + target)
    mount("proc", NEW + target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def lay(step: Step) -> None:
    """Carry out one option that is about the file system."""
    name, values = step
    if name in ("--ro-bind", "--bind", "--dev-bind"):
        bind(values[0], values[1], read_only=name == "--ro-bind", devices=name == "--dev-bind")
    elif name == "--symlink":
        make_parents(NEW + values[1])
        os.symlink(values[0], NEW + values[1])
    elif name == "--remount-ro":
        path = os.path.realpath(NEW + values[0]).rstrip("/")
        remount(path, mount_flags(path)[path] | MS_RDONLY)
    elif name == "--proc":
        proc(values[0])
    elif name == "--dev":
        devices(values[0])
    elif name == "--tmpfs":
        temporary(values[0])


def resolve(steps: list[Step]) -> list[Step]:
    """The options with the real paths of what is to be shown; without those that may be missing and are."""
    resolved = []
    for name, values in steps:
        if name.endswith("-try"):
            if not os.path.exists(values[0]):
                continue
            name = name.removesuffix("-try")
        if name in ("--ro-bind", "--bind", "--dev-bind"):
            values = (os.path.realpath(values[0]), values[1])
        resolved.append(Step(name, values))
    return resolved


def build(steps: list[Step]) -> None:
    """Make the new root out of the old one and enter it."""
    mount(None, "/", None, MS_SILENT | MS_REC | MS_SLAVE)
    mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")
    os.chdir(BASE)
    os.mkdir("newroot", 0o755)
    mount("newroot", "newroot", None, MS_SILENT | MS_BIND | MS_REC)
    os.mkdir("oldroot", 0o755)
    pivot_root(BASE, "oldroot")
    os.chdir("/")
    mount("tmpfs", NEW, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")
    for step in steps:
        lay(step)
    mount(None, OLD, None, MS_SILENT | MS_REC | MS_PRIVATE)
    check(libc.umount2(os.fsencode(OLD), MNT_DETACH), "cannot leave the old root")
    base = os.open("/", os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    os.chdir(NEW)
    pivot_root(".", ".")
    os.fchdir(base)
    check(libc.umount2(b".", MNT_DETACH), "cannot leave the base")
    os.close(base)
    os.chdir("/")


def map_user(user: int, group: int) -> None:
    """Be the same user inside."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def drop_rights() -> None:
    """Give up every capability, and whatever could bring one back."""
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot refuse new privileges")
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    number = 0
    while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    header, nothing = struct.pack("=Ii", LINUX_CAPABILITY_VERSION_3, 0), bytes(24)
    check(libc.capset(header, nothing), "cannot give up capabilities")


def close_all(kept: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number not in kept:
            try:
                os.close(number)
            except OSError:
                # The descriptor of the listing itself.
                continue


def as_shell(status: int) -> int:
    """An exit code that tells of a signal as a shell does."""
    code = os.waitstatus_to_exitcode(status)
    return SIGNALLED - code if code < 0 else code


def inside(steps: list[Step], program: list[str], report: int, ids: tuple[int, int]) -> int:
    """The first process inside. Its exit code is the program's."""
    map_user(*ids)
    build(steps)
    drop_rights()
    for step in steps:
        if step.name == "--chdir":
            os.chdir(step.values[0])
    main = os.fork()
    if main == 0:
        os.close(report)
        execute(program)
    close_all({report})
    code = FAILED
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return code
        if pid == main:
            code = as_shell(status)
            os.write(report, bytes([code]))
            os.close(report)


def execute(program: list[str]) -> NoReturn:
    # Python ignores these two, and what is ignored stays so in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        print(f"walls: cannot run {program[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


def outside(child: int, report: int, information: int | None) -> int:
    """The process that waits. The program's exit code, as soon as it is known; else that of the first process inside."""
    if information is not None:
        os.write(information, json.dumps({"child-pid": child}, indent=4).encode() + b"\n")
    close_all({report})
    told = os.read(report, 1)
    return told[0] if told else as_shell(os.waitpid(child, 0)[1])


def main(arguments: list[str]) -> int:
    try:
        steps, program = parse(arguments)
        machine = platform.machine()
        if machine not in CALLS:
            raise ValueError(f"this kind of machine is not known: {machine}")
    except ValueError as error:
        print(f"walls: {error}", file=sys.stderr)
        return FAILED
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    information = next((int(step.values[0]) for step in steps if step.name == "--info-fd"), None)
    flags = CLONE_NEWNS | signal.SIGCHLD | sum(CLONE.get(step.name, 0) for step in steps)
    reading, writing = os.pipe()
    ids = os.geteuid(), os.getegid()
    steps = resolve(steps)
    # Not unshare(2): the process that waits has to stay outside of the user namespace, or what is inside could look through it.
    child = libc.syscall(CALLS[machine][0], flags, 0, 0, 0, 0)
    if child == 0:
        os.close(reading)
        if information is not None:
            os.close(information)
        code = FAILED
        try:
            code = inside(steps, program, writing, ids)
        except OSError as error:
            print(f"walls: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", file=sys.stderr, flush=True)
        except BaseException as error:
            print(f"walls: {error!r}", file=sys.stderr, flush=True)
        os._exit(code)
    try:
        check(child, "no namespaces")
    except OSError as error:
        print(f"walls: {error.strerror}", file=sys.stderr)
        return FAILED
    os.close(writing)
    return outside(child, reading, information)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Which process holds the other end of a loopback connection, as the kernel tells it in /proc."""

from __future__ import annotations

import os
import socket
import struct

TABLES = (("/proc/net/tcp", ""), ("/proc/net/tcp6", "0000000000000000FFFF0000"))
INODE = 9


def belongs_to_group(connection: socket.socket, group: int) -> bool:
    """Whether the peer of an accepted IPv4 loopback connection is a socket of a process group, or of a descendant of one of its processes."""
    inode = _inode(connection.getpeername(), connection.getsockname())
    if inode is None:
        return False
    link = f"socket:[{inode}]"
    return any(link in _descriptors(pid) for pid in _family(group))


def _inode(local: tuple[str, int], remote: tuple[str, int]) -> str | None:
    """The inode of the socket with these ends; None when it is gone."""
    for table, prefix in TABLES:
        ends = [_address(*local, prefix), _address(*remote, prefix)]
        try:
            with open(table, encoding="ascii") as file:
                for line in file:
                    words = line.split(None, INODE + 1)
                    if words[1:3] == ends and words[INODE] != "0":
                        return words[INODE]
        except OSError:
            continue
    return None


def _address(host: str, port: int, prefix: str) -> str:
    # The kernel prints the address as a number of this machine's byte order.
    return f"{prefix}{struct.unpack('=I', socket.inet_aton(host))[0]:08X}:{port:04X}"


def _family(group: int) -> list[int]:
    """The processes of a group and their descendants."""
    rows = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    words = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            rows[int(name)] = (int(words[1]), int(words[2]))
    family = {pid for pid, (_, number) in rows.items() if number == group}
    while found := {pid for pid, (parent, _) in rows.items() if parent in family} - family:
        family |= found
    return sorted(family)


def _descriptors(pid: int) -> set[str]:
    found = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
            except OSError:
                continue
    except OSError:
        pass
    return found

"""Which process holds the other end of a loopback connection, as the kernel tells it in /proc."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable

from ...processes import ProcessStat, everyone

TABLES = (("/proc/net/tcp", ""), ("/proc/net/tcp6", "0000000000000000FFFF0000"))
INODE = 9


def belongs_to_group(connection: socket.socket, group: int) -> bool:
    """Whether the peer of an accepted IPv4 loopback connection is a socket of a process group, or of a descendant of one of its processes."""
    inode = _inode(connection.getpeername(), connection.getsockname())
    if inode is None:
        return False
    link = f"socket:[{inode}]"
    return any(link in _descriptors(row.pid) for row in family(lambda row: row.group == group))


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


def family(roots: Callable[[ProcessStat], bool]) -> list[ProcessStat]:
    """The live processes that ``roots`` picks, and all their descendants."""
    rows = {row.pid: row for row in everyone()}
    found = {pid for pid, row in rows.items() if roots(row)}
    while more := {pid for pid, row in rows.items() if row.parent in found} - found:
        found |= more
    return [rows[pid] for pid in sorted(found)]


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

"""Which addresses an agent may open."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import unicodedata
from urllib.parse import urlsplit

from ..errors import TelebrowserError

SCHEMES = frozenset({"http", "https", "about"})
LOCAL_NAMES = frozenset({"localhost"})


def check(url: str) -> str:
    """The address, trimmed. Raises ``INVALID_URL`` for anything but http, https and about."""
    url = url.strip()
    if not url:
        raise TelebrowserError("INVALID_URL", "The address is empty")
    if any(character in "\\" or character <= " " for character in url):
        raise TelebrowserError("INVALID_URL", f"{url[:200]!r} has a space, a control character or a backslash in it")
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise TelebrowserError("INVALID_URL", f"{url[:200]!r} is not an address: {error}") from None
    if parts.scheme.lower() not in SCHEMES:
        raise TelebrowserError("INVALID_URL", f"The scheme of {url[:200]!r} is not allowed")
    if parts.scheme.lower() != "about" and not host:
        raise TelebrowserError("INVALID_URL", f"{url[:200]!r} names no host")
    return url


def literal_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that ``host`` spells, in any form that a browser takes (``2130706433``, ``0x7f.1``), or None for a name."""
    host = unicodedata.normalize("NFKC", host).replace("\u3002", ".").strip("[]").split("%")[0]
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host)) if host[:1].isdigit() else None
    except OSError:
        return None


def is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether the address lies in a range that is not the public internet. Loopback does not count as private."""
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped or (address.sixtofour if address.sixtofour else None)
        if mapped is not None:
            address = mapped
    if address.is_loopback:
        return False
    if address == ipaddress.IPv4Address("0.0.0.0") or address == ipaddress.IPv6Address("::"):
        return True
    return not address.is_global or address.is_multicast


async def check_private(url: str, timeout: float = 5.0) -> None:
    """Raise ``PRIVATE_NETWORK_BLOCKED`` when the host is, or resolves to, an address in a private range.

    A name that does not resolve passes: the browser will say so itself. Loopback names and addresses pass.
    """
    host = (urlsplit(url).hostname or "").lower().rstrip(".")
    if not host or host in LOCAL_NAMES or host.endswith(".localhost"):
        return
    literal = literal_address(host)
    addresses = [literal] if literal is not None else await _resolve(host, timeout)
    for address in addresses:
        if is_private(address):
            shown = host if literal is not None else f"{host} ({address})"
            raise TelebrowserError("PRIVATE_NETWORK_BLOCKED", f"{shown} is in a private address range")


async def may_load(url: str) -> bool:
    """Whether a document may be loaded from ``url`` where private address ranges are blocked."""
    try:
        await check_private(url)
    except TelebrowserError:
        return False
    return True


async def _resolve(host: str, timeout: float) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        async with asyncio.timeout(timeout):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(entry[4][0]).split("%")[0]) for entry in found]

"""Who is asking, and by which name: Host and Origin checks, trusted proxies, and the address that answers carry.

A page in any browser may send requests to the gateway. It cannot hide its Origin, and after DNS rebinding its own
name stands in Host; so a foreign one of either is refused.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from aiohttp import web

from ..errors import ConfigError, TelebrowserError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_networks(values: Iterable[str], source: str) -> tuple[Network, ...]:
    """Addresses and networks in CIDR form. Raises `ConfigError` naming ``source``."""
    networks: list[Network] = []
    for value in values:
        try:
            networks.append(ipaddress.ip_network(value, strict=False))
        except ValueError:
            raise ConfigError(f"{source} must hold addresses or networks like 172.18.0.0/16, by commas; it has {value!r}") from None
    return tuple(networks)


def host_name(host: str) -> str:
    """``host`` of a Host header without its port, in lower case; an IPv6 address without brackets."""
    try:
        return (urlsplit("//" + host).hostname or "").rstrip(".")
    except ValueError:
        return ""


@lru_cache(maxsize=1)
def _machine_names() -> frozenset[str]:
    return frozenset({socket.gethostname().lower(), "localhost"})


def is_address(name: str) -> bool:
    """Whether a host name is a literal address."""
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


class Origins:
    """The checks, for the names in ``hosts`` and in ``people_url`` besides addresses, localhost and the machine's own name."""

    def __init__(self, trusted_proxies: Iterable[str], hosts: Iterable[str] = (), people_url: str | None = None) -> None:
        self._proxies = parse_networks(trusted_proxies, "TELEBROWSER_TRUSTED_PROXIES")
        # Links for people begin with this address, so whoever follows one comes by it, through a proxy that may not be trusted with more.
        self._people = urlsplit((people_url or "").lower())
        self._hosts = frozenset(host.lower() for host in hosts) | ({host_name(self._people.netloc)} - {""})

    def trusts(self, request: web.Request) -> bool:
        """Whether the peer is a trusted proxy."""
        try:
            peer = ipaddress.ip_address(request.remote or "")
        except ValueError:
            return False
        if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped is not None:
            peer = peer.ipv4_mapped
        return any(peer in network for network in self._proxies)

    def base(self, request: web.Request) -> tuple[str, str, str]:
        """Scheme (``http`` or ``https``), authority and path prefix under which the client reached the gateway."""
        scheme, host, prefix = request.scheme, request.headers.get("Host", ""), ""
        if self._people.netloc and host.lower() == self._people.netloc:
            scheme = self._people.scheme
        if self.trusts(request):
            scheme = _first(request, "X-Forwarded-Proto") or scheme
            host = _first(request, "X-Forwarded-Host") or host
            prefix = "/" + (_first(request, "X-Forwarded-Prefix") or "").strip("/")
        return ("https" if scheme in ("https", "wss") else "http"), host, "" if prefix == "/" else prefix

    def check(self, request: web.Request, *, websocket: bool) -> None:
        """Raise `TelebrowserError` FORBIDDEN for a foreign Host, and for a foreign Origin where a page could do harm."""
        scheme, host, _ = self.base(request)
        name = host_name(host)
        # A trusted proxy passes on the name under which it is set up to serve the gateway.
        forwarded = self.trusts(request) and "X-Forwarded-Host" in request.headers
        known = forwarded or name in _machine_names() or name.endswith(".localhost") or name in self._hosts or is_address(name)
        if not known:
            raise TelebrowserError("FORBIDDEN", "The Host is not one of this gateway's names", "Use an address, or add the name to TELEBROWSER_HOSTS.")
        origin = request.headers.get("Origin")
        if origin is not None and (websocket or request.method not in ("GET", "HEAD")) and origin.lower() != f"{scheme}://{host}".lower():
            raise TelebrowserError("FORBIDDEN", "The Origin is not this gateway", "Pages of other sites may not use the gateway.")


def is_loopback(request: web.Request) -> bool:
    """Whether the peer is this machine, and not a proxy that speaks for somebody else."""
    try:
        peer = ipaddress.ip_address(request.remote or "")
    except ValueError:
        return False
    return peer.is_loopback and "X-Forwarded-For" not in request.headers and "Forwarded" not in request.headers


def _first(request: web.Request, header: str) -> str:
    return request.headers.get(header, "").partition(",")[0].strip()

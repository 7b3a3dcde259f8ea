"""``/json/protocol``: the description of CDP, reduced to what the method table lets through.

A Chromium on a pipe has no way to give its own, so the package carries one (npm ``devtools-protocol``).
"""

from __future__ import annotations

import asyncio
import gzip
from importlib import resources
from typing import Any

import msgspec

from .methods import Verdict, rule

FILE = "protocol.json.gz"
_SHUT = (Verdict.DENY, Verdict.UNKNOWN)


def usable(method: str) -> bool:
    """Whether a client may call the method on some session."""
    return any(rule(method, at_root).verdict not in _SHUT for at_root in (True, False))


def describe() -> bytes:
    """The JSON text. Takes some 20 ms."""
    whole: dict[str, Any] = msgspec.json.decode(gzip.decompress(resources.files(__package__).joinpath(FILE).read_bytes()))
    domains = []
    for domain in whole["domains"]:
        commands = [command for command in domain.get("commands", []) if usable(f"{domain['domain']}.{command['name']}")]
        if commands:
            domains.append({**domain, "commands": commands})
    return msgspec.json.encode({"version": whole["version"], "domains": domains})


class Protocol:
    """Made on the first request and kept."""

    def __init__(self) -> None:
        self._text: bytes | None = None

    async def text(self) -> bytes:
        """The JSON text."""
        if self._text is None:
            self._text = await asyncio.to_thread(describe)
        return self._text

"""How the client of one connection reaches its session besides MCP."""

from __future__ import annotations

from typing import NamedTuple


class Access(NamedTuple):
    """The session's CDP addresses as this client can use them. Secret: they hold the token."""

    http: str
    ws: str

"""A CDP transport whose other side is the test: it stands at the border where a browser would be."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from telebrowser.cdp.connection import Connection


class Played:
    """A transport whose other side is the test."""

    on_message: Callable[[bytes], None]
    on_close: Callable[[str], None]

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, data: bytes) -> None:
        self.sent.append(json.loads(data))

    def close(self) -> None:
        """Nothing to end."""

    def say(self, **message: Any) -> None:
        self.on_message(json.dumps(message).encode())


def connected() -> tuple[Played, Connection]:
    transport = Played()
    return transport, Connection(transport)

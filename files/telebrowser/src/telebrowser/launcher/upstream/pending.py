"""A request of the client on its way through the two servers."""

from __future__ import annotations

import json
from typing import Any

from .blend import Message

UPSTREAM, ENGINE, BOTH = "upstream", "engine", "both"


class Pending:
    """A request of the client without an answer, and what is known of the answer so far."""

    def __init__(self, message: Message, line: bytes, where: str) -> None:
        self.message, self.line, self.where = message, line, where
        self.id: Any = message["id"]
        self.method: str = message["method"]
        self.sent = False
        """The upstream server has it."""
        self.theirs: tuple[Message, bytes] | None = None
        self.ours: Message | None = None

    @property
    def number(self) -> bytes:
        """The id as JSON."""
        return json.dumps(self.id).encode()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters; empty when they are no object."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}

"""What may stand beside the engine, between the pump and the conversation: nothing, or another MCP server."""

from __future__ import annotations

from collections import deque

from .conversation import Conversation
from .lines import TooLong


class Beside:
    """Nothing: lines go straight to the conversation and back. Another server overrides what it needs."""

    def __init__(self) -> None:
        self.to_client: deque[bytes] = deque()
        """Lines for the client."""

    def client_line(self, line: bytes | TooLong, conversation: Conversation, now: float) -> None:
        """One line of the client, without its end."""
        conversation.client_line(line, now)

    def exchange(self, conversation: Conversation, now: float) -> bool:
        """Carry what there is; whether the conversation got something, which is then to be carried on."""
        self.to_client.extend(conversation.to_client)
        conversation.to_client.clear()
        return False

    def interest(self, *, full: bool) -> dict[int, int]:
        """Descriptor → poll events to wait for; ``full``: the client takes nothing more at present."""
        return {}

    def ready(self) -> None:
        """One of the descriptors is ready."""

    @property
    def idle(self) -> bool:
        """No request of the client waits here, and nothing waits to be written."""
        return True

    @property
    def full(self) -> bool:
        """So much waits to be written that no more should be taken from the client."""
        return False

    def leave(self) -> None:
        """The client has closed stdin."""

    def close(self) -> None:
        """The end: leave nothing behind."""

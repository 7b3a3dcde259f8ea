"""What launcher and engine say to each other about files: which arguments are paths, and what stands in their place.

A path in a tool's argument means the agent's machine. The launcher puts ``upload:FOLDER/NAME`` in place of a file that
is to be read and has been sent, and ``agent:PATH`` in place of one that is to be written; the answer to the latter names
its file in ``_meta[MARK]``: ``{"data": base64}`` while it is small, else ``{"outbox": NAME}`` or ``{"download": NAME}``,
with ``size`` and ``sha256`` where they are known. Imported by the launcher, so nothing heavy stands here.
"""

from __future__ import annotations

import json
from typing import NamedTuple

HEADER = "Telebrowser-Files"
MARK = "telebrowser/file"
READ, WRITE = "read", "write"
PASSED = ("download:",)
"""Beginnings of values that mean a file at the gateway, such as ``download:report.pdf``; they are no paths."""
UPLOAD = "upload:"
AGENT = "agent:"
LOCAL = "local:"
"""Standalone: a file of this machine that has been checked."""


class Shared(NamedTuple):
    """How a launcher finds out that it shares the disk: the project's folder, and the SHA-256 of `PROOF` in its uploads."""

    folder: str
    proof: str


PROOF = ".shared"


class Offer(NamedTuple):
    """What a gateway says of files: path arguments by tool (argument → `READ` or `WRITE`), bytes of one file, the shared disk."""

    tools: dict[str, dict[str, str]]
    limit: int
    shared: Shared | None

    def header(self) -> str:
        """The text of the header; ASCII, one line."""
        shared = None if self.shared is None else {"folder": self.shared.folder, "proof": self.shared.proof}
        return json.dumps({"tools": self.tools, "limit": self.limit, "shared": shared}, separators=(",", ":"))


def read_offer(text: str | None) -> Offer | None:
    """The offer in a header; None for a gateway that makes none, or one that cannot be understood."""
    try:
        body = json.loads(text or "null")
        tools = {str(tool): {str(name): str(use) for name, use in marks.items() if use in (READ, WRITE)} for tool, marks in body["tools"].items()}
        shared = body.get("shared")
        return Offer(tools, int(body["limit"]), None if shared is None else Shared(str(shared["folder"]), str(shared["proof"])))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None

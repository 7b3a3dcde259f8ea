"""The gateway with every gate of its filter open: ``python -m tests.resources.open_gateway --data DIR``.

The attacks of tests/security run against it to show that they are attacks: what fails against the product must succeed here.
Only tests can start it; the product has no switch for it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from telebrowser.gateway import client, discovery, files, wire
from telebrowser.gateway.__main__ import main
from telebrowser.gateway.actions import Actions, Session, ToBrowser, ToClient
from telebrowser.gateway.filter import SessionFilter
from telebrowser.gateway.origin import Origins
from telebrowser.gateway.tabs import Tabs


class OpenFilter(SessionFilter):
    """Passes on every call, to whatever session it names, and every event."""

    def from_client(self, raw: bytes) -> Actions:
        try:
            message = json.loads(raw)
            ident, method, name = message["id"], message["method"], message.get("sessionId") or ""
        except (ValueError, KeyError, TypeError, AttributeError):
            return super().from_client(raw)
        if not isinstance(ident, int) or not isinstance(method, str) or not isinstance(name, str):
            return super().from_client(raw)
        upstream = self.sessions[name].upstream if name in self.sessions else name
        return [ToBrowser(wire.call(ident, method, json.dumps(message.get("params") or {}).encode(), upstream))]

    def from_browser(self, raw: bytes, upstream: str) -> Actions:
        if wire.event_name(raw) in ("Target.attachedToTarget", "Target.detachedFromTarget"):
            return super().from_browser(raw, upstream)
        return [ToClient(wire.without_session(raw) if upstream == self._home else raw)]

    def _belongs(self, info: dict[str, Any], parent: Session) -> bool:
        return True


def open_all() -> None:
    """Take the checks away."""
    client.SessionFilter = OpenFilter  # type: ignore[misc]
    Tabs.shows = lambda self, session, info: True  # type: ignore[method-assign]
    Origins.check = lambda self, request, *, websocket: None  # type: ignore[method-assign]
    discovery.refused = lambda url: None
    files.checked_name = lambda name: name


if __name__ == "__main__":
    open_all()
    sys.exit(main())

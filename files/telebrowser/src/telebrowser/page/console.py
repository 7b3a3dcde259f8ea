"""The console of a tab, as a ring buffer that a navigation of the main frame clears."""

from __future__ import annotations

from collections import deque
from typing import Any

CAPACITY = 1000
MAX_MESSAGE = 4000
LEVELS = {"warn": "warning", "warning": "warning", "error": "error", "assert": "error", "info": "info", "debug": "debug", "verbose": "debug"}


class ConsoleBuffer:
    """At most `CAPACITY` messages; `dropped` counts those that fell out."""

    def __init__(self) -> None:
        self.dropped = 0
        self._messages: deque[dict[str, Any]] = deque(maxlen=CAPACITY)

    def api_called(self, params: dict[str, Any]) -> None:
        """Take in a Runtime.consoleAPICalled."""
        text = " ".join(_shown(argument) for argument in params.get("args", ()))
        self._add(LEVELS.get(params.get("type", "log"), "log"), text, params.get("timestamp", 0), _place(params.get("stackTrace")))

    def exception_thrown(self, params: dict[str, Any]) -> None:
        """Take in a Runtime.exceptionThrown, as an error."""
        details = params.get("exceptionDetails", {})
        exception = details.get("exception", {})
        text = exception.get("description") or str(exception.get("value", "")) or details.get("text", "")
        self._add("error", text, params.get("timestamp", 0), f"{details.get('url', '')}:{details.get('lineNumber', 0) + 1}" if details.get("url") else "")

    def log_entry(self, params: dict[str, Any]) -> None:
        """Take in a Log.entryAdded: what the browser itself reports, such as failed requests."""
        entry = params["entry"]
        self._add(LEVELS.get(entry.get("level", "info"), "log"), entry.get("text", ""), entry.get("timestamp", 0), entry.get("url", ""))

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()
        self.dropped = 0

    def read(self, level: str) -> list[dict[str, Any]]:
        """The messages of one level, or of all, oldest first."""
        return [message for message in self._messages if level == "all" or message["level"] == level]

    def _add(self, level: str, text: str, timestamp: float, place: str) -> None:
        if len(self._messages) == CAPACITY:
            self.dropped += 1
        message: dict[str, Any] = {"level": level, "text": text[:MAX_MESSAGE], "timestamp": timestamp}
        if place:
            message["source"] = place
        self._messages.append(message)


def _shown(argument: dict[str, Any]) -> str:
    if "value" in argument:
        return str(argument["value"])
    if "unserializableValue" in argument:
        return str(argument["unserializableValue"])
    preview = argument.get("preview")
    if preview and preview.get("properties"):
        inside = ", ".join(f"{item['name']}: {item.get('value', '')}" for item in preview["properties"])
        return f"{argument.get('description', '')} {{{inside}}}"
    return str(argument.get("description") or argument.get("type", ""))


def _place(stack: dict[str, Any] | None) -> str:
    frames = (stack or {}).get("callFrames") or []
    return f"{frames[0]['url']}:{frames[0]['lineNumber'] + 1}" if frames and frames[0].get("url") else ""

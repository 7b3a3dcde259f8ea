"""Random CDP traffic for the session filter, drawn from a string of bytes so that a failing example becomes a small one.

The model knows what the client owns. Two kinds of foreign names occur: those that a client may have guessed, and secrets,
which only the browser ever says and no client may hear.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, TypeVar

from telebrowser.gateway.targets import Info

T = TypeVar("T")

ROOT_ID = "A0" * 16
GUESSED = ("F1" * 16, "F2" * 16)
SECRET = "5EC2E7" * 5 + "00"
OWN = ("0000000000000000000000000000000A", "0000000000000000000000000000000B", "0000000000000000000000000000000C")
METHODS: tuple[str, ...] = tuple(
    f"{domain['domain']}.{command['name']}"
    for domain in json.loads(gzip.decompress(resources.files("telebrowser.gateway").joinpath("protocol.json.gz").read_bytes()))["domains"]
    for command in domain.get("commands", [])
)
COMMON = tuple(method for method in METHODS if method.startswith(("Target.", "Browser.", "Page.", "Tracing.", "Storage.")))
ODD_METHODS = ("", ".", "Page.", "Tomorrow.invented", "Page.inventedTomorrow", "page.enable", 'Page.enable"', "Memory." + "x" * 500, "Target.getTargets\n")
EVENTS = ("Page.loadEventFired", "Runtime.consoleAPICalled", "Network.requestWillBeSent", "DOM.documentUpdated", "Log.entryAdded", "Input.dragIntercepted")
SHUT_EVENTS = ("Target.targetCreated", "Target.receivedMessageFromTarget", "Browser.downloadWillBegin", "ServiceWorker.workerVersionUpdated", "New.event")
TYPES = ("page", "iframe", "worker", "tab", "browser", "browser_ui", "service_worker", "shared_worker", "webview", "other")
KEYS = (
    *("targetId", "sessionId", "url", "files", "frameId", "guid", "filter", "flatten", "autoAttach", "discover", "waitForDebuggerOnStart", "data"),
    *("origin", "permissions", "behavior", "eventsEnabled", "handle", "size", "offset", "browserContextId", "windowId", "entryId", "traceConfig"),
    *("transferMode", "streamFormat", "message", "expression", "background", "categories", "captureArea", "permission", "setting", "width", "height"),
)


class Choices:
    """Decisions read from bytes; after their end everything is the first choice."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def below(self, limit: int) -> int:
        return ((self.byte() << 8) + self.byte()) % limit if limit > 256 else self.byte() % limit

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def one_in(self, number: int) -> bool:
        return self.byte() % number == 1


class World:
    """The browser as the model sees it; implements `actions.View`."""

    context_id = "C0" * 16
    browser_id = "B0" * 16

    def __init__(self) -> None:
        self.targets: dict[str, Info] = {name: info(name, kind) for name, kind in zip(OWN, ("page", "iframe", "tab"), strict=True)}
        self.last = False
        self.tracing = False

    def infos(self) -> Iterable[Info]:
        return self.targets.values()

    def visible(self, target: str) -> Info | None:
        return self.targets.get(target)

    def is_last_page(self, target: str) -> bool:
        return self.last

    def closing(self, target: str, *, certain: bool) -> None:
        assert target in self.targets

    def owns_download(self, guid: str) -> bool:
        return guid == "own-guid"

    def may_activate(self) -> bool:
        return not self.last

    def take_trace(self) -> bool:
        self.tracing = True
        return True

    def end_trace(self) -> bool:
        was, self.tracing = self.tracing, False
        return was


def info(target: str, kind: str) -> Info:
    """A description of a target."""
    return {"targetId": target, "type": kind, "title": "", "url": "http://a/", "attached": True, "canAccessOpener": False}


def value(choices: Choices, sessions: Sequence[str], depth: int = 0) -> Any:
    """Any JSON value, more often than not one that means something."""
    names = (*OWN, *GUESSED, *sessions, "own-guid", "never heard of")
    match choices.below(14):
        case 0 | 1 | 2 | 3:
            return choices.of(names)
        case 4:
            return choices.of(("http://a/", "file:///etc/passwd", "chrome://quit", "about:blank", "", " FILE:/x", "data:,x"))
        case 5:
            return choices.of((True, False, None))
        case 6:
            return choices.of((0, 1, -1, 2**31, 2**63, 1.5, 1e308))
        case 7:
            return choices.of(("/etc/passwd", "allow", "deny", "default", "https://a", "ReturnAsStream", "json", "proto", "\0", "\ud7ff", '"', "\\", "x" * 300))
        case 8:
            return [{"type": choices.of(TYPES), "exclude": choices.one_in(2)} for _ in range(choices.below(3))]
        case 9 | 10 if depth < 3:
            return [value(choices, sessions, depth + 1) for _ in range(choices.below(4))]
        case 11 | 12 if depth < 3:
            return params(choices, sessions, depth + 1)
        case _:
            return {}


def params(choices: Choices, sessions: Sequence[str], depth: int = 0) -> dict[str, Any]:
    """Parameters of some call."""
    return {choices.of(KEYS): value(choices, sessions, depth) for _ in range(choices.below(5))}


def client_message(choices: Choices, sessions: Sequence[str], stale: Sequence[str]) -> bytes:
    """What a client may send: mostly sensible, sometimes mangled."""
    method = choices.of(COMMON) if choices.one_in(2) else choices.of(METHODS)
    if choices.one_in(12):
        method = choices.of(ODD_METHODS)
    message: dict[str, Any] = {"id": choices.below(1000), "method": method, "params": params(choices, sessions)}
    if method.startswith("Target.") and choices.one_in(2):
        message["params"] = {"targetId": choices.of((*OWN, *GUESSED)), "sessionId": choices.of((*sessions, *GUESSED, *stale, "")), "flatten": True}
    match choices.below(8):
        case 0 | 1:
            pass
        case 2:
            message["sessionId"] = choices.of((*GUESSED, *stale, "", " ", ROOT_ID))
        case _:
            message["sessionId"] = choices.of(("", *sessions))
    text = json.dumps(message)
    return mangled(choices, message, text) if choices.one_in(5) else text.encode()


def mangled(choices: Choices, message: dict[str, Any], text: str) -> bytes:
    """The same message written badly."""
    raw = text.encode()
    at = choices.below(max(len(raw), 1))
    match choices.below(12):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + b"\0" + raw[at:]
        case 2:
            return raw[:at] + bytes([choices.byte()]) + raw[at + 1 :]
        case 3:
            return text.replace('"method"', '"m\\u0065thod"').replace('"sessionId"', '"\\u0073essionId"').encode()
        case 4:
            return json.dumps(dict(reversed(list(message.items())))).encode()
        case 5:
            return (text[:-1] + f', "method": "{choices.of(METHODS)}"}}').encode()
        case 6:
            return (text[:-1] + f', "sessionId": "{choices.of(GUESSED)}"}}').encode()
        case 7:
            return json.dumps({**message, "id": choices.of((-1, 2**31, 1.5, "1", None, True, [], 2**64))}).encode()
        case 8:
            return json.dumps({**message, "params": choices.of(([], 7, "x", None, True))}).encode()
        case 9:
            return raw + raw
        case 10:
            return json.dumps([message]).encode()
        case _:
            return bytes(choices.byte() for _ in range(choices.below(40)))


def browser_message(choices: Choices, children: Sequence[str], fresh: str) -> dict[str, Any]:
    """What the browser may say on a session, without its ``sessionId``; foreign things of it are secrets."""
    match choices.below(10):
        case 0 | 1:
            return {"id": choices.below(1000), "result": {"value": "x" * choices.below(40)}}
        case 2:
            return {"id": choices.below(1000), "error": {"code": -32000, "message": "no"}}
        case 3 | 4:
            return {"method": choices.of(EVENTS), "params": {"data": '","sessionId":"' + SECRET[:0] + '"}', "n": choices.byte()}}
        case 5:
            return {"method": choices.of(SHUT_EVENTS), "params": {"targetInfo": info(SECRET, choices.of(TYPES)), "message": SECRET}}
        case 6 | 7:
            own = choices.one_in(2)
            told = info(
                choices.of(OWN) if own else SECRET, choices.of(("page", "iframe", "worker") if own else ("page", "tab", "browser_ui", "service_worker"))
            )
            return {"method": "Target.attachedToTarget", "params": {"sessionId": fresh, "targetInfo": told, "waitingForDebugger": choices.one_in(2)}}
        case 8:
            gone = choices.of((*children, *GUESSED, SECRET, "", ROOT_ID) if choices.one_in(3) or not children else children)
            return {"method": "Target.detachedFromTarget", "params": {"sessionId": gone, "targetId": SECRET if gone == SECRET else OWN[0]}}
        case _:
            return choices.of(
                (
                    {"method": "Tracing.dataCollected", "params": {"value": [{"name": SECRET, "pid": 7, "cat": "x"}, SECRET, 7]}},
                    {"method": "Tracing.tracingComplete", "params": {"dataLossOccurred": False}},
                    {"method": "Target.attachedToTarget", "params": {"sessionId": SECRET}},
                    {"method": "Target.detachedFromTarget", "params": []},
                    {"method": "Target.attachedToTarget"},
                    {"method": "Tracing.dataCollected", "params": SECRET},
                    {"error": {"code": -32700, "message": SECRET}},
                    {"method": ""},
                )
            )

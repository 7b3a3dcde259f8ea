"""One conversation with a client out of two: with an upstream MCP server and with our own engine. Sans-I/O.

Lines of the three sides go in; lines for them come out (`to_client`, `to_upstream`, `to_engine`). A line that is not
ours to change is passed on as the very bytes that came, so that unknown fields, cursors, progress and whatever a
later protocol adds survive. Changed are only the greeting (abilities and instructions of both) and listings (ours
after the last page; on a clash ours alone). Calls go to whom the name or address belongs.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from ..lines import TooLong
from ..messages import CONNECTION_CLOSED, METHOD_NOT_FOUND, Fault, describe, error_line, key, read
from .blend import LISTINGS, SCHEME, Message, greeting, names_of, page, result_of
from .pending import BOTH, ENGINE, UPSTREAM, Pending

GREETINGS = frozenset({"initialize", "server/discover"})
REPEATABLE = GREETINGS | LISTINGS.keys() | {"ping"}
"""Requests without an effect: one that was running when the upstream server ended is sent again once it is back."""
SHARED_NOTIFICATIONS = frozenset({"notifications/initialized", "notifications/roots/list_changed", "notifications/progress"})
OWN_ID = "telebrowser:"
"""Begins the ids of our own requests to either side, which the client never sees."""
ASKED_ID = "telebrowser-"
"""Begins the ids under which the client gets the engine's requests: the upstream server has ids of its own."""

READY, REPLAYING, DOWN, DEAD = "ready", "replaying", "down", "dead"

Then = Callable[[Message], None]


class Merge:
    """See the module. ``name`` is the upstream server's, for messages."""

    def __init__(self, name: str) -> None:
        self.to_client: deque[bytes] = deque()
        self.to_upstream: deque[bytes] = deque()
        self.to_engine: deque[bytes] = deque()
        self.complaints: deque[str] = deque()
        """What a person should know, for stderr."""
        self.phase = READY
        self._name = name
        self._why = ""
        self._pending: dict[Any, Pending] = {}
        self._then: dict[str, Then] = {}
        self._last_id = 0
        self._own: dict[str, Message] = {}
        self._abilities: dict[str, Any] | None = None
        self._held: deque[tuple[bytes, Pending | None]] = deque()
        self._replay: str | None = None
        self._hello: Message | None = None
        self._shaken = False
        self._initialized: bytes | None = None
        self._engine_asked: dict[str, Any] = {}
        self._upstream_asked: set[Any] = set()
        self._last_asked = 0

    @property
    def idle(self) -> bool:
        """No request of the client waits for an answer."""
        return not self._pending

    # From the client

    def client_line(self, line: bytes | TooLong) -> None:
        """One line of the client, without its end."""
        message = read(line)
        if message is None:
            return
        if isinstance(message, Fault):
            self.to_client.append(error_line(*message))
            return
        assert isinstance(line, bytes)
        line, method = line.strip(), message.get("method")
        if method is None:
            self._client_answer(message, line)
        elif "id" in message:
            self._client_request(message, method, line)
        else:
            self._client_notification(message, method, line)

    def _client_request(self, message: Message, method: str, line: bytes) -> None:
        request = Pending(message, line, UPSTREAM)
        self._pending[request.id] = request
        if method in LISTINGS:
            self._list(request)
        elif method in GREETINGS:
            self._greet(request)
        elif method == "tools/call":
            self._by_name(request, "tools/list", request.params.get("name"))
        elif method == "prompts/get":
            self._by_name(request, "prompts/list", request.params.get("name"))
        elif method == "completion/complete":
            self._complete(request)
        elif method.startswith("resources/"):
            self._send(request, ours=_is_ours(request.params.get("uri")))
        else:
            self._send(request, ours=False)

    def _send(self, request: Pending, *, ours: bool) -> None:
        """Pass a request on as it came."""
        if ours:
            request.where = ENGINE
            self.to_engine.append(request.line)
        elif self.phase == DEAD:
            self._fail(request, f"{describe(request.message, request.method)} was not sent: {self._why}")
        else:
            self._to_upstream(request.line, request)

    def _to_upstream(self, line: bytes, request: Pending | None = None) -> None:
        """Send a line, or keep it until their process is ready for it."""
        if self.phase == READY:
            self.to_upstream.append(line)
            if request is not None:
                request.sent = True
        elif self.phase != DEAD:
            self._held.append((line, request))

    def _complete(self, request: Pending) -> None:
        ref = request.params.get("ref")
        ref = ref if isinstance(ref, dict) else {}
        if ref.get("type") == "ref/prompt":
            self._by_name(request, "prompts/list", ref.get("name"))
        else:
            self._send(request, ours=_is_ours(ref.get("uri")))

    def _by_name(self, request: Pending, listing: str, name: Any) -> None:
        """Send a request to whom the name belongs. Our names are asked for when no listing has told them yet."""

        def route(_answer: Message) -> None:
            if self._pending.get(request.id) is request:
                self._send(request, ours=name in names_of(listing, self._own.get(listing)))

        if listing in self._own:
            route({})
        else:
            self._ask_list(request, listing, route)

    def _list(self, request: Pending) -> None:
        """Ask both sides; the answer is made of both."""
        request.where = BOTH
        if self.phase == DEAD or (self._abilities is not None and LISTINGS[request.method].capability not in self._abilities):
            request.where = ENGINE
        else:
            self._to_upstream(request.line, request)

        def listed(answer: Message) -> None:
            request.ours = self._own.get(request.method, answer)
            self._answer_list(request)

        self._ask_list(request, request.method, listed)

    def _answer_list(self, request: Pending) -> None:
        if self._pending.get(request.id) is not request or request.ours is None or (request.where == BOTH and request.theirs is None):
            return
        del self._pending[request.id]
        if request.theirs is None or _is_missing(request.theirs[0]):
            self.to_client.append(_dump({**request.ours, "id": request.id}))
            return
        theirs, line = request.theirs
        answer = page(request.method, theirs, request.ours) if "result" in theirs else theirs
        self.to_client.append(line if answer is theirs else _dump(answer))

    def _greet(self, request: Pending) -> None:
        if request.method == "initialize":
            self._hello, self._shaken, self._initialized = request.message, False, None
        self._send(request, ours=False)

    def _client_notification(self, message: Message, method: str, line: bytes) -> None:
        if method == "notifications/cancelled":
            self._cancel(message, line)
            return
        if method == "notifications/initialized":
            self._initialized = line
        if method in SHARED_NOTIFICATIONS:
            self.to_engine.append(line)
        self._to_upstream(line)

    def _cancel(self, message: Message, line: bytes) -> None:
        params = message.get("params")
        request = self._pending.pop(key(params.get("requestId")), None) if isinstance(params, dict) else None
        if request is None:
            return
        if request.where == ENGINE:
            self.to_engine.append(line)
        elif request.sent:
            self._to_upstream(line)
        else:
            self._held = deque(row for row in self._held if row[1] is not request)

    def _client_answer(self, message: Message, line: bytes) -> None:
        number = key(message["id"])
        if number in self._engine_asked:
            self.to_engine.append(_dump({**message, "id": self._engine_asked.pop(number)}))
        elif number in self._upstream_asked:
            self._upstream_asked.discard(number)
            self._to_upstream(line)

    # Our own requests

    def _ask(self, side: deque[bytes], method: str, params: dict[str, Any], then: Then) -> str:
        self._last_id += 1
        number = f"{OWN_ID}{self._last_id}"
        self._then[number] = then
        side.append(_dump({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def _ask_list(self, request: Pending, listing: str, then: Then) -> None:
        """Ask the engine for what we offer, in the era of ``request``; what it answers is kept for when it does not."""

        def answered(answer: Message) -> None:
            if "result" in answer:
                self._own[listing] = answer
            then(answer)

        meta = request.params.get("_meta")
        meta = {name: value for name, value in meta.items() if name != "progressToken"} if isinstance(meta, dict) else {}
        self._ask(self.to_engine, listing, {"_meta": meta} if meta else {}, answered)

    # From the engine

    def engine_line(self, line: bytes) -> None:
        """One message of the engine, or of the launcher in its place."""
        message = json.loads(line)
        if "method" in message:
            self.to_client.append(self._engine_asks(message, line) if "id" in message else self._engine_tells(message, line))
            return
        number = key(message.get("id"))
        then = self._then.pop(number, None) if isinstance(number, str) else None
        if then is not None:
            then(message)
        elif (request := self._pending.get(number)) is not None and request.where == ENGINE:
            del self._pending[number]
            self.to_client.append(line)
        elif number is None:
            self.to_client.append(line)

    def _engine_asks(self, message: Message, line: bytes) -> bytes:
        self._last_asked += 1
        number = f"{ASKED_ID}{self._last_asked}"
        self._engine_asked[number] = message["id"]
        return _dump({**message, "id": number})

    def _engine_tells(self, message: Message, line: bytes) -> bytes:
        params = message.get("params")
        if message["method"] != "notifications/cancelled" or not isinstance(params, dict):
            return line
        for number, asked in self._engine_asked.items():
            if asked == params.get("requestId"):
                del self._engine_asked[number]
                return _dump({**message, "params": {**params, "requestId": number}})
        return line

    # From the upstream server

    def upstream_line(self, line: bytes | TooLong) -> None:
        """One line of the upstream server, without its end."""
        message = read(line)
        if message is None:
            return
        if isinstance(message, Fault):
            self._upstream_fault(message)
            return
        assert isinstance(line, bytes)
        if "method" in message:
            if "id" in message:
                self._upstream_asked.add(message["id"])
            self.to_client.append(line)
            return
        number = key(message["id"])
        then = self._then.pop(number, None) if isinstance(number, str) else None
        request = self._pending.get(number)
        if then is not None:
            then(message)
        elif number is None:
            self.to_client.append(line)
        elif request is not None and request.where != ENGINE:
            self._upstream_answers(request, message, line)

    def _upstream_fault(self, fault: Fault) -> None:
        self.complaints.append(f"{self._name} wrote a line that is not JSON-RPC ({fault.text})")
        request = self._pending.get(key(json.loads(fault.id)))
        if request is not None and request.where != ENGINE:
            del self._pending[request.id]
            self._fail(request, f"{self._name} answered with a message that cannot be passed on: {fault.text}")

    def _upstream_answers(self, request: Pending, message: Message, line: bytes) -> None:
        request.theirs = message, line
        if request.where == BOTH:
            self._answer_list(request)
        elif request.method in GREETINGS and "result" in message:
            self._greeted(request, message)
        else:
            del self._pending[request.id]
            self.to_client.append(line)

    def _greeted(self, request: Pending, theirs: Message) -> None:
        """They have answered; greet the engine with the version that they chose, and answer for both."""
        result = result_of(theirs)
        abilities = result.get("capabilities")
        self._abilities = abilities if isinstance(abilities, dict) else {}
        self._shaken = request.method == "initialize"

        def greeted(ours: Message) -> None:
            if self._pending.pop(request.id, None) is not request:
                return
            if "result" in ours:
                self.to_client.append(_dump(greeting(theirs, ours)))
            else:
                self.to_client.append(_dump({**ours, "id": request.id}))

        params = request.params
        if request.method == "initialize":
            params = {**params, "protocolVersion": result.get("protocolVersion", params.get("protocolVersion"))}
        self._ask(self.to_engine, request.method, params, greeted)

    # Its process

    def upstream_ended(self, why: str, *, again: bool) -> None:
        """Its process has ended, ``why`` says how; ``again``: it is being started anew."""
        self.phase = DOWN if again else DEAD
        self._why = f"the upstream server {self._name} {why}" + ("" if again else "; restart the MCP server to have it again")
        self.complaints.append(self._why)
        self.to_upstream.clear()
        self._then.pop(self._replay or "", None)
        for request in list(self._pending.values()):
            if request.theirs is None and request.where != ENGINE and (request.sent or not again):
                self._orphaned(request, why, again=again)
        if not again:
            self._held.clear()
        for number in self._upstream_asked:
            note = {"requestId": number, "reason": "the upstream server ended"}
            self.to_client.append(_dump({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": note}))
        self._upstream_asked.clear()

    def _orphaned(self, request: Pending, why: str, *, again: bool) -> None:
        """The process that was to answer a request is gone."""
        what = describe(request.message, request.method)
        if again and request.method in REPEATABLE:
            request.sent = False
            self._held.append((request.line, request))
        elif request.where == BOTH:
            request.where = ENGINE
            self._answer_list(request)
        elif request.sent:
            text = f"The upstream server {self._name} {why} while {what} was running. It may or may not have taken effect: look at the page's state first."
            self._fail(request, text + (" It is being started again." if again else ""))
        elif request.line in [line for line, _ in self._held]:
            self._fail(request, f"{what} was not sent: {self._why}")

    def upstream_started(self) -> None:
        """Its process runs again: shake hands as the client did, then send what waits."""
        if self._hello is None or not self._shaken:
            self._resume()
            return
        self.phase = REPLAYING
        self._replay = self._ask(self.to_upstream, "initialize", self._hello.get("params", {}), self._replayed)

    def _replayed(self, answer: Message) -> None:
        if "result" not in answer:
            self.complaints.append(f"{self._name} was started again but refused to resume")
        elif self._initialized is not None:
            self.to_upstream.append(self._initialized)
        self._resume()

    def _resume(self) -> None:
        self.phase = READY
        held, self._held = self._held, deque()
        for line, request in held:
            self._to_upstream(line, request)

    def _fail(self, request: Pending, text: str) -> None:
        self._pending.pop(request.id, None)
        self.to_client.append(error_line(request.number, CONNECTION_CLOSED, text))


def _is_ours(uri: Any) -> bool:
    return isinstance(uri, str) and uri.startswith(SCHEME)


def _is_missing(answer: Message) -> bool:
    """The upstream server does not know the method."""
    error = answer.get("error")
    return isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND


def _dump(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

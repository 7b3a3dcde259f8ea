"""Paths in tool calls: which arguments they are, what the engine gets in their place, and what comes back. Sans-I/O.

A path in a tool's argument means the agent's machine. The gateway says in its answer to the upgrade
(`handover.HEADER`) which arguments of which tools are paths. A call with one of them is held here while a `Job` (which blocks, so
it runs in a thread) checks the paths and sends the files; the engine then gets references: ``upload:FOLDER/NAME`` for
a file to read, ``agent:PATH`` for a place to write. The answer to the latter names its file in ``_meta[MARK]``; it is
held until the file lies in its place. Everything else passes untouched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import TelebrowserError
from ..handover import AGENT, MARK, PASSED, READ, WRITE, Offer

if TYPE_CHECKING:
    from .address import Finder
    from .transfer_job import Depot
    from .transfer_paths import Target


FOREIGN = {"upload_file": {"filePaths": READ}, "browser_file_upload": {"paths": READ}, "browser_drop": {"paths": READ}}
"""Path arguments that other MCP servers (chrome-devtools-mcp, @playwright/mcp) hand to the browser, which lies elsewhere. What they write, they write here."""


class Call(NamedTuple):
    """A call of a tool with path arguments: the message, and the arguments by use.

    The ``line`` of a ``foreign`` tool goes on as it came; the gateway is told what its paths mean.
    """

    message: dict[str, Any]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    foreign: bool = False
    line: bytes = b""


class Job:
    """Something that blocks: `run` gives the text of the message to pass on. ``cancelled`` may be set at any time."""

    def __init__(self, request_id: Any) -> None:
        self.request_id = request_id
        self.cancelled = False

    def run(self) -> bytes:
        """Raises `TelebrowserError`, which becomes the tool's answer, or `transfer_http.Cancelled`."""
        raise NotImplementedError


class Sending(Job):
    """Check the paths of a call, send its files, and put references in their place."""

    def __init__(self, desk: Desk, request_id: Any, call: Call, folders: list[str]) -> None:
        super().__init__(request_id)
        self.targets: list[Target] = []
        self._desk, self._call, self._folders = desk, call, folders

    def run(self) -> bytes:
        from .transfer_job import paths, references
        from .transfer_paths import Roots

        roots = Roots(self._desk.cwd, [*self._desk.aliases, *self._folders])
        arguments = dict(self._call.message["params"]["arguments"])
        # Bad places to write are found before anything is sent.
        for name in self._call.writes:
            self.targets.append(roots.target(arguments[name]))
            arguments[name] = AGENT + arguments[name]
        named = references(roots, {name: arguments[name] for name in self._call.reads}, self._desk.limit, self._desk.depot(self))
        if self._call.foreign:
            self._desk.depot(self).name(paths(roots, arguments, named))
            return self._call.line
        arguments.update(named)
        params = {**self._call.message["params"], "arguments": arguments}
        return json.dumps({**self._call.message, "params": params}, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Fetching(Job):
    """Bring the file that an answer names to its place."""

    def __init__(self, desk: Desk, request_id: Any, message: dict[str, Any], mark: dict[str, Any], target: Target) -> None:
        super().__init__(request_id)
        self._desk, self._message, self._mark, self._target = desk, message, mark, target

    def run(self) -> bytes:
        self._desk.depot(self).fetch(self._mark, self._target)
        result = self._message["result"]
        meta = {name: value for name, value in result["_meta"].items() if name != MARK}
        bare = {name: value for name, value in result.items() if name != "_meta"}
        return json.dumps({**self._message, "result": {**bare, "_meta": meta} if meta else bare}, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Desk:
    """Recognises calls and answers with files and makes their jobs. ``find`` gives the gateway's address."""

    def __init__(self, find: Finder | None, cwd: str | None = None, *, session: str = "") -> None:
        self.session = session
        self.cwd = os.getcwd() if cwd is None else cwd
        self.aliases = [path for path in [os.environ.get("PWD", "")] if path.startswith("/") and os.path.realpath(path) == self.cwd]
        self.find = find
        self.offer: Offer | None = None
        self._names: tuple[bytes, ...] = ()

    @property
    def limit(self) -> int:
        """Bytes that one file may have."""
        return self.offer.limit if self.offer is not None else 0

    def offered(self, offer: Offer | None) -> None:
        """A link is open, and its gateway offers this."""
        self.offer = offer
        self._names = () if offer is None else tuple(json.dumps(tool).encode() for tool in offer.tools)

    def call(self, line: bytes) -> Call | None:
        """The call in a line of the client when its tool has path arguments and one of them is given."""
        # Nearly all lines end here, so that no line is taken apart twice for nothing.
        if self.offer is None or not any(name in line for name in self._names):
            return None
        return _call(json.loads(line), self.offer.tools)

    def foreign_call(self, line: bytes) -> Call | None:
        """The like for a line that goes to another MCP server."""
        if self.offer is None or not any(name in line for name in FOREIGN_NAMES):
            return None
        message = json.loads(line)
        call = _call(message, FOREIGN) if message.get("method") == "tools/call" else None
        return None if call is None else call._replace(foreign=True, line=line)

    def answer(self, request_id: Any, message: dict[str, Any], targets: list[Target]) -> Job | None:
        """What must be done before an answer of a call with ``targets`` may be passed on."""
        result = message.get("result")
        meta = result.get("_meta") if isinstance(result, dict) else None
        mark = meta.get(MARK) if isinstance(meta, dict) else None
        if not isinstance(mark, dict):
            return None
        return Fetching(self, request_id, message, mark, targets[0])

    def depot(self, job: Job) -> Depot:
        """The way of files for one job."""
        from .transfer_job import GatewayDepot

        assert self.find is not None
        return GatewayDepot(self.find, self.session, self.offer.shared if self.offer is not None else None, lambda: job.cancelled)


FOREIGN_NAMES = tuple(json.dumps(tool).encode() for tool in FOREIGN)


def _call(message: dict[str, Any], tools: Mapping[str, Mapping[str, str]]) -> Call | None:
    """The call in a message when its tool has path arguments and one of them is given."""
    params = message.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    name = params.get("name") if isinstance(params, dict) else None
    marks = tools.get(name) if isinstance(name, str) else None
    if marks is None or not isinstance(arguments, dict):
        return None
    reads = tuple(name for name, use in marks.items() if use == READ and _paths(arguments.get(name)))
    writes = tuple(name for name, use in marks.items() if use == WRITE and isinstance(arguments.get(name), str))
    return Call(message, reads, writes) if reads or writes else None


def _paths(value: Any) -> bool:
    """Whether an argument names at least one path; what is of a wrong type is left to the engine to refuse."""
    values = value if isinstance(value, list) else [value]
    return all(isinstance(each, str) for each in values) and any(not each.startswith(PASSED) for each in values)


def tool_error(message: dict[str, Any], error: TelebrowserError) -> bytes:
    """The answer to a call whose files could not be brought."""
    number = message.get("id")
    result: dict[str, Any] = {"content": [{"type": "text", "text": error.text()}], "isError": True}
    params = message.get("params")
    if isinstance(params, dict) and "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {}):
        result["resultType"] = "complete"
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, ensure_ascii=False).encode("utf-8", "replace")

"""The two tools by which an agent asks for a person and waits for one, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Coroutine
from typing import Any

import pydantic
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ElicitRequest, ElicitRequestURLParams, ElicitResult, InputRequiredResult, TextContent

from ..errors import TelebrowserError
from ..page.engine import Engine
from ..page.provider import HandoffPort
from .text import clean
from .tools import BY_NAME
from .validate import validated

log = logging.getLogger("telebrowser.engine")

HANDOFF = "browser_handoff"
STATUS = "browser_handoff_status"
TAB_SECONDS = 15.0
PROGRESS_SECONDS = 5.0
WAIT_SECONDS = 45
"""How long a call waits by itself: below the minute after which many clients give a call up."""
ANSWER = "handoff"
TOLD = ("id", "state", "reason", "asked_at", "deadline", "position", "via", "note", "page", "cookies_saved")

Context = ServerRequestContext[Any, Any]
Answer = CallToolResult | InputRequiredResult


class Cancelled:
    """What the client of one connection has called off, and why it said so.

    A call also ends when its connection does, or when a client has no more patience; neither takes a step away from a person
    who may be in the middle of it.
    """

    def __init__(self) -> None:
        self._reasons: dict[Any, str | None] = {}

    def begin(self, request: Any) -> None:
        """A call that wants to know begins."""
        self._reasons[request] = None

    def note(self, request: Any, reason: str) -> None:
        """The client has sent a cancellation."""
        if request in self._reasons:
            self._reasons[request] = reason

    def end(self, request: Any) -> bool:
        """The call is over; whether the client has called it off for another reason than its own deadline."""
        reason = self._reasons.pop(request, None)
        return reason is not None and not any(word in reason.lower() for word in ("timed out", "timeout", "time out", "-32001"))


class HandoffTools:
    """Serves the two tools for one session."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tasks: set[asyncio.Task[Any]] = set()

    async def call(self, ctx: Context, params: CallToolRequestParams, cancelled: Cancelled, *, own: bool) -> Answer:
        """The answer to one call; never raises but for cancellation. ``own``: another server drives the pages, so the engine has no tab of its own."""
        try:
            args = validated(BY_NAME[params.name], params.arguments)
            port = self._engine.provider.handoffs
            if port is None:
                raise TelebrowserError(
                    "BROWSER_UNAVAILABLE",
                    "No person can come to this browser: it belongs to the MCP server's own process and is shown nowhere",
                    "Go on without the step, or run `telebrowser up` and use `telebrowser mcp` without --standalone.",
                )
            if params.name == STATUS:
                return await self._status(port, args)
            return await self._handoff(ctx, params, port, {**args, "any_page": own}, cancelled)
        except TelebrowserError as error:
            log.info("%s failed with %s", params.name, error.code)
            return CallToolResult(content=[TextContent(type="text", text=clean(error.text()))], is_error=True)

    async def _status(self, port: HandoffPort, args: dict[str, Any]) -> CallToolResult:
        found = port.find(args.get("handoff"))
        if args.get("cancel") and found["state"] == "open":
            await port.cancel(found["id"])
        found = await port.wait(found["id"], args.get("wait_seconds", 0))
        return _told(found, None)

    async def _handoff(self, ctx: Context, params: CallToolRequestParams, port: HandoffPort, args: dict[str, Any], cancelled: Cancelled) -> Answer:
        cancelled.begin(ctx.request_id)
        work = asyncio.get_running_loop().create_task(self._begin(ctx, params, port, args))
        try:
            # A handoff that has just begun must be known to be called off.
            found, link = await asyncio.shield(work)
            if link is not None and _takes_urls(ctx) and not params.request_state and not ctx.session.can_send_request:
                return _input_required(found, link)
            return await self._outcome(ctx, params, port, args, found, link)
        except asyncio.CancelledError:
            if cancelled.end(ctx.request_id):
                self._keep(_call_off(port, work))
            raise
        finally:
            cancelled.end(ctx.request_id)

    async def _begin(self, ctx: Context, params: CallToolRequestParams, port: HandoffPort, args: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        """The handoff, new or the one that a client comes back to, and the link that is still to be shown to somebody."""
        if not params.request_state:
            found = await self._ask(ctx, port, args)
            return found, port.link(found["id"])
        found = port.find(params.request_state)
        answer = (params.input_responses or {}).get(ANSWER)
        action = answer.action if isinstance(answer, ElicitResult) else "cancel"
        if action == "decline":
            await port.decline(found["id"])
            found = port.find(found["id"])
        return found, None if action == "accept" or found["state"] != "open" else port.link(found["id"])

    async def _outcome(
        self, ctx: Context, params: CallToolRequestParams, port: HandoffPort, args: dict[str, Any], found: dict[str, Any], link: str | None
    ) -> CallToolResult:
        eliciting: asyncio.Task[bool] | None = None
        if link is not None and _takes_urls(ctx) and not params.request_state:
            eliciting = asyncio.get_running_loop().create_task(self._elicit(ctx, port, found, link))
        # Nobody would know of the wait when the agent itself has to show the link.
        seconds = args.get("wait_seconds", WAIT_SECONDS if link is None or eliciting is not None or found["notified"] else 0)
        try:
            found = await self._wait(ctx, port, found, seconds)
        finally:
            shown = await _result_of(eliciting)
        if eliciting is not None and found["state"] != "open":
            with contextlib.suppress(MCPError):
                await ctx.session.send_elicit_complete(found["id"])
        if found["state"] == "expired":
            raise TelebrowserError("HANDOFF_TIMEOUT", f"Nobody came until {found['deadline']}: {found['reason']}")
        return _told(found, None if shown else link)

    async def _ask(self, ctx: Context, port: HandoffPort, args: dict[str, Any]) -> dict[str, Any]:
        target: str | None = None
        if args.get("tab") is not None or not args["any_page"]:
            target = (await self._engine.tab(args.get("tab"), TAB_SECONDS)).target_id
        wait = float(args.get("wait_seconds", 0))
        return await port.ask(target, reason=args["reason"], done_when=args.get("done_when"), agent=_client_name(ctx), seconds=wait)

    async def _wait(self, ctx: Context, port: HandoffPort, found: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Wait in steps, each told as progress, so that a client that counts from the last sign of life keeps its patience."""
        waited = 0.0
        while not found["settled"] and waited < seconds:
            await ctx.session.report_progress(waited, seconds, _waiting_text(found))
            step = min(PROGRESS_SECONDS, seconds - waited)
            found = await port.wait(found["id"], step)
            waited += step
        return found

    async def _elicit(self, ctx: Context, port: HandoffPort, found: dict[str, Any], link: str) -> bool:
        """Have the client show the link; whether a person has opened it there."""
        try:
            result = await ctx.session.elicit_url(_message(found), link, found["id"], ctx.request_id)
        except (MCPError, pydantic.ValidationError) as error:
            log.info("the client did not show the link: %s", error)
            return False
        if result.action == "decline":
            await port.decline(found["id"])
        return result.action == "accept"

    def _keep(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _call_off(port: HandoffPort, work: asyncio.Task[tuple[dict[str, Any], str | None]]) -> None:
    with contextlib.suppress(TelebrowserError):
        found, _ = await work
        await port.cancel(found["id"])


async def _result_of(task: asyncio.Task[bool] | None) -> bool:
    """What a task has found so far; it is ended if it has not found anything."""
    if task is None:
        return False
    if not task.done():
        task.cancel()
    await asyncio.wait({task})
    return not task.cancelled() and task.exception() is None and task.result()


def _takes_urls(ctx: Context) -> bool:
    """Whether the client can show an address to its user."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None and capabilities.elicitation.url is not None


def _client_name(ctx: Context) -> str:
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _message(found: dict[str, Any]) -> str:
    return f"A person is needed in the browser of {found['project']}: {found['reason']}"


def _input_required(found: dict[str, Any], link: str) -> InputRequiredResult:
    request = ElicitRequest(params=ElicitRequestURLParams(mode="url", message=_message(found), url=link, elicitation_id=found["id"]))
    return InputRequiredResult(result_type="input_required", input_requests={ANSWER: request}, request_state=found["id"])


def _waiting_text(found: dict[str, Any]) -> str:
    if found["position"]:
        return f"waiting for a person; {found['position']} other request(s) come first"
    return "a person has opened the request" if found["seen_at"] else "waiting for a person"


def _told(found: dict[str, Any], link: str | None) -> CallToolResult:
    told = {"handoff" if name == "id" else name: found[name] for name in TOLD if found[name] not in (None, "")}
    if found["state"] == "open":
        told.pop("cookies_saved")
        if link is not None:
            told["link"] = link
            told["next"] = f"Show the link to your user, then call {STATUS} with wait_seconds to wait. The link opens once."
        else:
            told["next"] = f"Call {STATUS} with wait_seconds to wait on."
    elif found["state"] == "done":
        told["next"] = "Take a new snapshot: the page may have changed."
    return CallToolResult(content=[TextContent(type="text", text=clean(json.dumps(told, ensure_ascii=False)))], is_error=False)

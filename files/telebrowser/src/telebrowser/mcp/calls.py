"""One tool call from start to answer: validate, run within its deadline, turn every fault into its error."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from mcp.types import CallToolResult, ContentBlock, ImageContent, TextContent

from ..cdp.connection import CdpError, ConnectionLost, SessionGone
from ..errors import TelebrowserError
from ..listing import listing
from ..page import evaluate, files, keyboard, navigate, pointer, reading, save, screenshot, snapshot, tabs
from ..page.deadline import Deadline
from ..page.document import DocumentGone, ScriptFailed
from ..page.engine import Engine
from ..page.provider import BrowserProvider
from ..page.tab import Tab
from .access import Access
from .resources import DEFAULT_LIMIT
from .text import clean
from .tools import BY_NAME, READING, ToolDefinition
from .validate import validated

log = logging.getLogger("telebrowser.engine")

Content = list[ContentBlock]


class Answer(NamedTuple):
    """The content of a result, its ``_meta``, and for tools with an output schema the same data structured."""

    content: Content
    meta: dict[str, Any] | None = None
    structured: dict[str, Any] | None = None

    def result(self) -> CallToolResult:
        """As the protocol carries it, without what there is not."""
        made = CallToolResult(content=self.content, is_error=False)
        if self.meta is not None:
            made.meta = self.meta
        if self.structured is not None:
            made.structured_content = self.structured
        return made


class Calls:
    """Runs the tools of one session."""

    def __init__(self, engine: Engine, *, evaluate_on: bool) -> None:
        self._engine = engine
        self._evaluate_on = evaluate_on
        self.running = 0

    async def run(self, name: str, arguments: dict[str, Any] | None, access: Access | None = None) -> CallToolResult:
        """The result of one call; never raises but for cancellation. ``access`` is how the caller reaches the session."""
        self._engine.provider.activity()
        began = time.monotonic()
        self.running += 1
        try:
            answer = self._data(BY_NAME[name], arguments, access) if name in DATA else await self._run(name, arguments)
            return answer.result()
        except TelebrowserError as error:
            log.info("%s failed with %s after %d ms", name, error.code, (time.monotonic() - began) * 1000)
            return CallToolResult(content=[TextContent(type="text", text=clean(error.text() + self._notes_text()))], is_error=True)
        finally:
            self.running -= 1
            self._engine.provider.activity()

    def _data(self, tool: ToolDefinition, arguments: dict[str, Any] | None, access: Access | None) -> Answer:
        """An answer that needs no browser."""
        args = validated(tool, arguments)
        provider = self._engine.provider
        if tool.name == "browser_info":
            return self._told(tool, _info(provider, access))
        if "name" in args or "path" in args:
            return self._told(tool, *files.deliver(provider, args))
        return self._told(tool, listing(provider.downloads_dir, args.get("limit", DEFAULT_LIMIT)))

    async def _run(self, name: str, arguments: dict[str, Any] | None) -> Answer:
        tool = BY_NAME.get(name)
        if tool is None:
            raise TelebrowserError("INVALID_ARGS", f"There is no tool {name[:80]!r}", f"The tools are {', '.join(BY_NAME)}.")
        if name == "browser_evaluate" and not self._evaluate_on:
            raise TelebrowserError("EVAL_DISABLED", "browser_evaluate is turned off here")
        args = validated(tool, arguments)
        milliseconds = self._deadline_ms(tool, args)
        seconds = milliseconds / 1000
        began = time.monotonic()
        # The steps end a little before the call, so that the one that ran out of time can say so itself.
        deadline = Deadline(seconds - min(0.25, seconds / 10))
        try:
            async with asyncio.timeout(seconds):
                return await self._dispatch(tool, args, deadline)
        except TimeoutError:
            raise await self._timed_out(tool, args, round((time.monotonic() - began) * 1000)) from None
        except (DocumentGone, SessionGone):
            tab = self._engine.current
            if tab is not None and tab.crashed:
                raise tab.crash_error() from None
            raise TelebrowserError(
                "TAB_CLOSED" if tab is None or tab.closed else "REF_STALE", "The page was replaced while it was used", "Take a new snapshot and call again."
            ) from None
        except ConnectionLost as error:
            raise TelebrowserError("BROWSER_CRASHED", f"The browser went away during the call: {error}") from None
        except ScriptFailed as error:
            raise TelebrowserError("INTERNAL", f"The page-side part of {name} failed: {error}") from None
        except CdpError as error:
            raise TelebrowserError("INTERNAL", f"The browser refused a step of {name}: {error}") from None

    def _deadline_ms(self, tool: ToolDefinition, args: dict[str, Any]) -> int:
        settings = self._engine.settings
        most: int = settings.max_timeout_ms
        asked = args.get("timeout_ms", tool.default_ms or settings.tool_timeout_ms)
        return int(min(most, asked))

    async def _dispatch(self, tool: ToolDefinition, args: dict[str, Any], deadline: Deadline) -> Answer:
        engine = self._engine
        if tool.name == "browser_tabs":
            if args.get("action") == "close" and (closing := self._named(args.get("tab"))) is not None:
                self._leave_to_person(tool, closing)
            return self._told(tool, await tabs.tabs(engine, args, deadline))
        tab = await engine.tab(args.get("tab"), deadline.left())
        self._leave_to_person(tool, tab)
        if tab.dialogs.persons is not None and tool.name != "browser_get_console":
            raise TelebrowserError("DIALOG_OPEN", f"Tab {tab.name} shows a dialog ({tab.dialogs.persons}) that is the person's to answer", "Wait for them.")
        if tool.name == "browser_screenshot":
            shot = await screenshot.screenshot(engine, tab, args, deadline)
            picture: Content = [ImageContent(type="image", data=base64.b64encode(shot.data).decode(), mime_type=shot.mime)] if shot.data else []
            return self._told(tool, shot.told, shot.meta, picture)
        if tool.name == "browser_save":
            saved = await save.save(engine, tab, args, deadline)
            return self._told(tool, saved.told, saved.meta)
        if tool.name == "browser_snapshot" and args.get("format", "outline") == "outline":
            text = await snapshot.outline(engine, tab, args, deadline)
            return Answer([TextContent(type="text", text=clean(self._notes_text() + text))])
        handler = HANDLERS[tool.name]
        return self._told(tool, await handler(engine, tab, args, deadline))

    def _leave_to_person(self, tool: ToolDefinition, tab: Tab) -> None:
        """Raises ``HANDOFF_OPEN`` for what would get in the way of a person who is asked to the tab."""
        port = self._engine.provider.handoffs
        if tool.name not in READING and port is not None and (handoff := port.guarded(tab.target_id)) is not None:
            raise TelebrowserError("HANDOFF_OPEN", f"Tab {tab.name} is a person's: handoff {handoff} is open")

    def _named(self, name: str | None) -> Tab | None:
        return self._engine.current if name is None else next((tab for tab in self._engine.tabs.values() if tab.name == name), None)

    def _told(self, tool: ToolDefinition, answer: dict[str, Any], meta: dict[str, Any] | None = None, more: Iterable[ContentBlock] = ()) -> Answer:
        """An answer as JSON text, and structured where the tool says so: the same in both, as clients show the one or the other."""
        if notes := self._notes():
            answer = {**answer, "since_last_call": notes}
        text = clean(json.dumps(answer, ensure_ascii=False))
        return Answer([TextContent(type="text", text=text), *more], meta, None if tool.output is None else json.loads(text))

    def _notes(self) -> list[dict[str, Any]]:
        """What happened in any tab that no answer has told yet."""
        return [{"tab": tab.name, **note} for tab in self._engine.tabs.values() for note in tab.pending_notes()]

    def _notes_text(self) -> str:
        notes = self._notes()
        return "".join(f"\n! {json.dumps(note, ensure_ascii=False)}" for note in notes).lstrip("\n") + ("\n" if notes else "") if notes else ""

    async def _timed_out(self, tool: ToolDefinition, args: dict[str, Any], milliseconds: int) -> TelebrowserError:
        """Say what was waited for, and whether the page answers at all."""
        engine = self._engine
        tab = engine.current if args.get("tab") is None else next((each for each in engine.tabs.values() if each.name == args["tab"]), None)
        if tab is not None and not tab.closed and not tab.crashed and not await tab.respond(0.2):
            return TelebrowserError(
                "TIMEOUT",
                f"{tool.name}: the page of tab {tab.name} did not respond within {milliseconds} ms; its script is busy or it hangs",
                "Navigate the tab to recover it, or work in another tab.",
            )
        return TelebrowserError("TIMEOUT", f"{tool.name} did not finish within {milliseconds} ms")


DATA = frozenset({"browser_downloads", "browser_info"})


def _info(provider: BrowserProvider, access: Access | None) -> dict[str, Any]:
    told: dict[str, Any] = {"project": provider.project, "session": provider.session, "state": provider.status()["state"]}
    if access is None:
        return {**told, "cdp": {}, "note": "There are no endpoints: this browser belongs to the MCP server's own process."}
    note = "Secret: whoever has these addresses has the project's logins. They show this session's tabs only."
    return {**told, "cdp": {"ws": access.ws, "http": access.http}, "note": note}


Handler = Callable[[Engine, Tab, dict[str, Any], Deadline], Awaitable[dict[str, Any]]]


async def _console(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    # The answer holds the messages twice, as text and structured.
    return reading.get_console(tab, args, engine.settings.max_text_length // 2)


async def _wait_for(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    return await reading.wait_for(tab, args, deadline)


async def _dialog(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    accept = args["action"] == "accept"
    tab.dialogs.plan = (accept, args.get("text", ""))
    return {"armed": args["action"], "tab": tab.name, "note": f"the next dialog of this tab will be {'accepted' if accept else 'dismissed'}"}


HANDLERS: dict[str, Handler] = {
    "browser_navigate": navigate.navigate,
    "browser_snapshot": snapshot.elements,
    "browser_click": pointer.click,
    "browser_type": keyboard.type_text,
    "browser_upload": files.upload,
    "browser_wait_for": _wait_for,
    "browser_get_text": reading.get_text,
    "browser_scroll": reading.scroll,
    "browser_get_console": _console,
    "browser_dialog": _dialog,
    "browser_evaluate": evaluate.evaluate,
}

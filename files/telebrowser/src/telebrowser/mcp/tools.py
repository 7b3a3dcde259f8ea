"""The tools as an agent sees them: names, descriptions, parameters, annotations. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..handover import READ, WRITE


class ToolDefinition(NamedTuple):
    """One tool; ``properties`` are JSON schemas, ``required`` their mandatory names; ``output`` is the schema of a structured answer.

    ``paths`` names the arguments that are paths on the agent's machine, and whether they are read or written (`handover`).
    """

    name: str
    title: str
    description: str
    properties: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = True
    default_ms: int | None = None
    output: dict[str, Any] | None = None
    paths: Mapping[str, str] = {}

    def schema(self) -> dict[str, Any]:
        """The input schema; unknown arguments are refused."""
        schema: dict[str, Any] = {"type": "object", "properties": self.properties, "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        return schema


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
TAB = {"type": "string", "description": "Default: the current tab"}
TIMEOUT = {"type": "integer", "minimum": 1}
REF = {"type": "string", "description": "Ref from browser_snapshot"}
SELECTOR = {"type": "string", "description": "Or a CSS selector"}
PATH = {"type": "string", "description": "New file on your machine, below the working directory"}


def _common(**properties: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {**properties, "tab": TAB, "timeout_ms": TIMEOUT}


def _object(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _list(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(*required, **properties)}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def _number(description: str, low: int | None = None, high: int | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer", "description": description}
    if low is not None:
        schema["minimum"] = low
    if high is not None:
        schema["maximum"] = high
    return schema


TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        "browser_navigate",
        "Go to a page",
        "Open an address and wait until the page can be used. Answers with the final url, title and HTTP status.",
        _common(url=_text("http, https or about address; or back, forward, reload")),
        ("url",),
        default_ms=30_000,
    ),
    ToolDefinition(
        "browser_snapshot",
        "Outline of the page",
        "Outline of what the page shows, through frames and shadow roots. What can be acted on has [ref=e1]; pass that ref to the other tools. "
        "Refs stay bound to their element. Cut at max_bytes; the end says what was left out.",
        _common(
            scope=_text("Ref or CSS selector: only what is inside it"),
            depth=_number("Levels of groups to descend", 0, 100),
            format={"type": "string", "enum": ["outline", "elements"], "description": "elements: JSON list of what can be acted on, with CSS selectors"},
            include_text=_flag("Also plain text and values; default true"),
            max_items=_number("For format elements; default 100", 1, 200),
            max_bytes=_number("For the outline; default 20000", 1000, 1_000_000),
        ),
        read_only=True,
        idempotent=True,
    ),
    ToolDefinition(
        "browser_click",
        "Click",
        "Click an element with real mouse events. Fails at once, naming the reason, when it is hidden, disabled or covered. "
        "The answer tells what the click caused: navigation, new tab, dialog, download.",
        _common(
            ref=REF,
            selector=SELECTOR,
            force=_flag("If covered, dispatch the click to the element itself"),
            button={"type": "string", "enum": ["left", "right", "middle"]},
            count=_number("2 for a double click", 1, 3),
        ),
        destructive=True,
    ),
    ToolDefinition(
        "browser_type",
        "Type text",
        "Put text into a field (text, date, colour, list, rich editor …) and read back what it holds. "
        "typed is true only when the field was seen to hold the text.",
        _common(
            ref=REF,
            selector=SELECTOR,
            text=_text("The text; in a select list, the option"),
            clear_first=_flag("Replace what is there; default true"),
            submit=_flag("Then press Enter"),
        ),
        ("text",),
        destructive=True,
    ),
    ToolDefinition(
        "browser_upload",
        "Upload files",
        "Give files of your machine to a file input, visible or hidden: target the input, its label, or the button that opens the chooser; without a "
        "target it is the chooser that a click has just opened, or the page's only file input.",
        _common(
            ref=REF,
            selector=SELECTOR,
            paths={
                "type": "array",
                "items": STRING,
                "minItems": 1,
                "maxItems": 32,
                "description": "Files below the working directory; download:NAME for one of the downloads",
            },
        ),
        ("paths",),
        destructive=True,
        default_ms=30_000,
        paths={"paths": READ},
    ),
    ToolDefinition(
        "browser_wait_for",
        "Wait for something",
        "Wait until an element is visible or a text is on the page, in any frame.",
        _common(selector={"type": "string", "description": "CSS selector"}, text=_text("Text; white space is normalised")),
        read_only=True,
        idempotent=True,
        default_ms=15_000,
    ),
    ToolDefinition(
        "browser_get_text",
        "Read text",
        "Visible text of the page or one element; a form field's value.",
        _common(ref=REF, selector=SELECTOR),
        read_only=True,
        idempotent=True,
    ),
    ToolDefinition(
        "browser_screenshot",
        "Screenshot",
        "Picture of the visible part, or of the whole page (scaled down if large, never cropped). Returned inline and saved; "
        "with path it is only written there.",
        _common(
            full_page=_flag("The whole page; default false"),
            format={"type": "string", "enum": ["jpeg", "png"], "description": "Default jpeg"},
            quality=_number("For jpeg; default 80", 1, 100),
            filename=_text("Plain relative name"),
            path=PATH,
            delay_ms=_number("Wait before the capture", 0, 5000),
        ),
        default_ms=30_000,
        paths={"path": WRITE},
    ),
    ToolDefinition(
        "browser_save",
        "Save the page",
        "Save the page as pdf, as the html that it is now, or whole in one mhtml file. Without path it lies among the downloads.",
        _common(
            format={"type": "string", "enum": ["pdf", "html", "mhtml"], "description": "Default pdf"},
            path=PATH,
            landscape=_flag("For pdf"),
            ref={**REF, "description": "For html: only this element"},
            selector=SELECTOR,
        ),
        read_only=True,
        default_ms=30_000,
        paths={"path": WRITE},
    ),
    ToolDefinition(
        "browser_scroll",
        "Scroll",
        "Scroll in a direction, to an element, or to a position.",
        _common(
            direction={"type": "string", "enum": ["up", "down", "left", "right", "top", "bottom"]},
            pixels={"type": "number", "description": "How far; default 80 % of the view"},
            ref=REF,
            selector=SELECTOR,
            x={"type": "number"},
            y={"type": "number"},
        ),
        read_only=True,
    ),
    ToolDefinition(
        "browser_get_console",
        "Console messages",
        "Console messages and page errors since the last navigation.",
        _common(
            level={"type": "string", "enum": ["all", "error", "warning", "log", "info", "debug"], "description": "Default all"},
            clear_after=_flag("Then empty it"),
        ),
        read_only=True,
        output=_object(
            "messages",
            messages=_list("level", "text", level=STRING, text=STRING, timestamp={"type": "number"}, source=STRING),
            count=INTEGER,
            cleared=BOOLEAN,
            truncated=BOOLEAN,
            droppedCount=INTEGER,
        ),
    ),
    ToolDefinition(
        "browser_tabs",
        "Tabs",
        "List this session's own tabs; open, select or close one. New tabs open in the background and become the current one.",
        {
            "action": {"type": "string", "enum": ["list", "new", "select", "close"], "description": "Default list"},
            "url": _text("For new"),
            "tab": _text("For select and close, such as t2"),
            "timeout_ms": TIMEOUT,
        },
        default_ms=30_000,
        destructive=True,
        output=_object(
            "tabs",
            tabs=_list("tab", "url", tab=STRING, url=STRING, title=STRING, current=BOOLEAN, crashed=BOOLEAN),
            opened=STRING,
            closed=STRING,
        ),
    ),
    ToolDefinition(
        "browser_dialog",
        "Answer the next dialog",
        "Dialogs (alert, confirm, prompt) are dismissed at once and named in the answers. "
        "Call this first to have the tab's next one accepted, or answered with text; then repeat the action that opens it.",
        _common(action={"type": "string", "enum": ["accept", "dismiss"]}, text=_text("Answer of a prompt")),
        ("action",),
        open_world=False,
    ),
    ToolDefinition(
        "browser_evaluate",
        "Run a script",
        "Evaluate a JavaScript expression, or a function without parameters, in the page; promises are awaited. The value must be plain data.",
        _common(expression=_text("Such as document.title, or () => { … return x }")),
        ("expression",),
        destructive=True,
    ),
    ToolDefinition(
        "browser_handoff",
        "Ask for a person",
        "Ask a person to do one step in this very tab: sign-in, captcha, second factor, passkey, payment, consent. They see the same browser. "
        "Answers with the outcome (done, failed, cancelled), their note and the page's url and title; or, when nobody has come in time, with state open: "
        "then wait with browser_handoff_status. Logins are kept. Meanwhile only read this tab.",
        {
            "reason": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What to do, on which site, for the person to read"},
            "wait_seconds": _number("How long to wait for the outcome; default 45, or 0 when you have to show the link yourself", 0, 3600),
            "done_when": {
                "type": "object",
                "description": "Ends it without the person saying so, once the page shows this. url (pattern with *) only narrows it",
                "properties": {name: {"type": "string", "minLength": 1, "maxLength": 500} for name in ("url", "selector", "text")},
                "additionalProperties": False,
                "minProperties": 1,
            },
            "tab": TAB,
        },
        ("reason",),
    ),
    ToolDefinition(
        "browser_handoff_status",
        "Wait for the person",
        "What has become of a handoff; can wait for its end, or call it off.",
        {
            "handoff": _text("Its id; default: the latest"),
            "wait_seconds": _number("How long to wait; default 0", 0, 3600),
            "cancel": _flag("The step is not needed any more"),
        },
        idempotent=True,
        open_world=False,
    ),
    ToolDefinition(
        "browser_downloads",
        "Downloaded files",
        "List the newest files in the project's downloads folder; with name and path, bring one to your machine. Starts no browser.",
        {"limit": _number("Default 50", 1, 200), "name": _text("With path: this file"), "path": PATH, "timeout_ms": TIMEOUT},
        idempotent=True,
        open_world=False,
        output=_object(
            directory=STRING,
            files=_list(name=STRING, size=INTEGER, modified=STRING),
            total=INTEGER,
            truncated=BOOLEAN,
        ),
        paths={"path": WRITE},
    ),
    ToolDefinition(
        "browser_info",
        "CDP endpoints",
        "This session's CDP addresses, for scripts such as Puppeteer. They are SECRET: they open the project's logins. "
        "Never log, commit or show them. Starts no browser.",
        {"timeout_ms": TIMEOUT},
        read_only=True,
        idempotent=True,
        open_world=False,
        output=_object(project=STRING, session=STRING, state=STRING, cdp=_object(ws=STRING, http=STRING), note=STRING),
    ),
)

READING = frozenset({"browser_snapshot", "browser_get_text", "browser_wait_for", "browser_screenshot", "browser_get_console"})
"""What an agent may do with a tab while a person is asked to it: look, and neither move nor change anything."""

OWN = frozenset({"browser_handoff", "browser_handoff_status", "browser_downloads", "browser_info"})
"""The tools that are served beside those of another server, whose own tools drive the pages."""

BY_NAME = {tool.name: tool for tool in TOOLS}
PATHS = {tool.name: dict(tool.paths) for tool in TOOLS if tool.paths}
"""Path arguments by tool, as launchers are told of them."""

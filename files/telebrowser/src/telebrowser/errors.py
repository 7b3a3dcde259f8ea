"""Every error code and exit code, once.

A tool error reaches an agent as ``[CODE] what happened; what to do next``. A gateway error reaches
an HTTP client as ``{"error": {"code": …, "message": …}}``. A launcher error reaches a person as one
line on stderr and an exit code. All of them come from the two tables below, and a test fails when
a row is missing from the docs.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """One row of the table: what the code means, what to do next, and its HTTP status."""

    meaning: str
    hint: str
    status: int


CODES: dict[str, Code] = {
    "INVALID_URL": Code("The address is malformed or its scheme is not allowed.", "Use an http, https or about: address.", 400),
    "INVALID_ARGS": Code("An argument is missing, unknown, of the wrong type or out of range.", "Correct the named argument and call again.", 400),
    "PRIVATE_NETWORK_BLOCKED": Code(
        "The address, or one it redirects or resolves to, is in a private range.",
        "Use a public address, or ask the operator to allow private networks.",
        403,
    ),
    "TIMEOUT": Code("The call reached its deadline.", "Take a snapshot to see the state, then retry or raise timeout_ms.", 504),
    "ELEMENT_NOT_FOUND": Code("No element matches the target.", "Take a snapshot and use a ref from it.", 404),
    "ELEMENT_HIDDEN": Code("The element is not visible.", "Make it visible first (open its menu, scroll), then retry.", 409),
    "ELEMENT_NOT_CLICKABLE": Code("Another element covers the target.", "Close what covers it, or pass force: true.", 409),
    "ELEMENT_NOT_TYPEABLE": Code("The element does not take this text.", "Target a text field, or use the format that the message names.", 409),
    "ELEMENT_DISABLED": Code("The element is disabled.", "Enable it first, usually by filling in what the form still lacks.", 409),
    "REF_STALE": Code("The node behind the ref is gone.", "Take a new snapshot and use a ref from it.", 410),
    "DIALOG_OPEN": Code("A dialog blocks the page.", "Answer the dialog first.", 409),
    "UNSAFE_PATH": Code("The path leaves its folder.", "Use a plain relative file name.", 400),
    "BUSY_QUEUE_FULL": Code("Too many calls wait for this tab.", "Wait for the running calls to end.", 429),
    "BROWSER_CRASHED": Code("The browser or the page crashed.", "Call again: it is started anew.", 502),
    "BROWSER_UNAVAILABLE": Code("No browser can be had.", "See `telebrowser status` and `telebrowser doctor`.", 503),
    "TAB_CLOSED": Code("The tab is closed.", "List the tabs with browser_tabs and select one.", 410),
    "EVAL_DISABLED": Code("Evaluating scripts is turned off.", "Use the other tools, or ask the operator to turn it on.", 403),
    "HANDOFF_OPEN": Code(
        "A person is asked to this tab, or is at the screen; the step is theirs.",
        "Wait with browser_handoff_status; meanwhile read the page, or work in another tab.",
        409,
    ),
    "HANDOFF_TIMEOUT": Code("No person answered in time.", "Ask again, or go on without the step.", 504),
    "FORBIDDEN": Code("The token, the Origin or the Host is not accepted.", "Check the project, the secret and the address.", 403),
    "NOT_FOUND": Code("There is nothing at this path.", "See the list of paths in docs/OPERATIONS.md.", 404),
    "METHOD_NOT_ALLOWED": Code("The path does not take this HTTP method.", "Use the method that the docs name.", 405),
    "CONFLICT": Code("Another request does the same, or has done it.", "Ask for what there is, then go on from there.", 409),
    "TOO_LARGE": Code("The message or file is larger than the limit.", "Send it in smaller parts.", 413),
    "DISK_FULL": Code("The disk has no room left.", "Free room on the disk that the message names.", 507),
    "INTERNAL": Code("A fault in telebrowser itself.", "See the log of the part that the message names.", 500),
}


class TelebrowserError(Exception):
    """An error for people: a code from `CODES`, one line on what happened, and what to do next."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = " ".join(message.split())
        self.hint = CODES[code].hint if hint is None else hint

    @property
    def status(self) -> int:
        """The HTTP status that carries this error."""
        return CODES[self.code].status

    def text(self) -> str:
        """``[CODE] message hint``, on one line."""
        message = self.message if self.message.endswith((".", "!", "?")) else self.message + "."
        return f"[{self.code}] {message} {self.hint}".rstrip()

    def as_dict(self) -> dict[str, object]:
        """The body of an HTTP error answer."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_CONFIG = 3
EXIT_UNREACHABLE = 4
EXIT_FORBIDDEN = 5
EXIT_BROWSER = 6
EXIT_TIMEOUT = 7
EXIT_INTERRUPTED = 130

EXITS: dict[int, str] = {
    EXIT_OK: "Done.",
    EXIT_FAILED: "The step failed; the line on stderr says why.",
    EXIT_USAGE: "The command line is wrong.",
    EXIT_CONFIG: "A setting, a secret file or a directory is missing, unreadable or out of range.",
    EXIT_UNREACHABLE: "The gateway does not answer.",
    EXIT_FORBIDDEN: "The gateway does not accept the token.",
    EXIT_BROWSER: "The browser cannot be started, or was left down after crashes.",
    EXIT_TIMEOUT: "The step did not end in time.",
    EXIT_INTERRUPTED: "Interrupted from the keyboard.",
}


class ExitError(Exception):
    """Ends a verb with one line on stderr and an exit code from `EXITS`."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ConfigError(ExitError):
    """A setting is unknown or has a bad value; the message names it."""

    def __init__(self, message: str) -> None:
        super().__init__(EXIT_CONFIG, message)

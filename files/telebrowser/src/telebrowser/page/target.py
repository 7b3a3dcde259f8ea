"""Finding what a tool's ``ref`` or ``selector`` means, and saying exactly why it cannot be found."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from ..errors import TelebrowserError
from .deadline import Deadline
from .document import Document, DocumentGone, ScriptFailed
from .engine import Engine
from .refs import parse, shown
from .tab import Tab

SELECTOR_PATIENCE = 3.0
POLL = 0.05
MARGIN = 0.1


class Element(NamedTuple):
    """A node: its document, its number there, and the words with which the agent named it."""

    document: Document
    number: int
    given: dict[str, str]

    @property
    def shown(self) -> str:
        """The ref or selector, for messages."""
        return next(iter(self.given.values()))


async def find(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> Element:
    """The element that ``args["ref"]`` or ``args["selector"]`` names in the tab.

    A ref is looked up once. A selector is waited for: ``timeout_ms`` when the call gives it, else
    `SELECTOR_PATIENCE`. Raises ``INVALID_ARGS``, ``REF_STALE`` or ``ELEMENT_NOT_FOUND``.
    """
    ref, selector = args.get("ref"), args.get("selector")
    if (ref is None) == (selector is None):
        raise TelebrowserError("INVALID_ARGS", "Give exactly one of ref and selector")
    if ref is not None:
        return by_ref(engine, tab, ref)
    assert isinstance(selector, str)
    patience = deadline.sooner(deadline.left(), MARGIN) if "timeout_ms" in args else deadline.sooner(SELECTOR_PATIENCE, MARGIN)
    return await by_selector(engine, tab, selector, patience)


def by_ref(engine: Engine, tab: Tab, ref: str) -> Element:
    """The element of a ref; whether its node still lives is seen by the step that uses it."""
    number = parse(ref)
    if number is None:
        raise TelebrowserError("INVALID_ARGS", f"{ref!r} is not a ref: refs look like e12 and come from browser_snapshot")
    document = engine.refs.document_of(number)
    if document is None:
        raise TelebrowserError("REF_STALE", f"Ref {ref} was never handed out in this session")
    if document.gone or document.session.detached:
        raise TelebrowserError("REF_STALE", f"Ref {ref} belongs to a document that is no longer shown: the page or frame was navigated")
    if document not in tab.frames.all():
        other = next((each for each in engine.tabs.values() if each is not tab and not each.closed and each.owns(document)), None)
        raise TelebrowserError("REF_STALE", f"Ref {ref} belongs to another tab", f'Pass tab: "{other.name}".' if other else None)
    return Element(document, number, {"ref": shown(number)})


async def by_selector(engine: Engine, tab: Tab, selector: str, deadline: Deadline) -> Element:
    """The first element that a CSS selector matches: in the main frame, its shadow roots, then the other frames."""
    while True:
        for document in tab.frames.all():
            try:
                found = await document.call("adopt", selector, engine.refs.next, timeout=deadline.left() + MARGIN)
            except DocumentGone:
                continue
            except ScriptFailed as error:
                if "SyntaxError" in str(error) or "not a valid selector" in str(error):
                    raise TelebrowserError("INVALID_ARGS", f"SyntaxError: {selector!r} is not a valid CSS selector") from None
                raise
            if found:
                engine.refs.took(document, found["next"])
                return Element(document, found["number"], {"selector": selector})
        if deadline.passed(POLL):
            raise TelebrowserError("ELEMENT_NOT_FOUND", f"No element matches {selector!r}")
        await asyncio.sleep(POLL)


def stale(element: Element, reason: dict[str, Any], engine: Engine) -> TelebrowserError:
    """Why a ref's node is gone, with the new ref when exactly one element has the same role and name."""
    engine.refs.took(element.document, reason.get("next", 0))
    given = element.shown
    if reason.get("now"):
        now = shown(reason["now"])
        return TelebrowserError(
            "REF_STALE",
            f"The node of {given} was removed from the page; one element has the same role and name: {reason['role']} '{reason['name']}' is now ref {now}",
            f"Use ref {now} if that is the one you mean, or take a new snapshot.",
        )
    if reason.get("alike"):
        return TelebrowserError("REF_STALE", f"The node of {given} was removed from the page; several elements are alike ({reason['role']} '{reason['name']}')")
    return TelebrowserError("REF_STALE", f"The node of {given} was removed from the page")


def raise_for(failure: dict[str, Any], element: Element, engine: Engine) -> None:
    """Turn a page-side refusal into its error."""
    kind = failure.get("error")
    what = failure.get("what", "")
    named = f"{element.shown} ({what})" if what else element.shown
    if kind == "stale":
        raise stale(element, failure, engine)
    if kind == "hidden":
        raise TelebrowserError("ELEMENT_HIDDEN", f"{named} is not visible")
    if kind == "disabled":
        raise TelebrowserError("ELEMENT_DISABLED", f"{named} is disabled")
    if kind == "covered":
        raise TelebrowserError("ELEMENT_NOT_CLICKABLE", f"{named} is covered by {failure['by']}")
    if kind == "moving":
        raise TelebrowserError("ELEMENT_NOT_CLICKABLE", f"{named} does not stand still", "Wait until it has stopped, or pass force: true.")
    if kind == "option":
        raise TelebrowserError("ELEMENT_NOT_CLICKABLE", f"{named} is an option of a closed list", "Type the option's text into the list with browser_type.")
    if kind == "untypeable":
        raise TelebrowserError("ELEMENT_NOT_TYPEABLE", f"{named}: {failure['why']}", "Target a text field that can be written.")
    if kind == "format":
        raise TelebrowserError(
            "ELEMENT_NOT_TYPEABLE",
            f"{named} does not take this text; its format is {failure['format']}. It still holds '{failure['holds']}'",
            "Use that format.",
        )
    raise TelebrowserError("INTERNAL", f"Unexpected answer of the page for {named}: {kind}")

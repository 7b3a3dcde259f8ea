"""Running an agent's own script in the page."""

from __future__ import annotations

import json
from typing import Any

from ..cdp.connection import CdpError, SessionGone
from ..errors import TelebrowserError
from .deadline import Deadline
from .effects import conclude, describe
from .engine import Engine
from .tab import Tab

PLAIN_DATA = "Return plain data: text, numbers, lists and objects of them."


async def evaluate(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """The value of an expression, or of a function called with no arguments; promises are awaited.

    Raises ``INVALID_ARGS`` with the page's message when the script throws.
    """
    expression: str = args["expression"]
    async with tab.lock.hold():
        await tab.navigation_guard(deadline.left())
        with tab.watch() as watch:
            try:
                answer = await tab.session.call(
                    "Runtime.evaluate",
                    expression=_as_call(expression),
                    returnByValue=True,
                    awaitPromise=True,
                    userGesture=True,
                    timeout=deadline.left(),
                )
            except CdpError as error:
                if not (watch.navigating or watch.committed or "navigat" in error.message or "context" in error.message):
                    raise TelebrowserError(
                        "INVALID_ARGS", f"The value cannot be given: {error.message}", "Return plain data: text, numbers, lists and objects of them."
                    ) from None
                answer = {"result": {}}
            except SessionGone:
                return {"result": None, "closed": "the tab closed"}
            await conclude(tab, watch, deadline)
            effects = describe(tab, watch)
    details = answer.get("exceptionDetails")
    if details is not None:
        exception = details.get("exception", {})
        text = exception.get("description") or exception.get("value") or details.get("text", "")
        raise TelebrowserError("INVALID_ARGS", f"The script threw: {str(text)[:500]}", "Correct the script and call again.")
    result = answer["result"]
    value = result.get("value", result.get("unserializableValue"))
    text = json.dumps(value, ensure_ascii=False)
    limit = engine.settings.max_text_length
    if len(text) > limit:
        return {"result": text[:limit], "truncated": True, "length": len(text), **effects}
    return {"result": value, **({"type": "undefined"} if result.get("type") == "undefined" else {}), **effects}


def _as_call(expression: str) -> str:
    """A function expression is called; anything else stands as it is."""
    trimmed = expression.strip().rstrip(";")
    if trimmed.startswith(("() =>", "()=>", "async () =>", "async ()=>", "async()=>", "function", "async function")) and not trimmed.endswith("()"):
        return f"({trimmed})()"
    return expression

"""Lists of choices (``<select>``): Chromium shows them in a window of their own, which no picture of the page has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .input import BadInput

Call = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]

MAX_OPTIONS = 2000
# In frames of the same origin as well; in others the keyboard chooses, which needs no list.
_LOOK = """(x, y, most) => {
  let doc = document, at = doc.elementFromPoint(x, y);
  while (at && (at.shadowRoot || at.tagName === 'IFRAME')) {
    if (at.shadowRoot) { const inner = at.shadowRoot.elementFromPoint(x, y); if (!inner || inner === at) break; at = inner; continue; }
    let inside = null; try { inside = at.contentDocument; } catch { break; }
    if (!inside) break;
    const box = at.getBoundingClientRect(); x -= box.x + at.clientLeft; y -= box.y + at.clientTop; at = inside.elementFromPoint(x, y);
  }
  const list = at && at.closest('select');
  if (!list || list.disabled || list.multiple || list.size > 1) return null;
  list.focus();
  globalThis.__telebrowserList = list;
  const options = [...list.options].slice(0, most).map((option) => ({ text: option.label.slice(0, 200), off: option.disabled }));
  return { chosen: list.selectedIndex, options };
}"""
_CHOOSE = """(index) => {
  const list = globalThis.__telebrowserList; delete globalThis.__telebrowserList;
  if (!list || !list.isConnected || index === list.selectedIndex || !list.options[index] || list.options[index].disabled) return;
  list.selectedIndex = index;
  for (const name of ['input', 'change']) list.dispatchEvent(new Event(name, { bubbles: true }));
}"""


async def look(call: Call, x: float, y: float) -> dict[str, Any] | None:
    """The list at a point of the page: its options and the chosen one; None when there is none."""
    return await _run(call, _LOOK, x, y, MAX_OPTIONS)


async def choose(call: Call, message: Mapping[str, Any]) -> None:
    """Choose in the list that was looked at last. Raises `BadInput`."""
    index = message.get("index")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < MAX_OPTIONS:
        raise BadInput("index")
    await _run(call, _CHOOSE, index)


async def _run(call: Call, declaration: str, *arguments: float) -> dict[str, Any] | None:
    """Call a function in a world of the main frame that no page sees."""
    tree = await call("Page.getFrameTree", {})
    if not tree:
        return None
    world = await call("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "__telebrowser_view"})
    if not world:
        return None
    answer = await call(
        "Runtime.callFunctionOn",
        {
            "functionDeclaration": declaration,
            "executionContextId": world["executionContextId"],
            "arguments": [{"value": value} for value in arguments],
            "returnByValue": True,
        },
    )
    value = answer.get("result", {}).get("value")
    return value if isinstance(value, dict) else None

"""The session's tabs as a tool: list, new, select, close."""

from __future__ import annotations

import asyncio
from typing import Any

from ..errors import TelebrowserError
from . import urls
from .deadline import Deadline
from .effects import TITLE_WAIT
from .engine import Engine
from .navigate import navigate


async def tabs(engine: Engine, args: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Do the action and list the session's own tabs."""
    await engine.ready()
    action = args.get("action", "list")
    left = deadline.left()
    answer: dict[str, Any] = {}
    if action == "new":
        answer = await _new(engine, args.get("url"), deadline)
    elif action in ("select", "close"):
        if args.get("tab") is None and action == "select":
            raise TelebrowserError("INVALID_ARGS", "Give tab: the name from the list, such as t2")
        tab = next((each for each in engine.tabs.values() if each.name == args["tab"]), None) if args.get("tab") is not None else engine.current
        if tab is None:
            raise TelebrowserError("TAB_CLOSED", f"There is no tab {args.get('tab')}")
        if action == "select":
            engine.select(tab)
        else:
            await engine.close_tab(tab, left)
            answer["closed"] = tab.name
    return {**answer, **await listing(engine, deadline)}


async def _new(engine: Engine, url: str | None, deadline: Deadline) -> dict[str, Any]:
    if url is not None:
        url = urls.check(url)
        if not engine.allow_private:
            await urls.check_private(url)
    tab = await engine.new_tab("about:blank", deadline.left())
    if url is None or url == "about:blank":
        return {"opened": tab.name}
    return {"opened": tab.name, "page": await navigate(engine, tab, {"url": url}, deadline)}


async def listing(engine: Engine, deadline: Deadline) -> dict[str, Any]:
    """All own tabs. Nothing of it is asked of the pages, so a hung one never delays the list."""
    await asyncio.gather(*(tab.learn_title(deadline.left(TITLE_WAIT)) for tab in engine.tabs.values() if not tab.closed))
    current = engine.current
    return {
        "tabs": [
            {"tab": tab.name, "url": tab.url, "title": tab.title, "current": tab is current, **({"crashed": True} if tab.crashed else {})}
            for tab in engine.tabs.values()
            if not tab.closed
        ]
    }

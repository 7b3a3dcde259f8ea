"""What a client may trace: its own page, and of the browser only what tells nothing of other tabs.

Chromium keeps a page's trace to the page's own processes and the browser's; but the browser's process serves every tab,
and some of its categories write their addresses down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CATEGORIES = (
    "blink.console",
    "blink.user_timing",
    "devtools.timeline",
    "disabled-by-default-devtools.screenshot",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "disabled-by-default-devtools.timeline.invalidationTracking",
    "disabled-by-default-devtools.timeline.stack",
    "disabled-by-default-lighthouse",
    "disabled-by-default-v8.cpu_profiler",
    "disabled-by-default-v8.cpu_profiler.hires",
    "latencyInfo",
    "loading",
    "v8",
    "v8.execute",
)
"""Those that performance tools ask for, and no others."""

MAX_BUFFER_KB = 200 * 1024
"""The browser's own default; the memory is everybody's."""

_KEPT = ("transferMode", "streamFormat", "streamCompression", "bufferUsageReportingInterval", "screenshotMaxSize", "screenshotMaxCount")
_RECORD_MODES = ("recordUntilFull", "recordContinuously", "recordAsMuchAsPossible")


def confined(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of Tracing.start with the categories in `CATEGORIES` alone: those asked for, or all of them."""
    given = params.get("traceConfig")
    config: Mapping[str, Any] = given if isinstance(given, dict) else {}
    kept: dict[str, Any] = {"includedCategories": _chosen(config, params.get("categories")), "excludedCategories": ["*"]}
    if config.get("recordMode") in _RECORD_MODES:
        kept["recordMode"] = config["recordMode"]
    size = config.get("traceBufferSizeInKb")
    if isinstance(size, int | float) and size > 0:
        kept["traceBufferSizeInKb"] = min(size, MAX_BUFFER_KB)
    # tracingBackend and perfettoConfig reach beyond the browser; what is not named in _KEPT is left out.
    return {**{name: params[name] for name in _KEPT if name in params}, "traceConfig": kept}


def _chosen(config: Mapping[str, Any], legacy: Any) -> list[str]:
    included = config.get("includedCategories")
    asked: Iterable[Any] = included if isinstance(included, list) else legacy.split(",") if isinstance(legacy, str) else ()
    names = {name.strip() for name in asked if isinstance(name, str)}
    excluded = config.get("excludedCategories")
    gone = set(map(str, excluded)) if isinstance(excluded, list) else set()
    chosen = [name for name in CATEGORIES if name in names and name not in gone]
    return chosen or list(CATEGORIES)

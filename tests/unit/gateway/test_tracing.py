"""What a client's trace may hold."""

from __future__ import annotations

from telebrowser.gateway.tracing import CATEGORIES, MAX_BUFFER_KB, confined

ALL = {"includedCategories": list(CATEGORIES), "excludedCategories": ["*"]}


def test_categories_are_those_asked_for_among_those_that_are_harmless() -> None:
    asked = {"includedCategories": ["navigation", "loading", "*", "netlog", "v8", "v8.*", 7], "excludedCategories": ["v8"]}
    assert confined({"traceConfig": asked})["traceConfig"] == {"includedCategories": ["loading"], "excludedCategories": ["*"]}
    assert confined({"categories": "-*,navigation, loading ,toplevel"})["traceConfig"]["includedCategories"] == ["loading"]


def test_whoever_names_none_of_them_gets_them_all() -> None:
    for params in (
        {},
        {"categories": 7},
        {"traceConfig": 7},
        {"traceConfig": {"includedCategories": ["*"]}},
        {"categories": "disabled-by-default-memory-infra"},
    ):
        assert confined(params) == {"traceConfig": ALL}


def test_what_reaches_beyond_the_browser_is_left_out() -> None:
    wild = {"transferMode": "ReturnAsStream", "perfettoConfig": "AAAA", "tracingBackend": "system", "options": "x", "inventedTomorrow": 1}
    assert confined(wild) == {"transferMode": "ReturnAsStream", "traceConfig": ALL}
    more = {"recordMode": "echoToConsole", "enableSystrace": True, "memoryDumpConfig": {}, "traceBufferSizeInKb": 1e12}
    assert confined({"traceConfig": more})["traceConfig"] == {**ALL, "traceBufferSizeInKb": MAX_BUFFER_KB}
    assert confined({"traceConfig": {"recordMode": "recordContinuously"}})["traceConfig"] == {**ALL, "recordMode": "recordContinuously"}

"""What a client's trace may hold."""

from __future__ import annotations

import json

import pytest

from telebrowser.gateway.tracing import CATEGORIES, MAX_BUFFER_KB, NEEDED, Stream, Trace, confined
from telebrowser.gateway.wire import ProtocolError

ALL = {"includedCategories": list(CATEGORIES), "excludedCategories": ["*"]}


def test_categories_are_those_asked_for_among_those_that_are_harmless() -> None:
    asked = {"includedCategories": ["navigation", "loading", "*", "netlog", "v8", "v8.*", 7], "excludedCategories": ["v8"]}
    assert confined({"traceConfig": asked})["traceConfig"] == {"includedCategories": ["loading", *NEEDED], "excludedCategories": ["*"]}
    assert confined({"categories": "-*,navigation, loading ,toplevel"})["traceConfig"]["includedCategories"] == ["loading", *NEEDED]


def test_whoever_names_none_of_them_gets_them_all() -> None:
    for params in (
        {},
        {"categories": 7},
        {"traceConfig": 7},
        {"traceConfig": {"includedCategories": ["*"]}},
        {"categories": "disabled-by-default-memory-infra"},
    ):
        assert confined(params) == {"transferMode": "ReportEvents", "traceConfig": ALL}


def test_what_reaches_beyond_the_browser_is_left_out() -> None:
    wild = {"transferMode": "ReturnAsStream", "perfettoConfig": "AAAA", "tracingBackend": "system", "options": "x", "inventedTomorrow": 1}
    assert confined(wild) == {"transferMode": "ReportEvents", "traceConfig": ALL}
    more = {"recordMode": "echoToConsole", "enableSystrace": True, "memoryDumpConfig": {}, "traceBufferSizeInKb": 1e12}
    assert confined({"traceConfig": more})["traceConfig"] == {**ALL, "traceBufferSizeInKb": MAX_BUFFER_KB}
    kept = {"recordMode": "recordAsMuchAsPossible"}
    assert confined({"traceConfig": kept})["traceConfig"] == {**ALL, **kept}
    assert confined({"traceConfig": {"recordMode": "recordContinuously"}})["traceConfig"] == ALL, "a ring loses what tells whose an event is"


def event(name: str, pid: int, cat: str = "loading", /, **args: object) -> dict[str, object]:
    return {"name": name, "pid": pid, "cat": cat, "args": args}


def collected(params: dict[str, object], *parts: list[dict[str, object]]) -> Trace:
    trace = Trace(params)
    for part in parts:
        trace.collect(json.dumps({"method": "Tracing.dataCollected", "params": {"value": part}, "sessionId": "A" * 32}, separators=(",", ":")).encode())
    return trace


def kept(trace: Trace, *own: str) -> list[bytes]:
    """The parts of a trace; ``own`` are the main frames of the client's other pages."""
    return trace.parts(own.__contains__)


BROWSER, OWN, LATER, FOREIGN = 1, 2, 3, 4
PARTS: tuple[list[dict[str, object]], ...] = (
    [event("load", OWN, url="mine"), event("load", FOREIGN, url="theirs"), event("load", BROWSER, url="theirs")],
    [event("process_name", BROWSER, "__metadata", name="Browser"), event("process_name", FOREIGN, "__metadata", name="Renderer")],
    [event("TracingStartedInBrowser", BROWSER, data={"frames": [{"processId": OWN, "url": "mine"}]})],
    [event("FrameCommittedInBrowser", BROWSER, data={"processPseudoId": "0x1", "url": "mine"}), event("process_labels", OWN, "__metadata", labels="mine")],
    [event("ProcessReadyInBrowser", BROWSER, data={"processPseudoId": "0x1", "processId": LATER}), event("load", LATER, url="mine")],
    [event("ProcessReadyInBrowser", BROWSER, data={"processPseudoId": "0x2", "processId": FOREIGN}), event("thread_name", FOREIGN, "__metadata")],
)


def test_a_trace_holds_the_pages_own_processes_and_no_others() -> None:
    stream = Stream(kept(collected({"transferMode": "ReturnAsStream"}, *PARTS)))
    first = stream.read({"size": 10})
    rest = stream.read({})
    assert not first["eof"] and rest["eof"]
    events = json.loads(first["data"] + rest["data"])["traceEvents"]
    assert [(row["name"], row["pid"]) for row in events] == [
        ("load", OWN),
        ("process_name", BROWSER),
        ("TracingStartedInBrowser", BROWSER),
        ("FrameCommittedInBrowser", BROWSER),
        ("ProcessReadyInBrowser", BROWSER),
        ("load", LATER),
        ("ProcessReadyInBrowser", BROWSER),
    ]
    assert "theirs" not in json.dumps(events)
    assert stream.read({"offset": 0, "size": 10}) == first


def test_a_trace_that_does_not_say_whose_it_is_holds_nothing() -> None:
    assert kept(collected({}, PARTS[0], [event("process_name", OWN, "__metadata", name="Renderer")])) == []
    assert kept(collected({}, [])) == []


def test_a_trace_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telebrowser.gateway.tracing.MAX_BYTES", 600)
    trace = collected({}, *PARTS)
    assert trace.lost and len(kept(trace)) < len(PARTS)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_no_character_is_cut(size: int) -> None:
    """A stream is read as text, whatever the size of the pieces; each read comes nearer to the end."""
    stream = Stream(['"é\U0001f30d"'.encode()])
    told, text = {"eof": False}, ""
    for _ in range(100):
        told = stream.read({"size": size})
        text += told["data"]
        assert told["base64Encoded"] is False and told["data"]
        if told["eof"]:
            break
    assert json.loads(text) == {"traceEvents": ["é\U0001f30d"]}
    assert stream.read({}) == {"base64Encoded": False, "data": "", "eof": True}


@pytest.mark.parametrize("params", [{"offset": -1}, {"size": 0}, {"size": "x"}, {"offset": 1.5}])
def test_reads_of_no_sense(params: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        Stream(kept(collected({}))).read(params)


def test_only_json() -> None:
    with pytest.raises(ProtocolError, match="JSON"):
        Trace({"streamFormat": "proto"})

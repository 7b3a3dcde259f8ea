"""Whose an event is when the page's process runs frames and workers of others as well."""

from __future__ import annotations

import json
from typing import Any

import pytest

from telebrowser.gateway.trace_owner import TraceOwner

BROWSER, OWN, FOREIGN = 1, 2, 3
MAIN, CHILD, BLANK, POPUP, THEIRS = (f"{number:032X}" for number in range(1, 6))
Event = dict[str, Any]


def event(name: str, pid: int = OWN, cat: str = "devtools.timeline", tid: int = 1, /, **args: Any) -> Event:
    return {"name": name, "pid": pid, "tid": tid, "cat": cat, "args": args}


STARTED = event("TracingStartedInBrowser", BROWSER, data={"frames": [{"frame": MAIN, "processId": OWN}]})
COMMITTED = event("FrameCommittedInBrowser", BROWSER, data={"frame": CHILD, "processId": OWN, "parent": MAIN})
INTRUDER = event("TimerFire", data={"frame": THEIRS})


def kept(*events: Event, own: str = "", suspect: bool = False) -> tuple[list[Event], bool]:
    """What a trace of these events keeps, and whether something was left out that may have been the page's."""
    raw = [json.dumps(one, separators=(",", ":")).encode() for one in events]
    owner = TraceOwner()
    for one in reversed(raw):
        owner.learn([one])
    owner.settle(lambda frame: frame == own, suspect=suspect)
    return [one for one, text in zip(events, raw, strict=True) if owner.keeps(text)], owner.left_out


def test_a_process_of_the_page_alone_is_kept_whole() -> None:
    whole = [STARTED, COMMITTED, event("ProfileChunk", url="x"), event("TimerFire", data={"frame": CHILD}), event("mark", OWN, "blink.user_timing")]
    assert kept(*whole) == (whole, False)


@pytest.mark.parametrize(
    "args",
    [
        {"data": {"frame": THEIRS}},
        {"frame": THEIRS},
        {"beginData": {"frame": THEIRS}},
        {"snapshot": {"frame": {"id_ref": THEIRS}}},
        {"data": {"parent": THEIRS}},
    ],
)
def test_what_names_a_frame_of_others_is_not_kept(args: Event) -> None:
    assert kept(STARTED, event("any", OWN, "loading", **args), event("both", frame=MAIN, data=args)) == ([STARTED], False)


def test_in_a_shared_process_what_names_no_frame_must_hold_no_text() -> None:
    numbers = [event("RunTask"), event("UpdateCounters", data={"nodes": 7, "kinds": [1, None, True]})]
    texts = [
        event("ProfileChunk", data={"cpuProfile": {"nodes": [{"callFrame": {"url": "http://theirs/"}}]}}),
        event("v8.run", OWN, "v8", fileName="http://theirs/"),
        event("EventDispatch", data={"type": "their-event"}),
        event("their mark", OWN, "blink.user_timing", data={"startTime": 3}),
        event("their stamp", OWN, "devtools.timeline,blink.console"),
    ]
    assert kept(STARTED, INTRUDER, *numbers, *texts) == ([STARTED, *numbers], True)
    assert kept(STARTED, *numbers, *texts, suspect=True) == ([STARTED, *numbers], True), "nobody knows, since something is missing"


def test_what_belongs_to_requests_and_navigations_of_the_page_is_kept() -> None:
    own = [
        event("ResourceSendRequest", data={"frame": MAIN, "requestId": "9.1", "url": "http://own/"}),
        event("ResourceFinish", data={"requestId": "9.1", "didFail": False}),
        event("navigationStart", frame=MAIN, data={"navigationId": "AB"}),
        event("own mark", OWN, "blink.user_timing", data={"navigationId": "AB", "startTime": 3}),
    ]
    theirs = [
        event("ResourceSendRequest", data={"frame": THEIRS, "requestId": "9.2", "url": "http://theirs/"}),
        event("ResourceFinish", data={"requestId": "9.2", "didFail": False}),
        event("their mark", OWN, "blink.user_timing", data={"navigationId": "CD", "startTime": 3}),
        event("mixed", data={"requestId": "9.1", "url": "http://theirs/"}),
    ]
    assert kept(STARTED, *own, *theirs)[0] == [STARTED, *own]


def test_workers_are_told_by_the_frame_that_started_them() -> None:
    """A worker of others that runs while its page rests is enough to make the process a shared one."""
    mine = [event("TracingSessionIdForWorker", OWN, "x", 7, data={"frame": MAIN}), event("FunctionCall", OWN, "x", 7, data={"url": "http://own/w.js"})]
    theirs = [event("TracingSessionIdForWorker", OWN, "x", 8, data={"frame": THEIRS}), event("FunctionCall", OWN, "x", 8, data={"url": "http://theirs/w.js"})]
    assert kept(STARTED, *mine, *theirs) == ([STARTED, *mine], True)


def test_frames_without_an_address_are_their_parents() -> None:
    page = [
        STARTED,
        event("TimerFire", data={"frame": BLANK}),
        event("CommitLoad", data={"frame": BLANK, "isMainFrame": False, "parent": MAIN}),
        event("x", a="b"),
    ]
    assert kept(*page) == (page, False)
    theirs = event("CommitLoad", data={"frame": BLANK, "isMainFrame": False, "parent": THEIRS})
    assert kept(STARTED, theirs, event("x", a="b")) == ([STARTED], True)


def test_the_clients_other_pages_are_no_strangers() -> None:
    page = [STARTED, event("TimerFire", data={"frame": POPUP}), event("ProfileChunk", url="http://popup/")]
    assert kept(*page, own=POPUP) == (page, False)
    assert kept(*page) == ([STARTED], True)


def test_processes_and_names() -> None:
    """Of other processes only the names of the browser's own threads are told; of a shared one no title of a document."""
    names = [event("process_name", BROWSER, "__metadata", name="Browser"), event("thread_name", BROWSER, "__metadata", name="CrBrowserMain")]
    gone = [
        event("process_labels", OWN, "__metadata", labels="title"),
        event("thread_name", FOREIGN, "__metadata", name="x"),
        event("load", FOREIGN, frame=MAIN),
    ]
    assert kept(STARTED, *names, *gone) == ([STARTED, *names], False)


def test_what_is_no_event_is_not_kept() -> None:
    owner = TraceOwner()
    owner.learn([b"[]", b'{"pid":"x"}', b"7"])
    owner.settle(lambda frame: True, suspect=False)
    assert not any(owner.keeps(text) for text in (b"[]", b'{"pid":"x"}', b"7"))


def test_a_page_cannot_name_a_frame_in_a_text() -> None:
    text = f'"frame":"{MAIN}"'
    intruding = event("v8.run", OWN, "v8", url=text)
    assert kept(STARTED, INTRUDER, intruding)[0] == [STARTED]

"""A trace through the gateway is one that a client can use, in both ways of handing it over, and of its own page only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.pages import Pages
from tests.support.stack import Stack
from tests.support.truth import CdpError, Truth

PROJECT = "traces"


async def traced(truth: Truth, page: str, url: str, **params: Any) -> dict[str, Any]:
    """Trace a navigation; gives the parameters of the event that ends it."""
    await truth.call("Page.enable", {}, page)
    await truth.call("Tracing.start", params, page)
    await truth.call("Page.navigate", {"url": url}, page)
    await truth.event(lambda row: row["method"] == "Page.loadEventFired" and row.get("sessionId") == page)
    await truth.call("Tracing.end", {}, page)
    return dict((await truth.event(lambda row: row["method"] == "Tracing.tracingComplete", 30))["params"])


@pytest.mark.parametrize("mode", ["ReturnAsStream", "ReportEvents"])
async def test_a_trace_of_a_navigation(stack: Stack, pages: Pages, truths: Callable[..., Any], mode: str) -> None:
    truth: Truth = await truths(stack.ws(PROJECT, mode))
    page = await truth.attach((await truth.targets())[0]["targetId"])
    url = pages.add(f"traced-{mode}.html", "<h1>traced</h1><img src=/who?image>")
    done = await traced(truth, page, url, transferMode=mode, categories="devtools.timeline,navigation")
    if mode == "ReturnAsStream":
        data = ""
        while True:
            piece = await truth.call("IO.read", {"handle": done["stream"], "size": 5000}, page)
            assert piece["base64Encoded"] is False, "text, as the browser gives it"
            data += piece["data"]
            if piece["eof"]:
                break
        await truth.call("IO.close", {"handle": done["stream"]}, page)
        with pytest.raises(CdpError):
            await truth.call("IO.read", {"handle": done["stream"]}, page)
        events = json.loads(data)["traceEvents"]
    else:
        events = [event for row in truth.events if row["method"] == "Tracing.dataCollected" for event in row["params"]["value"]]
    names = {event["name"] for event in events}
    assert {"TracingStartedInBrowser", "ResourceSendRequest", "ParseHTML", "process_name"} <= names
    assert url in json.dumps(events) and done["dataLossOccurred"] is False
    assert {event["cat"] for event in events if event["name"] == "ResourceSendRequest"} == {"devtools.timeline"}

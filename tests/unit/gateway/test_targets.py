"""Who owns which target, and what a filter of target types lets through."""

from __future__ import annotations

from typing import Any

import pytest

from telebrowser.gateway.targets import Info, Targets, selects


def info(target: str, kind: str = "page", url: str = "http://a/", **more: Any) -> Info:
    return {"targetId": target, "type": kind, "title": "", "url": url, **more}


@pytest.fixture
def targets() -> Targets:
    model = Targets()
    for row in (info("blank", url="about:blank"), info("mine"), info("theirs")):
        model.put(row)
    model.claim("mine", "one")
    model.claim("theirs", "two")
    return model


@pytest.mark.parametrize("url", ["devtools://devtools/x.html", "chrome://omnibox-popup.top-chrome/", "chrome-untrusted://read-anything-side-panel.top-chrome"])
def test_what_the_window_is_made_of_is_no_page(url: str) -> None:
    """Else a browser would be thought to have pages left when its last one is closed, and end."""
    model = Targets()
    for row in (info("only"), info("part", url=url), info("its tab", "tab", url=url)):
        model.put(row)
    assert [row["targetId"] for row in model.pages()] == ["only"] and model.is_last("only")
    assert not model.exposed(info("part", url=url)) and not model.exposed(info("its tab", "tab", url=url))
    assert model.exposed(info("x", url="https://omnibox-popup.top-chrome/"))


def test_frames_and_workers_belong_to_their_page(targets: Targets) -> None:
    targets.put(info("frame", "iframe", parentId="mine"))
    targets.put(info("inner", "iframe", parentId="frame"))
    targets.put(info("worker", "worker", parentId="inner"))
    targets.put(info("shared", "shared_worker"))
    assert [targets.owner(name) for name in ("frame", "inner", "worker")] == ["one"] * 3
    assert targets.owner("shared") is targets.owner("blank") is targets.owner("unheard of") is None
    assert targets.page_for("worker") == "mine"


def test_a_circle_of_parents_ends(targets: Targets) -> None:
    targets.put(info("a", "iframe", parentId="b"))
    targets.put(info("b", "iframe", parentId="a"))
    assert targets.owner("a") is None and targets.page_for("a") is None


def test_popups_go_to_the_session_of_their_opener_however_deep_and_also_when_it_has_closed(targets: Targets) -> None:
    assert targets.decide(info("p", openerId="mine")) == ("one", "mine")
    targets.put(info("p", openerId="mine"))
    targets.claim("p", "one")
    targets.remove("p")
    assert targets.decide(info("q", openerId="p")) == ("one", "p")
    assert targets.decide(info("r", openerId="blank")) is None
    assert targets.decide(info("s")) is None


def test_clicks_that_name_no_opener_are_matched_once_by_address(targets: Targets) -> None:
    targets.expect("one", "mine", "http://b/")
    assert targets.decide(info("x", url="http://other/")) is None
    assert targets.decide(info("y", url="http://b/")) == ("one", "mine")
    assert targets.decide(info("z", url="http://b/")) is None


def test_a_click_waits_a_moment_only(targets: Targets, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    targets.expect("one", "mine", "http://b/")
    now[0] += 2.1
    assert targets.decide(info("y", url="http://b/")) is None


def test_only_an_unowned_blank_tab_is_a_placeholder(targets: Targets) -> None:
    assert targets.placeholder() == "blank"
    targets.claim("blank", "one")
    assert targets.placeholder() is None
    targets.release("blank")
    targets.put(info("blank", url="http://human/"))
    targets.put(info("popup", url="about:blank", openerId="blank"))
    targets.put(info("ui", "browser_ui", url="about:blank"))
    assert targets.placeholder() is None


def test_the_last_page_counts_what_is_about_to_close(targets: Targets, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    assert not targets.is_last("mine")
    targets.closing("blank", 5, certain=True)
    targets.closing("theirs", 5, certain=False)
    assert targets.is_last("mine") and targets.is_going("blank") and not targets.is_going("theirs")
    now[0] += 6
    assert not targets.is_last("mine"), "a close that was called off does not count for ever"
    targets.remove("theirs")
    targets.remove("blank")
    targets.put(info("tools", url="devtools://devtools/x"))
    assert targets.is_last("mine"), "a DevTools window does not keep the browser alive"


def test_tabs_belong_with_their_page(targets: Targets) -> None:
    targets.put(info("tab", "tab", embedderData={"tabActive": True}))
    assert targets.latest_tab() == "tab" and targets.unpaired_tabs() == ["tab"] and targets.owner("tab") is None
    targets.pair("tab", "mine")
    assert targets.owner("tab") == "one" and targets.tab_of("mine") == "tab" and targets.page_for("tab") == "mine" and targets.unpaired_tabs() == []
    assert targets.active_tabs() == ["tab"]
    targets.remove("mine")
    assert targets.owner("tab") is None and targets.unpaired_tabs() == ["tab"]


def test_internal_targets_are_not_exposed(targets: Targets) -> None:
    assert targets.exposed(info("x")) and targets.exposed(info("w", "service_worker"))
    for kind, url in (
        ("browser_ui", "chrome://omnibox"),
        ("page", "devtools://x"),
        ("webview", "http://a/"),
        ("background_page", "chrome-extension://x"),
        ("browser", ""),
    ):
        assert not targets.exposed(info("x", kind, url))


def test_only_so_many_closed_targets_are_remembered(targets: Targets) -> None:
    for number in range(400):
        targets.put(info(f"t{number}"))
        targets.claim(f"t{number}", "one")
        targets.remove(f"t{number}")
    assert targets.owner_ever("t399") == "one" and targets.owner_ever("t0") is None


@pytest.mark.parametrize(
    ("filters", "kind", "wanted"),
    [
        (None, "page", True),
        (None, "tab", False),
        (None, "browser", False),
        ([], "page", False),
        ([{}], "tab", True),
        ([{"type": "page", "exclude": True}, {}], "page", False),
        ([{"type": "page", "exclude": True}, {}], "tab", True),
        ([{"type": "tab"}], "page", False),
        ([{"type": "tab"}], "tab", True),
    ],
)
def test_filters_of_types(filters: list[dict[str, Any]] | None, kind: str, wanted: bool) -> None:
    assert selects(filters, kind) is wanted


def test_a_session_that_fakes_clicks_claims_nothing_for_a_while(targets: Targets, monkeypatch: pytest.MonkeyPatch) -> None:
    """A click of a page's script opens nothing; it must not wait, over and over, for a tab that a person opens."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    targets.expect("one", "mine", "http://bank/")
    now[0] += 0.9
    targets.expect("one", "mine", "http://bank/")
    now[0] += 0.2
    targets.expect("one", "mine", "http://bank/")
    assert targets.decide(info("person's", url="http://bank/")) is None
    targets.expect("two", "theirs", "http://b/")
    assert targets.decide(info("clicked", url="http://b/")) == ("two", "theirs")
    now[0] += 61
    targets.expect("one", "mine", "http://b/")
    assert targets.decide(info("clicked", url="http://b/")) == ("one", "mine")
    for number in range(100):
        targets.expect("one", "mine", f"http://bank/{number}")
    assert targets.decide(info("person's", url="http://bank/99")) is None

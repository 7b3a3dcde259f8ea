"""The session filter without sockets: what a client may send, what it gets to see."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from telebrowser.gateway.actions import Activated, Adopt, Drop, End, Operation, ToBrowser, ToClient
from telebrowser.gateway.filter import SessionFilter
from telebrowser.gateway.guard import FileGuard
from telebrowser.gateway.methods import PAGE, ROOT, SHARED, Verdict, rule
from telebrowser.gateway.targets import Info

ROOT_ID = "A" * 32
PAGE_ID = "B" * 32
OTHER_ID = "C" * 32
MINE, THEIRS = "mine", "theirs"


def info(target: str, kind: str = "page", **more: Any) -> Info:
    return {"targetId": target, "type": kind, "title": "", "url": "http://a/", "attached": True, **more}


class FakeView:
    """Two pages, of which one is this client's."""

    context_id = "CONTEXT"
    browser_id = "BROWSER"

    def __init__(self) -> None:
        self.own = {MINE: info(MINE), "frame": info("frame", "iframe", parentId=MINE), "tab": info("tab", "tab")}
        self.last = False
        self.closed: list[tuple[str, bool]] = []
        self.active = True
        self.trace: bool | None = None

    def infos(self) -> Iterable[Info]:
        return self.own.values()

    def visible(self, target: str) -> Info | None:
        return self.own.get(target)

    def is_last_page(self, target: str) -> bool:
        return self.last

    def closing(self, target: str, *, certain: bool) -> None:
        self.closed.append((target, certain))

    def owns_download(self, guid: str) -> bool:
        return guid == "my-guid"

    def may_activate(self) -> bool:
        return self.active

    def take_trace(self) -> bool:
        return self.trace is not False

    def end_trace(self) -> bool:
        return self.trace is True


class Bench:
    """A filter with a root and one attached page."""

    def __init__(self, view: FakeView, files: FileGuard) -> None:
        self.view = view
        self.filter = SessionFilter(ROOT_ID, view, files)
        assert self.attached(PAGE_ID, view.own[MINE]) == [Adopt(PAGE_ID, MINE)]

    def attached(self, session: str, target: Info, parent: str = ROOT_ID, waiting: bool = False) -> list[Any]:
        actions = self.browser(
            {"method": "Target.attachedToTarget", "params": {"sessionId": session, "targetInfo": target, "waitingForDebugger": waiting}}, parent
        )
        return [action for action in actions if not isinstance(action, ToClient)]

    def client(self, method: str, params: dict[str, Any] | None = None, session: str = "", ident: int = 7) -> list[Any]:
        message: dict[str, Any] = {"id": ident, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        return self.filter.from_client(json.dumps(message).encode())

    def browser(self, message: dict[str, Any], session: str) -> list[Any]:
        raw = json.dumps({**message, "sessionId": session}, separators=(",", ":")).encode()
        return self.filter.from_browser(raw, session)

    def refusal(self, *arguments: Any) -> str:
        (action,) = self.client(*arguments)
        assert isinstance(action, ToClient), action
        body = json.loads(action.data)
        return f"{body['error']['code']} {body['error']['message']}"

    def answer(self, *arguments: Any) -> Any:
        (action,) = self.client(*arguments)
        assert isinstance(action, ToClient), action
        return json.loads(action.data)["result"]

    def sent(self, *arguments: Any) -> dict[str, Any]:
        sent = [json.loads(action.data) for action in self.client(*arguments) if isinstance(action, ToBrowser)]
        assert len(sent) == 1
        return dict(sent[0])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "a.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("x")
    return Bench(FakeView(), FileGuard((tmp_path / "uploads",)))


def test_a_call_goes_up_in_canonical_form_on_the_clients_own_root(bench: Bench) -> None:
    (action,) = bench.filter.from_client(b' {"m\\u0065thod":"Browser.getVersion", "sessionId":"", "id":5}')
    assert action == ToBrowser(b'{"id":5,"method":"Browser.getVersion","params":{},"sessionId":"%b"}' % ROOT_ID.encode())
    (action,) = bench.client("Runtime.evaluate", {"expression": "1"}, PAGE_ID)
    assert json.loads(action.data) == {"id": 7, "method": "Runtime.evaluate", "params": {"expression": "1"}, "sessionId": PAGE_ID}


def test_only_own_sessions(bench: Bench) -> None:
    for session in (OTHER_ID, ROOT_ID, "x", PAGE_ID.lower()):
        assert bench.refusal("Runtime.evaluate", {}, session) == "-32001 Session with given id not found."


def test_bad_messages_get_an_error_and_nothing_else_happens(bench: Bench) -> None:
    for raw in (b"nonsense", b'{"id":1,"method":"A.b","params":{"x":"\0"}}', b"[]"):
        (action,) = bench.filter.from_client(raw)
        assert isinstance(action, ToClient) and "id" not in json.loads(action.data) and json.loads(action.data)["error"]["code"] in (-32700, -32600)
    for params in (b"7", b'"x"', b"[]"):
        (action,) = bench.filter.from_client(b'{"id":1,"method":"Target.getTargets","params":%b}' % params)
        assert json.loads(action.data)["error"]["code"] == -32600 and json.loads(action.data)["id"] == 1


@pytest.mark.parametrize("session", ["", PAGE_ID])
@pytest.mark.parametrize("method", sorted({*SHARED, *ROOT, *PAGE, "Memory.enable", "Page.inventedTomorrow", "Tomorrow.invented"}))
def test_every_method_keeps_to_its_verdict(bench: Bench, method: str, session: str) -> None:
    """With no parameters at all nothing may reach the browser but what the table allows."""
    verdict = rule(method, session == "").verdict
    actions = bench.client(method, {}, session)
    assert actions, method
    forwarded = [action for action in actions if isinstance(action, ToBrowser)]
    if verdict in (Verdict.DENY, Verdict.UNKNOWN):
        body = json.loads(actions[0].data)
        assert not forwarded and len(actions) == 1 and body["error"]["code"] == (-32601 if verdict is Verdict.UNKNOWN else -32000)
        assert body.get("sessionId", "") == session
    elif verdict is Verdict.EMULATE:
        assert not forwarded
    elif verdict is Verdict.ALLOW:
        assert len(forwarded) == 1


@pytest.mark.parametrize("session", ["", PAGE_ID])
@pytest.mark.parametrize("method", ["attachToTarget", "closeTarget", "activateTarget", "getTargetInfo", "getDevToolsTarget"])
def test_foreign_targets_do_not_exist(bench: Bench, method: str, session: str) -> None:
    for target in (THEIRS, "never heard of"):
        assert bench.refusal("Target." + method, {"targetId": target, "flatten": True}, session) == "-32602 No target with given id found"
    assert bench.view.closed == []


def test_listing_shows_own_targets_and_not_who_else_is_attached(bench: Bench) -> None:
    listed = bench.answer("Target.getTargets")["targetInfos"]
    assert [(row["targetId"], row["attached"]) for row in listed] == [(MINE, True), ("frame", False)]
    assert [row["targetId"] for row in bench.answer("Target.getTargets", {"filter": [{"type": "tab"}]})["targetInfos"]] == ["tab"]
    assert bench.answer("Target.getTargetInfo")["targetInfo"]["targetId"] == "BROWSER"
    assert bench.answer("Target.getTargetInfo", {}, PAGE_ID)["targetInfo"]["targetId"] == MINE
    assert bench.answer("Target.getBrowserContexts") == {"browserContextIds": [], "defaultBrowserContextId": "CONTEXT"}


def test_discovery_is_replayed_and_then_told_for_own_targets_only(bench: Bench) -> None:
    assert bench.filter.target_event("targetCreated", info("x")) == []
    *created, done = bench.client("Target.setDiscoverTargets", {"discover": True})
    assert [json.loads(action.data)["params"]["targetInfo"]["targetId"] for action in created] == [MINE, "frame"]
    assert json.loads(done.data) == {"id": 7, "result": {}}
    (event,) = bench.filter.target_event("targetDestroyed", info("x"))
    assert json.loads(event.data) == {"method": "Target.targetDestroyed", "params": {"targetId": "x"}}
    assert bench.filter.target_event("targetCreated", info("t", "tab")) == []
    bench.client("Target.setDiscoverTargets", {"discover": False})
    assert bench.filter.target_event("targetCreated", info("x")) == []
    assert bench.client("Target.setDiscoverTargets", {"discover": True, "filter": [{}]}) == [Operation("discover_tabs", 7, "", {})]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": False}, "flatten"),
        ({"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{}]}, "simultaneously"),
        ({"autoAttach": True, "flatten": True, "filter": "x"}, "filter"),
    ],
)
def test_root_auto_attach_is_refused_as_chromium_does(bench: Bench, params: dict[str, Any], said: str) -> None:
    assert said in bench.refusal("Target.setAutoAttach", params)


def test_root_auto_attach_never_reaches_the_browser(bench: Bench) -> None:
    (action,) = bench.client("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})
    assert action == Operation("auto_attach", 7, "", {})
    assert bench.filter.sessions[""].attach is not None
    bench.client("Target.setAutoAttach", {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True})
    assert bench.filter.sessions[""].attach is None


def test_page_auto_attach_leaves_the_workers_of_an_origin_alone(bench: Bench) -> None:
    sent = bench.sent("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{}]}, PAGE_ID)
    assert sent["params"]["filter"] == [{"type": "service_worker", "exclude": True}, {"type": "shared_worker", "exclude": True}, {}]
    assert "flatten" in bench.refusal("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False}, PAGE_ID)


def test_create_target_is_checked_and_stripped(bench: Bench) -> None:
    wild = {"url": "http://a/", "newWindow": True, "background": False, "focus": True, "left": 1, "windowState": "minimized", "hidden": True}
    for session in ("", PAGE_ID):
        assert bench.client("Target.createTarget", wild, session) == [Operation("create_target", 7, session, {"url": "http://a/"})]
        for url in ("chrome://quit", "file:///etc/passwd", 7):
            assert bench.refusal("Target.createTarget", {"url": url}, session).startswith("-32")
    assert "context" in bench.refusal("Target.createTarget", {"url": "http://a/", "browserContextId": "other"})


def test_closing(bench: Bench) -> None:
    assert bench.sent("Target.closeTarget", {"targetId": MINE})["params"] == {"targetId": MINE}
    assert bench.sent("Page.close", {}, PAGE_ID)["sessionId"] == PAGE_ID
    assert bench.view.closed == [(MINE, True), (MINE, False)]
    bench.view.last = True
    (operation,) = bench.client("Target.closeTarget", {"targetId": MINE})
    assert operation == Operation("close_last", 7, "", {"method": "Target.closeTarget", "params": {"targetId": MINE}, "upstream": ROOT_ID})


def test_selecting_raises_the_window_but_not_all_the_time(bench: Bench) -> None:
    assert bench.client("Target.activateTarget", {"targetId": MINE})[1] == Activated(MINE)
    assert bench.client("Page.bringToFront", {}, PAGE_ID)[1] == Activated(MINE)
    bench.view.active = False
    assert "too often" in bench.refusal("Page.bringToFront", {}, PAGE_ID)


def test_browser_close_ends_the_connection_only(bench: Bench) -> None:
    for session in ("", PAGE_ID):
        reply, end = bench.client("Browser.close", {}, session)
        assert isinstance(reply, ToClient) and isinstance(end, End)


def test_downloads_are_emulated(bench: Bench) -> None:
    assert bench.filter.download_event("downloadWillBegin", {"guid": "g"}) == []
    assert bench.answer("Browser.setDownloadBehavior", {"behavior": "allowAndName", "downloadPath": "/etc", "eventsEnabled": True}) == {}
    (event,) = bench.filter.download_event("downloadWillBegin", {"guid": "g"})
    assert json.loads(event.data) == {"method": "Browser.downloadWillBegin", "params": {"guid": "g"}}
    assert bench.answer("Page.setDownloadBehavior", {"behavior": "deny"}, PAGE_ID) == {}
    assert bench.sent("Browser.cancelDownload", {"guid": "my-guid"})["params"] == {"guid": "my-guid"}
    assert bench.refusal("Browser.cancelDownload", {"guid": "other"}).startswith("-32602")


def test_permissions_need_an_origin_and_outlive_the_connection(bench: Bench) -> None:
    (operation,) = bench.client("Browser.grantPermissions", {"permissions": ["geolocation"], "origin": "https://a", "browserContextId": "x"})
    assert operation == Operation(
        "on_control", 7, "", {"method": "Browser.grantPermissions", "params": {"permissions": ["geolocation"], "origin": "https://a"}}
    )
    assert "origin" in bench.refusal("Browser.grantPermissions", {"permissions": ["geolocation"]})
    assert "origin" in bench.refusal("Browser.setPermission", {"permission": {"name": "midi"}, "setting": "granted", "origin": "file:///"})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Page.navigate", {"url": "file:///etc/passwd"}),
        ("Page.navigate", {"url": "chrome://settings"}),
        ("Page.navigate", {}),
        ("Network.loadNetworkResource", {"url": "file:///etc/passwd", "options": {}}),
        ("Fetch.continueRequest", {"requestId": "1", "url": "file:///etc/passwd"}),
        ("Input.dispatchDragEvent", {"type": "drop", "x": 1, "y": 1, "data": {"items": [{"mimeType": "text/uri-list", "data": "file:///etc"}]}}),
        ("DOM.setFileInputFiles", {"files": ["/etc/passwd"]}),
        ("Input.dispatchDragEvent", {"type": "drop", "x": 1, "y": 1, "data": {"files": ["/etc/passwd"]}}),
    ],
)
def test_files_and_internal_pages_are_out_of_reach(bench: Bench, method: str, params: dict[str, Any]) -> None:
    assert bench.refusal(method, params, PAGE_ID).startswith("-32")


def test_files_of_the_project_go_by_their_real_path(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "uploads" / "link").symlink_to(tmp_path / "uploads" / "a.txt")
    sent = bench.sent("DOM.setFileInputFiles", {"files": [str(tmp_path / "uploads" / "link")], "backendNodeId": 3}, PAGE_ID)
    assert sent["params"] == {"files": [str(tmp_path / "uploads" / "a.txt")], "backendNodeId": 3}


def test_history_entries_are_looked_at_first(bench: Bench) -> None:
    assert bench.client("Page.navigateToHistoryEntry", {"entryId": 3}, PAGE_ID) == [Operation("history_entry", 7, PAGE_ID, {"entryId": 3})]
    assert "entryId" in bench.refusal("Page.navigateToHistoryEntry", {"entryId": "3"}, PAGE_ID)


def test_contents_size_becomes_metrics_of_the_tab(bench: Bench) -> None:
    sent = bench.sent("Browser.setContentsSize", {"windowId": 1, "width": 800, "height": 600}, PAGE_ID)
    assert (sent["method"], sent["params"]["width"], sent["sessionId"]) == ("Emulation.setDeviceMetricsOverride", 800, PAGE_ID)


def test_one_trace_at_a_time(bench: Bench) -> None:
    assert bench.sent("Tracing.start", {}, PAGE_ID)
    bench.view.trace = False
    assert "already been started" in bench.refusal("Tracing.start", {}, PAGE_ID)
    assert "not started" in bench.refusal("Tracing.end", {}, PAGE_ID)


def test_window_of_an_own_target_only(bench: Bench) -> None:
    assert bench.refusal("Browser.getWindowForTarget", {"targetId": THEIRS}).startswith("-32602")
    assert bench.refusal("Browser.getWindowForTarget", {"targetId": THEIRS}, PAGE_ID).startswith("-32602")
    assert bench.sent("Browser.getWindowForTarget", {}, PAGE_ID)["params"] == {}


# -- from the browser


def test_the_root_is_the_clients_empty_session(bench: Bench) -> None:
    assert bench.browser({"id": 5, "result": {}}, ROOT_ID) == [ToClient(b'{"id":5,"result":{}}')]
    (event,) = bench.browser({"method": "Page.loadEventFired", "params": {}}, PAGE_ID)
    assert json.loads(event.data)["sessionId"] == PAGE_ID


@pytest.mark.parametrize(
    "name", ["Browser.downloadWillBegin", "Target.targetCreated", "Target.targetInfoChanged", "Tracing.dataCollected", "Fetch.requestPaused"]
)
def test_no_other_event_of_a_root_reaches_the_client(bench: Bench, name: str) -> None:
    assert bench.browser({"method": name, "params": {"targetInfo": info(THEIRS)}}, ROOT_ID) == []
    assert bench.browser({"method": "Target.targetCreated", "params": {"targetInfo": info(THEIRS)}}, PAGE_ID) == []
    assert bench.browser({"method": "Target.receivedMessageFromTarget", "params": {}}, PAGE_ID) == []


def test_a_foreign_target_that_attaches_is_let_go_and_never_left_paused(bench: Bench) -> None:
    actions = bench.attached(OTHER_ID, info(THEIRS), waiting=True)
    sent = [json.loads(action.data) for action in actions]
    assert [(message["method"], message["sessionId"]) for message in sent] == [
        ("Runtime.runIfWaitingForDebugger", OTHER_ID),
        ("Target.detachFromTarget", ROOT_ID),
    ]
    assert all(message["id"] < 0 for message in sent)
    assert OTHER_ID not in bench.filter.sessions
    assert bench.attached(OTHER_ID, info("omnibox", "browser_ui"))


def test_frames_and_workers_of_an_own_page_come_with_it_and_go_with_it(bench: Bench) -> None:
    frame, worker = "D" * 32, "E" * 32
    assert bench.attached(frame, info("new-frame", "iframe"), PAGE_ID) == [Adopt(frame, "new-frame")]
    assert bench.attached(worker, info("new-worker", "worker"), frame) == [Adopt(worker, "new-worker")]
    actions = bench.browser({"method": "Target.detachedFromTarget", "params": {"sessionId": PAGE_ID, "targetId": MINE}}, ROOT_ID)
    assert {action.session for action in actions if isinstance(action, Drop)} == {PAGE_ID, frame, worker}
    assert set(bench.filter.sessions) == {""}


def test_a_virtual_root_falls_under_the_same_rules(bench: Bench) -> None:
    child = "F" * 32
    assert bench.sent("Target.attachToBrowserTarget")["method"] == "Target.attachToBrowserTarget"
    assert "Not allowed" in bench.refusal("Target.attachToBrowserTarget", {}, PAGE_ID)
    assert bench.attached(child, info("BROWSER", "browser")) == [Adopt(child, "BROWSER")]
    assert bench.refusal("Fetch.enable", {}, child).startswith("-32000")
    assert bench.refusal("Runtime.evaluate", {}, child).startswith("-32601")
    assert bench.answer("Target.getTargetInfo", {}, child)["targetInfo"]["targetId"] == "BROWSER"
    assert bench.browser({"method": "Fetch.requestPaused", "params": {}}, child) == []
    bench.client("Target.setDiscoverTargets", {"discover": True}, child)
    (event,) = bench.filter.target_event("targetCreated", info("x"))
    assert json.loads(event.data)["sessionId"] == child


def test_detaching_a_foreign_session_is_refused(bench: Bench) -> None:
    for session in (OTHER_ID, ROOT_ID, ""):
        assert bench.refusal("Target.detachFromTarget", {"sessionId": session}) == "-32602 No session with given id"
    assert bench.sent("Target.detachFromTarget", {"sessionId": PAGE_ID})["params"] == {"sessionId": PAGE_ID}


def test_a_client_of_one_page(tmp_path: Path) -> None:
    one = SessionFilter(ROOT_ID, FakeView(), FileGuard((tmp_path,)), (MINE, PAGE_ID))
    (sent,) = one.from_client(b'{"id":1,"method":"Runtime.evaluate","params":{"expression":"1"}}')
    assert json.loads(sent.data)["sessionId"] == PAGE_ID
    (refused,) = one.from_client(b'{"id":1,"method":"Browser.crash"}')
    assert isinstance(refused, ToClient)
    event = b'{"method":"Page.loadEventFired","params":{},"sessionId":"%b"}' % PAGE_ID.encode()
    assert one.from_browser(event, PAGE_ID) == [ToClient(b'{"method":"Page.loadEventFired","params":{}}')]
    gone = b'{"method":"Target.detachedFromTarget","params":{"sessionId":"%b"},"sessionId":"%b"}' % (PAGE_ID.encode(), ROOT_ID.encode())
    assert one.from_browser(gone, ROOT_ID) == [End("the page is closed")]
    assert one.from_browser(gone.replace(PAGE_ID.encode(), OTHER_ID.encode(), 1), ROOT_ID) == []
    assert one.from_browser(b'{"id":3,"result":{},"sessionId":"%b"}' % ROOT_ID.encode(), ROOT_ID) == []


def test_a_recording_shows_the_tab_and_not_the_window(bench: Bench) -> None:
    assert bench.sent("Page.startScreenRecording", {"audio": True}, PAGE_ID)["params"] == {"audio": True, "captureArea": "target"}
    assert "Only the tab" in bench.refusal("Page.startScreenRecording", {"captureArea": "browserWindow"}, PAGE_ID)

"""Targets, sessions and windows of others, by every method that names one, and what is rewritten or emulated."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from tests.security.arena import ATTACKER, PROJECT, VICTIM, Arena, Attacker
from tests.support.truth import CdpError, Truth

from .registry import Run, add, attempt

ADDRESSES = [
    "chrome://quit",
    "chrome://settings",
    "CHROME://version",
    "chrome:version",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    " file:///etc/passwd",
    "fi\tle:///etc/passwd",
    "\x01file:///etc/passwd",
    "view-source:file:///etc/passwd",
    "devtools://devtools/bundled/inspector.html",
    "chrome-untrusted://theme",
    "chrome-extension://a/b",
    "about:version",
    "filesystem:file:///etc/passwd",
    "blob:chrome://settings/1",
    "javascript:alert(1)",
]
NAMING = {
    "Target.attachToTarget": {"flatten": True},
    "Target.closeTarget": {},
    "Target.activateTarget": {},
    "Target.getTargetInfo": {},
    "Target.getDevToolsTarget": {},
    "Browser.getWindowForTarget": {},
}
SHAPES: list[Any] = [None, [{}], [{"type": "tab"}], [{"type": "browser_ui"}], [{"type": "page"}]]
FRAME = [
    ("Accessibility.getFullAXTree", {}),
    ("Accessibility.getRootAXNode", {}),
    ("Page.getResourceContent", {"url": ""}),
    ("Page.searchInResource", {"url": "", "query": "secret"}),
    ("Page.createIsolatedWorld", {"grantUniveralAccess": True}),
    ("Page.setDocumentContent", {"html": "gone"}),
    ("Page.getPermissionsPolicyState", {}),
    ("Page.getOriginTrials", {}),
    ("Page.navigate", {"url": "about:blank"}),
    ("DOM.getFrameOwner", {}),
    ("CSS.createStyleSheet", {}),
    ("Storage.getStorageKey", {}),
    ("Storage.getStorageKeyForFrame", {}),
    ("Network.getSecurityIsolationStatus", {}),
    ("Network.loadNetworkResource", {"url": "http://127.0.0.1/", "options": {"disableCache": False, "includeCredentials": True}}),
    ("WebMCP.invokeTool", {"toolName": "t", "input": {}}),
    ("DigitalCredentials.setVirtualWalletBehavior", {"action": "decline"}),
]


def opens(method: str, address: str, on_page: bool) -> Run:
    """An internal address is not opened."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        answer = await attacker.answer(method, {"url": address}, attacker.page if on_page else "")
        made = answer.get("result", {}).get("targetId")
        if made:
            await attacker.answer("Target.closeTarget", {"targetId": made})
        assert "error" in answer, answer

    return run


for _address in ADDRESSES:
    add(f"createTarget {_address!r}", opens("Target.createTarget", _address, False))
    add(f"navigate {_address!r}", opens("Page.navigate", _address, True))
add("createTarget 'file:///etc/passwd' on a page", opens("Target.createTarget", "file:///etc/passwd", True))


def foreign(method: str, more: dict[str, Any], on_page: bool, whose: str) -> Run:
    """A target of somebody else does not exist."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        params = {**more, "targetId": arena.others[whose].target}
        assert await attacker.refused(method, params, attacker.page if on_page else "") == "No target with given id found"

    return run


for _method, _more in NAMING.items():
    add(f"root {_method} of the victim", foreign(_method, _more, False, "victim"))
    add(f"page {_method} of the person", foreign(_method, _more, True, "person"))


def lists(params: dict[str, Any], on_page: bool) -> Run:
    """Own targets only. What leaks is found in the frames."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        infos = (await attacker.call("Target.getTargets", params, attacker.page if on_page else ""))["targetInfos"]
        assert not [info for info in infos if info["type"] in ("browser_ui", "service_worker", "shared_worker")]
        assert len([info for info in infos if info["type"] == "page"]) <= 1, infos

    return run


for _number, _shape in enumerate(SHAPES):
    for _page in (False, True):
        add(f"{'page' if _page else 'root'} getTargets filter {_number}", lists({} if _shape is None else {"filter": _shape}, _page))


async def stir(arena: Arena) -> None:
    """The others do things of which browsers tell everybody: open a tab, name it, close it."""
    for other in (arena.person, arena.victim):
        made = (await other.truth.call("Target.createTarget", {"url": f"{arena.pages.base}/who?{other.mark}-stir"}))["targetId"]
        session = await other.truth.attach(made)
        await other.truth.call("Runtime.evaluate", {"expression": f"document.title='{other.mark}-title'"}, session)
        arena.needles.add(made)
        await other.truth.call("Target.closeTarget", {"targetId": made})


def listens(method: str, params: dict[str, Any], on_page: bool) -> Run:
    """What the others do is not told. What leaks is found in the frames."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        await attacker.answer(method, params, attacker.page if on_page else "")
        await stir(arena)
        await attacker.call("Runtime.evaluate", {"expression": "1"}, attacker.page)

    return run


WAIT = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
for _page in (False, True):
    _where = "page" if _page else "root"
    add(f"{_where} setDiscoverTargets", listens("Target.setDiscoverTargets", {"discover": True, "filter": [{}]}, _page))
    add(f"{_where} setAutoAttach", listens("Target.setAutoAttach", WAIT, _page))
    add(f"{_where} setAutoAttach of tabs", listens("Target.setAutoAttach", {**WAIT, "filter": [{"type": "tab"}]}, _page))
    add(f"{_where} setAutoAttach of anything", listens("Target.setAutoAttach", {**WAIT, "filter": [{}]}, _page))
for _method in ("Page.enable", "Network.enable", "Log.enable", "Audits.enable", "Preload.enable", "DOMStorage.enable", "Storage.trackCacheStorageForOrigin"):
    add(f"listening by {_method}", listens(_method, {"origin": "http://127.0.0.1"} if "Storage." in _method and "track" in _method else {}, True))


def frame(method: str, more: dict[str, Any]) -> Run:
    """A frame of somebody else does not exist for a page's session."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        tree = (await arena.victim.truth.call("Page.getFrameTree", {}, arena.victim.session))["frameTree"]
        await attacker.call("DOM.enable", {}, attacker.page)
        await attacker.call("CSS.enable", {}, attacker.page)
        params = {**more, "frameId": tree["frame"]["id"]}
        if "url" in params and not params["url"]:
            params["url"] = tree["frame"]["url"]
        await attacker.answer(method, params, attacker.page)
        attacker.frames[:] = [text for text in attacker.frames if '"error"' not in text or arena.victim.mark in text]

    return run


for _method, _more in FRAME:
    add(f"foreign frame by {_method}", frame(_method, _more))


def session_of(whose: str, method: str, params: dict[str, Any]) -> Run:
    """A session of somebody else does not exist."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        answer = await attacker.answer(method, params, arena.others[whose].session, 1)
        assert answer.get("error", {}).get("code") == -32001, answer

    return run


STEAL = {"expression": "document.title='taken'"}
for _whose in ("victim", "person", "neighbour"):
    add(f"evaluate in a session of the {_whose}", session_of(_whose, "Runtime.evaluate", STEAL))
    add(f"navigate in a session of the {_whose}", session_of(_whose, "Page.navigate", {"url": "about:blank"}))
    add(f"close the page of a session of the {_whose}", session_of(_whose, "Page.close", {}))


@attempt("detach the victim's session")
async def _detach(arena: Arena, attacker: Attacker) -> None:
    await attacker.refused("Target.detachFromTarget", {"sessionId": arena.victim.session})


@attempt("detach by the victim's target")
async def _detach_target(arena: Arena, attacker: Attacker) -> None:
    await attacker.refused("Target.detachFromTarget", {"targetId": arena.victim.target})


@attempt("a session that is not flat")
async def _not_flat(arena: Arena, attacker: Attacker) -> None:
    await attacker.refused("Target.attachToTarget", {"targetId": attacker.target})
    await attacker.refused("Target.attachToTarget", {"targetId": attacker.target, "flatten": False}, attacker.page)


@attempt("a second root lists")
async def _second_root(arena: Arena, attacker: Attacker) -> None:
    root = (await attacker.call("Target.attachToBrowserTarget"))["sessionId"]
    await attacker.call("Target.getTargets", {"filter": [{}]}, root)
    await attacker.call("Target.setDiscoverTargets", {"discover": True, "filter": [{}]}, root)
    await stir(arena)
    await attacker.call("Browser.getVersion", {}, root)


for _method, _params in (
    ("SystemInfo.getProcessInfo", {}),
    ("Storage.clearCookies", {}),
    ("Fetch.enable", {}),
    ("Tracing.start", {}),
    ("Target.setRemoteLocations", {"locations": []}),
):

    def _make(method: str, params: dict[str, Any]) -> Run:
        async def run(arena: Arena, attacker: Attacker) -> None:
            root = (await attacker.call("Target.attachToBrowserTarget"))["sessionId"]
            await attacker.refused(method, params, root)

        return run

    add(f"a second root calls {_method}", _make(_method, _params))


@attempt("a root inside a page's session")
async def _inner_root(arena: Arena, attacker: Attacker) -> None:
    await attacker.refused("Target.attachToBrowserTarget", {}, attacker.page)


def closes(on_page: bool) -> Run:
    """Ends the attacker's connection and nothing else."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        await attacker.answer("Browser.close", {}, attacker.page if on_page else "")
        async with asyncio.timeout(10):
            await attacker.truth.closed.wait()

    return run


add("root Browser.close", closes(False))
add("page Browser.close", closes(True))


@attempt("a tab in front of the person")
async def _in_front(arena: Arena, attacker: Attacker) -> None:
    wild = {
        "url": "about:blank",
        "background": False,
        "focus": True,
        "newWindow": True,
        "windowState": "maximized",
        "left": 1,
        "top": 1,
        "width": 300,
        "height": 300,
    }
    made = (await attacker.call("Target.createTarget", wild))["targetId"]
    mine = (await attacker.call("Browser.getWindowForTarget", {"targetId": made}))["windowId"]
    theirs = (await arena.person.truth.call("Browser.getWindowForTarget", {"targetId": arena.person.target}))["windowId"]
    harm = await arena.harm()
    await attacker.call("Target.closeTarget", {"targetId": made})
    assert mine == theirs and not harm, harm


@attempt("a hidden tab in a context of its own")
async def _context(arena: Arena, attacker: Attacker) -> None:
    await attacker.refused("Target.createTarget", {"url": "about:blank", "browserContextId": "0123456789ABCDEF0123456789ABCDEF"})


@attempt("the size of the person's window by the page")
async def _contents_size(arena: Arena, attacker: Attacker) -> None:
    window = (await attacker.call("Browser.getWindowForTarget", {}, attacker.page))["windowId"]
    await attacker.answer("Browser.setContentsSize", {"windowId": window, "width": 500, "height": 400}, attacker.page)


@attempt("the person's window minimised")
async def _minimise(arena: Arena, attacker: Attacker) -> None:
    window = (await attacker.call("Browser.getWindowForTarget", {}, attacker.page))["windowId"]
    await attacker.refused("Browser.setWindowBounds", {"windowId": window, "bounds": {"windowState": "minimized"}}, attacker.page)


@attempt("tabs selected over and over")
async def _flood(arena: Arena, attacker: Attacker) -> None:
    answers = [await attacker.answer("Page.bringToFront", {}, attacker.page) for _ in range(40)]
    await arena.person.truth.call("Page.bringToFront", {}, arena.person.session)
    assert any("error" in answer for answer in answers)


@attempt("a picture of the person's tab by the view")
async def _view(arena: Arena, attacker: Attacker) -> None:
    data = (await attacker.call("Page.captureScreenshot", {"fromSurface": False, "format": "png"}, attacker.page))["data"]
    assert base64.b64decode(data).startswith(b"\x89PNG")
    code = (
        f"(async()=>{{const b=await createImageBitmap(await (await fetch('data:image/png;base64,{data}')).blob());"
        "const c=new OffscreenCanvas(b.width,b.height).getContext('2d');c.drawImage(b,0,0);"
        "const d=c.getImageData(0,0,b.width,b.height).data;let n=0;for(let i=0;i<d.length;i+=4)if(d[i]>200&&d[i+1]<80&&d[i+2]<80)n++;return n})()"
    )
    assert await attacker.eval(code) == 0, "pixels of the person's page"


@attempt("a recording of the window")
async def _recording(arena: Arena, attacker: Attacker) -> None:
    await attacker.refused("Page.startScreenRecording", {"captureArea": "browserWindow"}, attacker.page)


def permission(method: str, params: dict[str, Any]) -> Run:
    """Permissions are given for one web origin at a time."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        await attacker.refused(method, params)

    return run


for _name, _method, _params in (
    ("everywhere", "Browser.grantPermissions", {"permissions": ["geolocation", "midiSysex"]}),
    ("for files", "Browser.grantPermissions", {"permissions": ["geolocation"], "origin": "file:///"}),
    ("for settings", "Browser.setPermission", {"permission": {"name": "midi"}, "setting": "granted", "origin": "chrome://settings"}),
    ("for all by setting", "Browser.setPermission", {"permission": {"name": "midi"}, "setting": "granted"}),
):
    add(f"permissions {_name}", permission(_method, _params))


TRACED = ["*", "navigation", "netlog", "toplevel", "loading", "disabled-by-default-net", "blink", "content", "browser", "ServiceWorker"]


def traces(config: dict[str, Any]) -> Run:
    """A trace tells nothing of other tabs. What leaks is found in the frames."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        started = await attacker.answer("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config}, attacker.page)
        assert "result" in started, started
        try:
            await stir(arena)
            await arena.person.truth.call("Page.reload", {}, arena.person.session)
            await arena.person.truth.event(lambda row: row.get("method") == "Page.loadEventFired")
            arena.person.truth.events.clear()
        finally:
            await attacker.call("Tracing.end", {}, attacker.page)
            await attacker.truth.event(lambda row: row.get("method") == "Tracing.tracingComplete", 30)

    return run


add("a trace of everything", traces({"includedCategories": TRACED, "recordMode": "recordUntilFull"}))
add("a trace of what is allowed", traces({}))


@attempt("the end of somebody else's trace")
async def _foreign_trace(arena: Arena, attacker: Attacker) -> None:
    victim = arena.victim
    await victim.truth.call("Tracing.start", {}, victim.session)
    try:
        assert "error" in await attacker.answer("Tracing.start", {}, attacker.page)
        assert "error" in await attacker.answer("Tracing.end", {}, attacker.page)
    finally:
        await victim.truth.call("Tracing.end", {}, victim.session)
        await victim.truth.event(lambda row: row.get("method") == "Tracing.tracingComplete", 30)
        victim.truth.events.clear()


@attempt("an old session id after a reconnect")
async def _old_session(arena: Arena, attacker: Attacker) -> None:
    again = await arena.attacker()
    try:
        for old in (attacker.page, again.page[::-1], again.page.lower()):
            answer = await again.answer("Runtime.evaluate", STEAL, old, 1)
            assert answer.get("error", {}).get("code") == -32001, answer
    finally:
        await again.close()


@attempt("a page's endpoint of the victim")
async def _page_endpoint(arena: Arena, attacker: Attacker) -> None:
    await _no_endpoint(arena.stack.path(f"s/{ATTACKER}/devtools/page/{arena.victim.target}", PROJECT, "ws"))


@attempt("a page's endpoint of the neighbour")
async def _neighbour_endpoint(arena: Arena, attacker: Attacker) -> None:
    await _no_endpoint(arena.stack.path(f"devtools/page/{arena.neighbour.target}", PROJECT, "ws"))


async def _no_endpoint(url: str) -> None:
    try:
        truth = await Truth.connect(url)
    except Exception as error:
        assert "404" in str(error), error
        return
    await truth.close()
    raise AssertionError("a page endpoint of somebody else was opened")


@attempt("own page endpoint has no more power")
async def _own_endpoint(arena: Arena, attacker: Attacker) -> None:
    truth = await Truth.connect(arena.stack.path(f"s/{ATTACKER}/devtools/page/{attacker.target}", PROJECT, "ws"))
    try:
        assert {info["targetId"] for info in await truth.targets()} == {attacker.target}
        for method in ("Browser.crash", "Storage.clearCookies", "Target.attachToBrowserTarget"):
            try:
                await truth.call(method)
            except CdpError:
                continue
            raise AssertionError(f"{method} was answered")
    finally:
        await truth.close()


@attempt("the list of another session's name")
async def _list(arena: Arena, attacker: Attacker) -> None:
    rows = arena.stack.http("GET", f"s/{ATTACKER}/json/list", PROJECT).json
    assert not arena.leaked([json.dumps(rows)]), rows


for _action in ("activate", "close"):

    def _by_path(action: str) -> Run:
        async def run(arena: Arena, attacker: Attacker) -> None:
            reply = arena.stack.http("GET", f"s/{ATTACKER}/json/{action}/{arena.victim.target}", PROJECT)
            assert reply.status == 404, reply

        return run

    add(f"json/{_action} of the victim's tab", _by_path(_action))

for _url in ("file:///etc/passwd", "chrome://version", "view-source:http://a/", "devtools://devtools/bundled/inspector.html"):

    def _new(url: str) -> Run:
        async def run(arena: Arena, attacker: Attacker) -> None:
            reply = arena.stack.http("PUT", f"s/{ATTACKER}/json/new?{url}", PROJECT)
            assert reply.status == 400, reply

        return run

    add(f"json/new {_url}", _new(_url))

assert VICTIM != ATTACKER

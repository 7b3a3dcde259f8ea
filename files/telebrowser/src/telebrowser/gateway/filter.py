"""The session filter: one client's view of one browser, without any input or output.

`SessionFilter.from_client` and `from_browser` turn a message into actions that the owner of the
connections carries out. What exists for the client comes from a `View`; which calls it may make from
`methods`. The client's own root is the empty session id; upstream it is a virtual root of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from . import wire
from .actions import Actions, Activated, Adopt, Drop, End, Operation, Resumed, Session, ToBrowser, ToClient, View
from .guard import FileGuard, check_url
from .methods import MAX_METHOD, PASSED_EVENTS, Verdict, rule
from .page_calls import PageCalls
from .targets import Info, selects
from .wire import INVALID_PARAMS, SERVER_ERROR, ProtocolError, Request

EXCLUDED_WORKERS: list[Mapping[str, Any]] = [{"type": "service_worker", "exclude": True}, {"type": "shared_worker", "exclude": True}]
DEFAULT_ATTACH: list[Mapping[str, Any]] = [{"type": "browser", "exclude": True}, {"type": "tab", "exclude": True}, {}]


class SessionFilter(PageCalls):
    """The rules of one client connection.

    ``root`` is its virtual root's session id upstream. With ``page`` (target and session) the client is connected to that
    page alone, as on Chromium's ``/devtools/page/<id>``: its empty session id is the page's session.
    """

    def __init__(self, root: str, view: View, files: FileGuard, page: tuple[str, str] | None = None) -> None:
        super().__init__(view, files)
        self._root = root
        self._page = page
        self.latest = page[0] if page else ""
        """The page, frame or worker to which the client spoke last."""
        self._home = page[1] if page else root
        """The session that the client knows as the empty one."""
        self.sessions: dict[str, Session] = {"": Session(self._home, is_root=page is None, target=page[0] if page else "", parent=None)}

    # -- client to browser

    def from_client(self, raw: bytes) -> Actions:
        """What to do about one message of the client. Never raises: a bad message gets a JSON error."""
        try:
            request = wire.decode_request(raw)
        except ProtocolError as error:
            return [ToClient(wire.error(None, error.code, error.message))]
        session = self.sessions.get(request.sessionId)
        if session is None:
            return [ToClient(wire.error(request.id, wire.SESSION_NOT_FOUND, wire.NO_SESSION))]
        if session.target:
            self.latest = session.target
        row = rule(request.method, session.is_root)
        verdict = row.verdict
        if verdict is Verdict.ALLOW:
            return [self._forward(request, session)]
        try:
            if verdict is Verdict.UNKNOWN:
                raise ProtocolError(wire.METHOD_NOT_FOUND, f"'{request.method[:MAX_METHOD]}' wasn't found")
            if verdict is Verdict.DENY:
                raise ProtocolError(SERVER_ERROR, f"{request.method[:MAX_METHOD]} is not allowed here: {row.reason}")
            params = wire.decode_params(request.params)
            actions: Actions = getattr(self, "_on_" + row.handler)(request, session, params)
            return actions
        except ProtocolError as error:
            return [ToClient(wire.error(request.id, error.code, error.message, request.sessionId))]

    def _target(self, params: Mapping[str, Any]) -> Info:
        """The own target that ``params`` names. Raises `ProtocolError`."""
        name = params.get("targetId")
        if not isinstance(name, str):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: targetId: string value expected")
        info = self._view.visible(name)
        if info is None:
            raise ProtocolError(INVALID_PARAMS, wire.NO_TARGET)
        return info

    @staticmethod
    def _filters(params: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
        given = params.get("filter")
        if given is None:
            return None
        if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: filter: array of objects expected")
        return given

    # Target: looking

    def _shown(self, info: Info) -> Info:
        """``attached`` says whether this client is attached, not whether anybody is."""
        return {**info, "attached": any(session.target == info["targetId"] for session in self.sessions.values())}

    def _on_get_targets(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        chosen = self._filters(params)
        if chosen is None:
            chosen = session.discover
        return [self._answer(request, {"targetInfos": [self._shown(info) for info in self._view.infos() if selects(chosen, info["type"])]})]

    def _on_get_target_info(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("targetId") not in (None, "") or not session.is_root:
            info = self._target(params if params.get("targetId") else {"targetId": session.target})
            return [self._answer(request, {"targetInfo": self._shown(info)})]
        return [self._answer(request, {"targetInfo": self._browser_info()})]

    def _browser_info(self) -> Info:
        return {"targetId": self._view.browser_id, "type": "browser", "title": "", "url": "", "attached": True, "canAccessOpener": False}

    def _on_set_discover(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if not isinstance(params.get("discover"), bool):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: discover: bool value expected")
        if not params["discover"]:
            session.discover = None
            return [self._answer(request)]
        chosen = self._filters(params)
        session.discover = DEFAULT_ATTACH if chosen is None else chosen
        if selects(session.discover, "tab"):
            return [Operation("discover_tabs", request.id, request.sessionId, {})]
        return [*self.replay(request.sessionId), self._answer(request)]

    def replay(self, session_id: str) -> Actions:
        """``Target.targetCreated`` for everything that exists, when discovery is turned on."""
        session = self.sessions.get(session_id)
        if session is None or session.discover is None:
            return []
        shown = [self._browser_info()] if selects(session.discover, "browser") else []
        shown += [self._shown(info) for info in self._view.infos() if selects(session.discover, info["type"])]
        return [ToClient(wire.event("Target.targetCreated", {"targetInfo": info}, session_id)) for info in shown]

    def target_event(self, name: str, info: Info, extra: Mapping[str, Any] | None = None) -> Actions:
        """``Target.<name>`` (targetCreated, targetInfoChanged, targetDestroyed, targetCrashed) of a target of this client."""
        actions: Actions = []
        for session_id, session in self.sessions.items():
            if session.discover is not None and selects(session.discover, info["type"]):
                whole = name in ("targetCreated", "targetInfoChanged")
                params = {"targetInfo": self._shown(info)} if whole else {"targetId": info["targetId"], **(extra or {})}
                actions.append(ToClient(wire.event("Target." + name, params, session_id)))
        return actions

    def _on_get_contexts(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        return [self._answer(request, {"browserContextIds": [], "defaultBrowserContextId": self._view.context_id})]

    def _on_devtools_target(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        self._target(params)
        return [self._answer(request)]

    # Target: attaching

    def _on_attach(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("flatten") is not True:
            raise ProtocolError(INVALID_PARAMS, "Only flatten protocol is supported: pass flatten: true")
        if session.is_root and params.get("targetId") == self._view.browser_id:
            # Puppeteer's way to a second root.
            return [self._forward(request, session, {}, "Target.attachToBrowserTarget")]
        info = self._target(params)
        return [self._forward(request, session, {"targetId": info["targetId"], "flatten": True})]

    def _on_attach_browser(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if not session.is_root:
            raise ProtocolError(SERVER_ERROR, "Not allowed")
        return [self._forward(request, session, {})]

    def _on_detach(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        name = params.get("sessionId")
        if not isinstance(name, str) or not name or name not in self.sessions:
            raise ProtocolError(INVALID_PARAMS, "No session with given id")
        if self.sessions[name].handed:
            return [Operation("detach_handed", request.id, request.sessionId, {"sessionId": name})]
        return [self._forward(request, session, {"sessionId": name})]

    def _on_root_auto_attach(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("autoAttach") is not True:
            session.attach = None
            gone = list(session.attached.values())
            session.attached.clear()
            return [Operation("auto_detach", request.id, request.sessionId, {"sessions": gone})]
        if params.get("flatten") is not True:
            raise ProtocolError(INVALID_PARAMS, "Only flatten protocol is supported with browser level auto-attach")
        given = self._filters(params)
        chosen: list[Mapping[str, Any]] = DEFAULT_ATTACH if given is None else given
        if selects(chosen, "tab") and selects(chosen, "page"):
            raise ProtocolError(INVALID_PARAMS, 'Filter should not simultaneously allow "tab" and "page", page targets are attached via tab targets')
        session.attach = chosen
        session.waits = params.get("waitForDebuggerOnStart") is True
        return [Operation("auto_attach", request.id, request.sessionId, {})]

    def _on_page_auto_attach(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("autoAttach") and params.get("flatten") is not True:
            raise ProtocolError(INVALID_PARAMS, "Only flatten protocol is supported: pass flatten: true")
        chosen = self._filters(params)
        session.waits = params.get("waitForDebuggerOnStart") is True
        kept: dict[str, Any] = {name: params[name] for name in ("autoAttach", "waitForDebuggerOnStart", "flatten") if name in params}
        kept["filter"] = [*EXCLUDED_WORKERS, *(DEFAULT_ATTACH if chosen is None else chosen)]
        return [self._forward(request, session, kept)]

    # Target: acting

    def _on_create_target(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        context = params.get("browserContextId")
        if context not in (None, "", self._view.context_id):
            raise ProtocolError(SERVER_ERROR, f"Failed to find browser context with id {context}")
        url = check_url(params.get("url", ""))
        return [Operation("create_target", request.id, request.sessionId, {"url": url or "about:blank"})]

    def _on_close_target(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        info = self._target(params)
        return self._close(request, session, info, {"targetId": info["targetId"]})

    def _on_close_page(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        info = self._view.visible(session.target)
        if info is None:
            raise ProtocolError(INVALID_PARAMS, wire.NO_TARGET)
        return self._close(request, session, info, {})

    def _close(self, request: Request, session: Session, info: Info, params: dict[str, Any]) -> Actions:
        target = info["targetId"]
        last = info["type"] in ("page", "tab") and self._view.is_last_page(target)
        self._view.closing(target, certain=request.method == "Target.closeTarget" and info["type"] in ("page", "tab"))
        if last:
            upstream = {"method": request.method, "params": params, "upstream": session.upstream}
            return [Operation("close_last", request.id, request.sessionId, upstream)]
        return [self._forward(request, session, params)]

    def _on_activate(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        info = self._target(params)
        return self._select(request, session, info["targetId"], {"targetId": info["targetId"]})

    def _on_resume(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        return [self._forward(request, session, params), Resumed(session.target)]

    def _on_bring_to_front(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        return self._select(request, session, session.target, {})

    def _select(self, request: Request, session: Session, target: str, params: dict[str, Any]) -> Actions:
        if not self._view.may_activate():
            raise ProtocolError(SERVER_ERROR, "Tabs are being selected too often: a person may be using the window")
        return [self._forward(request, session, params), Activated(target)]

    # Browser

    def _on_window_for_target(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if session.is_root or params.get("targetId"):
            return [self._forward(request, session, {"targetId": self._target(params)["targetId"]})]
        return [self._forward(request, session, {})]

    def _on_close_browser(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        return [self._answer(request), End("the client closed its browser")]

    def _on_set_download_behavior(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        if params.get("behavior") not in ("deny", "allow", "allowAndName", "default"):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters: behavior: deny, allow, allowAndName or default expected")
        session.download_events = params.get("eventsEnabled") is True
        return [self._answer(request)]

    def download_event(self, name: str, params: Mapping[str, Any]) -> Actions:
        """``Browser.<name>`` of a download that a tab of this client began."""
        return [ToClient(wire.event("Browser." + name, params, key)) for key, session in self.sessions.items() if session.download_events]

    def _on_cancel_download(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        guid = params.get("guid")
        if not isinstance(guid, str) or not self._view.owns_download(guid):
            raise ProtocolError(INVALID_PARAMS, "No download item found for the given GUID")
        return [self._forward(request, session, {"guid": guid})]

    def _on_grant(self, request: Request, session: Session, params: dict[str, Any]) -> Actions:
        origin = params.get("origin")
        if not isinstance(origin, str) or not origin.lower().startswith(("http://", "https://")):
            raise ProtocolError(INVALID_PARAMS, "Permissions are granted for one http or https origin at a time: pass origin")
        params.pop("browserContextId", None)
        return [Operation("on_control", request.id, request.sessionId, {"method": request.method, "params": params})]

    # -- browser to client

    def from_browser(self, raw: bytes, upstream: str) -> Actions:
        """What to do about a message of the browser on a session of this client; ``upstream`` is its `wire.session_of`."""
        at_home = upstream == self._home
        if raw[:18] == b'{"method":"Target.':
            if self._page and upstream == self._root:
                return self._page_gone(raw, self._page[1])
            return self._target_message(raw, "" if at_home else upstream)
        session = self.sessions.get("" if at_home else upstream)
        if session is None:
            return []
        if raw[:6] != b'{"id":':
            event = wire.event_bytes(raw)
            if session.is_root or event not in PASSED_EVENTS:
                return self._trace_event(event, raw, session, "" if at_home else upstream)
        return [ToClient(wire.without_session(raw) if at_home else raw)]

    def _target_message(self, raw: bytes, session_id: str) -> Actions:
        try:
            message = wire.decode(raw)
            name, params = message["method"], message["params"]
            if name == "Target.attachedToTarget":
                return self._attached(raw, session_id, params)
            if name == "Target.detachedFromTarget":
                return self._detached(raw, session_id, params["sessionId"])
        except (msgspec.DecodeError, KeyError, TypeError):
            return []
        return []

    @staticmethod
    def _page_gone(raw: bytes, session: str) -> Actions:
        """The hidden root of a page client tells only one thing: that the page is gone."""
        gone = wire.event_name(raw) == "Target.detachedFromTarget" and session.encode() in raw
        return [End("the page is closed")] if gone else []

    def _attached(self, raw: bytes, session_id: str, params: dict[str, Any]) -> Actions:
        child, info = params["sessionId"], params["targetInfo"]
        parent = self.sessions.get(session_id)
        if parent is None:
            return []
        is_browser = info["type"] == "browser"
        if not is_browser and not self._belongs(info, parent):
            return self._refuse(child, parent, bool(params.get("waitingForDebugger")))
        self.sessions[child] = Session(child, is_root=is_browser, target=info["targetId"], parent=session_id)
        data = raw if session_id else wire.without_session(raw)
        if parent.waits and self._view.paused(info["targetId"]):
            # The page waits by the gateway's doing, so that the browser does not say so in every client's session.
            data = wire.event("Target.attachedToTarget", {**params, "waitingForDebugger": True}, session_id)
        return [Adopt(child, info["targetId"]), ToClient(data)]

    def handed(self, child: str, info: Info) -> Actions:
        """A paused page's session becomes one that a root's auto-attach made; nothing when no root takes it."""
        target = info["targetId"]
        for key, session in self.sessions.items():
            if session.attach is not None and session.waits and selects(session.attach, "page") and target not in session.attached:
                made = self.sessions[child] = Session(child, is_root=False, target=target, parent=key)
                made.handed = True
                session.attached[target] = child
                params = {"sessionId": child, "targetInfo": self._shown(info), "waitingForDebugger": True}
                return [Adopt(child, target), ToClient(wire.event("Target.attachedToTarget", params, key))]
        return []

    def handed_gone(self, child: str) -> Actions:
        """A session that was `handed` has ended."""
        session = self.sessions.get(child)
        if session is None:
            return []
        event = wire.event("Target.detachedFromTarget", {"sessionId": child, "targetId": session.target}, session.parent or "")
        return [*(Drop(gone) for gone in self._forget(child)), ToClient(event)]

    def _belongs(self, info: Info, parent: Session) -> bool:
        """Own targets, and the frames and workers that an own tab's auto-attach brings before the model knows them."""
        if self._view.visible(info["targetId"]) is not None:
            return True
        return info["type"] in ("iframe", "worker", "auction_worklet", "worklet", "shared_storage_worklet") and not parent.is_root

    def _refuse(self, child: str, parent: Session, waiting: bool) -> Actions:
        """Let go of a session that is not for this client, without leaving its target paused."""
        actions: Actions = []
        if waiting:
            actions.append(ToBrowser(wire.call(wire.fresh_id(), "Runtime.runIfWaitingForDebugger", b"{}", child)))
        actions.append(ToBrowser(wire.call(wire.fresh_id(), "Target.detachFromTarget", wire.encode({"sessionId": child}), parent.upstream)))
        return actions

    def _detached(self, raw: bytes, session_id: str, child: str) -> Actions:
        if not child or child not in self.sessions or session_id not in self.sessions:
            return []
        actions: Actions = [Drop(gone) for gone in self._forget(child)]
        actions.append(ToClient(raw if session_id else wire.without_session(raw)))
        return actions

    def _forget(self, session_id: str) -> list[str]:
        gone = [session_id]
        for name, session in list(self.sessions.items()):
            if session.parent == session_id and name:
                gone += self._forget(name)
        session = self.sessions.pop(session_id)
        parent = self.sessions.get(session.parent or "")
        if parent is not None and parent.attached.get(session.target) == session_id:
            del parent.attached[session.target]
        return gone

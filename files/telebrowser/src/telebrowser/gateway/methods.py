"""The table of CDP methods: which a client may call, on which kind of session, and why.

A browser's *root* session and a *page* session (tab, page, iframe, worker) are equally powerful in
Chromium: nearly every browser-wide method also works with a page's ``sessionId``. So the rows of
`SHARED` hold for both, `ROOT` adds the few that make sense only at the root, and `PAGE` adds the
exceptions inside the domains that a page session may use (`PAGE_DOMAINS`). Whatever no row or
domain names is denied, so that what a new Chromium brings is shut until someone has looked at it.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple


class Verdict(Enum):
    """What happens to a call."""

    ALLOW = "allow"
    """Passed on as it is."""
    OWN = "own-target"
    """Passed on when the target, session or guid that it names belongs to this client."""
    REWRITE = "rewrite"
    """Passed on, or carried out by the gateway, with parameters that were checked and changed."""
    EMULATE = "emulate"
    """Answered by the gateway; the browser never sees it."""
    DENY = "deny"
    """Refused with the reason of the row."""
    UNKNOWN = "unknown"
    """Refused as Chromium refuses a method that does not exist."""


class Row(NamedTuple):
    """One row: the verdict, why, and for `Verdict.OWN`, `REWRITE` and `EMULATE` the filter's handler."""

    verdict: Verdict
    reason: str
    handler: str = ""


def _allow(reason: str) -> Row:
    return Row(Verdict.ALLOW, reason)


def _own(handler: str, reason: str) -> Row:
    return Row(Verdict.OWN, reason, handler)


def _rewrite(handler: str, reason: str) -> Row:
    return Row(Verdict.REWRITE, reason, handler)


def _emulate(handler: str, reason: str) -> Row:
    return Row(Verdict.EMULATE, reason, handler)


def _deny(reason: str) -> Row:
    return Row(Verdict.DENY, reason)


UNKNOWN = Row(Verdict.UNKNOWN, "no row of the table names it")
_ONLY_ROOT = "it exists at the root only"
_LOGOUT = "it would log out the person and every agent of the project"
_GLOBAL = "it acts on the whole browser"
_MACHINE = "it tells of, or acts on, the machine and other tabs"

SHARED: dict[str, Row] = {
    # Target: what exists for this client is what it owns.
    "Target.getTargets": _emulate("get_targets", "the browser's own answer lists everybody's targets"),
    "Target.getTargetInfo": _emulate("get_target_info", "the browser answers for any target"),
    "Target.setDiscoverTargets": _emulate("set_discover", "its events name everybody's targets"),
    "Target.attachToTarget": _own("attach", "only own targets, only flat sessions"),
    "Target.attachToBrowserTarget": _rewrite("attach_browser", "the new root falls under the rules of this one"),
    "Target.detachFromTarget": _own("detach", "only own sessions"),
    "Target.createTarget": _rewrite("create_target", "forced into the background, checked address, owned by the session"),
    "Target.closeTarget": _own("close_target", "only own targets, and never the window's last page"),
    "Target.activateTarget": _own("activate", "only own targets; raises the project's window"),
    "Target.getDevToolsTarget": _emulate("devtools_target", "a DevTools window belongs to the person"),
    "Target.getBrowserContexts": _emulate("get_contexts", "a project has one context, the default one"),
    "Target.autoAttachRelated": _deny("it attaches behind the back of the ownership rules; use Target.setAutoAttach in the page's session"),
    "Target.createBrowserContext": _deny("a context opens a window of its own and has none of the project's logins"),
    "Target.disposeBrowserContext": _deny("there is no context that a client created"),
    "Target.sendMessageToTarget": _deny("it smuggles calls past the table; use flat sessions"),
    "Target.exposeDevToolsProtocol": _deny("it gives the whole protocol to the page's script"),
    "Target.setRemoteLocations": _deny("it connects the browser to another endpoint"),
    "Target.openDevTools": _deny("it opens a window in front of the person"),
    # Browser
    "Browser.getVersion": _allow("names the browser"),
    "Browser.getWindowForTarget": _own("window_for_target", "only the window of an own target"),
    "Browser.getWindowBounds": _allow("the size of the shared window"),
    "Browser.setWindowBounds": _deny("it moves the window that the person and all agents share; use Emulation.setDeviceMetricsOverride"),
    "Browser.close": _emulate("close_browser", "it ends this client's connection only"),
    "Browser.setDownloadBehavior": _emulate("set_download_behavior", "the folder is the project's; the last caller would divert everybody's downloads"),
    "Browser.cancelDownload": _own("cancel_download", "only downloads that an own tab began"),
    "Browser.grantPermissions": _rewrite("grant", "context-wide, so only for a named origin, and it must outlive the connection"),
    "Browser.setPermission": _rewrite("grant", "context-wide, so only for a named origin, and it must outlive the connection"),
    "Browser.resetPermissions": _deny("it resets the permissions of every origin"),
    "Browser.crash": _deny("it ends everybody's browser"),
    "Browser.crashGpuProcess": _deny("it hits everybody's tabs"),
    "Browser.getBrowserCommandLine": _deny(_MACHINE),
    "Browser.getHistograms": _deny(_MACHINE),
    "Browser.getHistogram": _deny(_MACHINE),
    "Browser.executeBrowserCommand": _deny("it acts on whatever tab the person has in front"),
    "Browser.setDockTile": _deny(_GLOBAL),
    "Browser.addPrivacySandboxEnrollmentOverride": _deny(_GLOBAL),
    "Browser.addPrivacySandboxCoordinatorKeyConfig": _deny(_GLOBAL),
    # Storage: cookies are the project's, shared by design; wiping them is not one agent's to do.
    "Storage.getCookies": _allow("logins are shared inside a project"),
    "Storage.setCookies": _allow("logins are shared inside a project"),
    "Storage.clearCookies": _deny(_LOGOUT),
    "Storage.clearDataForOrigin": _deny(_LOGOUT),
    "Storage.clearDataForStorageKey": _deny(_LOGOUT),
    "Storage.clearTrustTokens": _deny(_LOGOUT),
    "Storage.clearSharedStorageEntries": _deny(_LOGOUT),
    "Storage.deleteStorageBucket": _deny(_LOGOUT),
    "Storage.overrideQuotaForOrigin": _deny(_GLOBAL),
}

ROOT: dict[str, Row] = {
    "Target.setAutoAttach": _emulate("root_auto_attach", "the browser would attach to, and pause, everybody's tabs"),
    "Browser.setContentsSize": _deny("it resizes the window that the person and all agents share"),
    "Fetch.enable": _deny("it stops the requests of every tab"),
    "Tracing.start": _deny("a trace of the whole browser holds other tabs' addresses; start it in a page's session"),
    "Tracing.end": _deny("start and end a trace in a page's session"),
    "Security.setIgnoreCertificateErrors": _deny("it would hold for every tab"),
    "IO.read": _deny("streams belong to a page's session"),
    "IO.close": _deny("streams belong to a page's session"),
    "SystemInfo.getInfo": _deny(_MACHINE),
    "SystemInfo.getProcessInfo": _deny(_MACHINE),
}

PAGE: dict[str, Row] = {
    "Target.setAutoAttach": _rewrite("page_auto_attach", "iframes and dedicated workers; service and shared workers belong to the origin, not to one tab"),
    "Browser.setContentsSize": _rewrite("contents_size", "becomes a metrics override of this tab: the window is shared"),
    # Page
    "Page.navigate": _rewrite("navigate", "checked address"),
    "Page.navigateToHistoryEntry": _rewrite("history_entry", "a person may have visited an internal page in this tab"),
    "Page.bringToFront": _own("bring_to_front", "selects the own tab and raises the project's window"),
    "Page.close": _own("close_page", "never the window's last page"),
    "Page.setDownloadBehavior": _emulate("ok", "the folder is the project's; deny would cancel other tabs' downloads"),
    "Page.startScreenRecording": _rewrite("screen_recording", "of this tab only: the window may show what a person looks at"),
    "Page.crash": _deny("it may take other tabs of the same process with it, and never answers"),
    # Files and addresses by the back door
    "DOM.setFileInputFiles": _rewrite("file_input", "only files below the project's uploads and downloads"),
    "Input.dispatchDragEvent": _rewrite("drag_event", "only files below the project's uploads and downloads"),
    "Network.loadNetworkResource": _rewrite("load_resource", "checked address"),
    "Fetch.continueRequest": _rewrite("continue_request", "checked address"),
    "Network.continueInterceptedRequest": _rewrite("continue_request", "checked address"),
    # Network: see Storage
    "Network.clearBrowserCookies": _deny(_LOGOUT),
    "Network.clearBrowserCache": _deny("the cache is shared"),
    "Network.setCookieControls": _deny(_GLOBAL),
    # Storage
    "Storage.getStorageKey": _allow("of a frame of this tab"),
    "Storage.getStorageKeyForFrame": _allow("of a frame of this tab"),
    "Storage.getUsageAndQuota": _allow("of one origin"),
    "Storage.trackCacheStorageForOrigin": _allow("events of one origin"),
    "Storage.trackCacheStorageForStorageKey": _allow("events of one origin"),
    "Storage.trackIndexedDBForOrigin": _allow("events of one origin"),
    "Storage.trackIndexedDBForStorageKey": _allow("events of one origin"),
    "Storage.untrackCacheStorageForOrigin": _allow("events of one origin"),
    "Storage.untrackCacheStorageForStorageKey": _allow("events of one origin"),
    "Storage.untrackIndexedDBForOrigin": _allow("events of one origin"),
    "Storage.untrackIndexedDBForStorageKey": _allow("events of one origin"),
    # Emulated screens are the browser's, not the tab's
    "Emulation.addScreen": _deny(_GLOBAL),
    "Emulation.removeScreen": _deny(_GLOBAL),
    "Emulation.updateScreen": _deny(_GLOBAL),
    "Emulation.setPrimaryScreen": _deny(_GLOBAL),
    "Emulation.getScreenInfos": _deny(_MACHINE),
    # Tracing is one for the whole browser
    "Tracing.start": _rewrite("tracing_start", "one trace at a time in a browser; a lease keeps two clients apart"),
    "Tracing.end": _rewrite("tracing_end", "only by the client that started it"),
    "Tracing.getCategories": _allow("a list of names"),
    "Tracing.recordClockSyncMarker": _allow("a mark in the own trace"),
    "SystemInfo.getFeatureState": _allow("one feature flag"),
}

PAGE_DOMAINS: dict[str, str] = {
    "Accessibility": "reads the page",
    "Animation": "acts on the page",
    "Audits": "reads the page",
    "Autofill": "fills the page with what the client sends",
    "CacheStorage": "storage that the page's script can reach too",
    "CSS": "acts on the page",
    "Console": "reads the page",
    "DOM": "acts on the page",
    "DOMDebugger": "acts on the page",
    "DOMSnapshot": "reads the page",
    "DOMStorage": "storage that the page's script can reach too",
    "Debugger": "acts on the page's script",
    "DeviceAccess": "answers the page's chooser",
    "DeviceOrientation": "acts on the page",
    "Emulation": "acts on the tab and ends with the session",
    "EventBreakpoints": "acts on the page's script",
    "FedCm": "answers the page's dialog",
    "Fetch": "requests of this tab",
    "HeapProfiler": "reads the page's script",
    "IO": "streams of this tab",
    "IndexedDB": "storage that the page's script can reach too",
    "Input": "input into this tab",
    "Inspector": "life of this session",
    "LayerTree": "reads the page",
    "Log": "reads the page",
    "Media": "reads the page",
    "Network": "requests of this tab",
    "Overlay": "paints over this tab",
    "Page": "acts on the tab",
    "Performance": "reads the page",
    "PerformanceTimeline": "reads the page",
    "Preload": "reads the page",
    "Profiler": "reads the page's script",
    "Runtime": "acts on the page's script",
    "Schema": "names the domains",
    "Security": "state of this tab",
    "WebAudio": "reads the page",
    "WebAuthn": "a virtual authenticator of this tab",
    "WebMCP": "tools that the page offers",
}


MAX_METHOD = 100


def rule(method: str, at_root: bool) -> Row:
    """The row for ``method`` on a root session or on any other one."""
    return _rule(method, at_root) if len(method) <= MAX_METHOD else UNKNOWN


@lru_cache(maxsize=4096)
def _rule(method: str, at_root: bool) -> Row:
    row = SHARED.get(method) or (ROOT if at_root else PAGE).get(method)
    if row is not None:
        return row
    domain, dot, name = method.partition(".")
    if not at_root and dot and name.isascii() and name.isalnum() and domain in PAGE_DOMAINS:
        return Row(Verdict.ALLOW, PAGE_DOMAINS[domain])
    return UNKNOWN

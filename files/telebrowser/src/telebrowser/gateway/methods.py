"""The table of CDP methods and events: which a client may call or see, on which kind of session, and why.

A browser's *root* session and a *page* session (tab, page, iframe, worker) are equally powerful in
Chromium: nearly every browser-wide method also works with a page's ``sessionId``. So the rows of
`SHARED` hold for both, `ROOT` adds the few that make sense only at the root, and `PAGE` what a page's session
may do: the methods that `domains` names, and those that need a check of their own. Whatever no row names is denied,
so that what a new Chromium brings is shut until someone has looked at it; the same holds for events.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .domains import DENIED_DOMAINS, PAGE_DOMAINS


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
_LOGOUT = "it would log out the person and every agent of the project"
_GLOBAL = "it acts on the whole browser"
_PROFILE = "it tells of the whole profile, and no client needs it"
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
    "Browser.addMockCamera": _deny(_GLOBAL),
    "Browser.getGlobalPrivacyControl": _deny(_GLOBAL),
    "Browser.setGlobalPrivacyControl": _deny(_GLOBAL),
    # Storage: cookies are the project's, shared by design; wiping them is not one agent's to do.
    "Storage.getCookies": _allow("logins are shared inside a project"),
    "Storage.setCookies": _allow("logins are shared inside a project"),
    "Storage.clearCookies": _deny(_LOGOUT),
    "Storage.clearDataForOrigin": _deny(_LOGOUT),
    "Storage.clearDataForStorageKey": _deny(_LOGOUT),
    "Storage.clearTrustTokens": _deny(_LOGOUT),
    "Storage.clearPrivateVerificationTokens": _deny(_LOGOUT),
    "Storage.deletePrivateVerificationToken": _deny(_LOGOUT),
    "Storage.runBounceTrackingMitigations": _deny(_LOGOUT),
    "Storage.getTrustTokens": _deny(_PROFILE),
    "Storage.getPrivateVerificationTokens": _deny(_PROFILE),
    "Storage.getPrivateVerificationTokensIssuerConfigs": _deny(_PROFILE),
    "Storage.setPrivateVerificationTokensTracking": _deny(_PROFILE),
    "Storage.deleteStorageBucket": _deny(_LOGOUT),
    "Storage.overrideQuotaForOrigin": _deny(_GLOBAL),
    # The machine
    "SystemInfo.getInfo": _deny(_MACHINE),
    "SystemInfo.getProcessInfo": _deny(_MACHINE),
    "Tracing.requestMemoryDump": _deny(_MACHINE),
    "Tracing.getTrackEventDescriptor": _deny("it is of use with a trace of the whole browser only"),
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
}

PAGE: dict[str, Row] = {
    **{f"{domain.name}.{method}": _allow(domain.reason) for domain in PAGE_DOMAINS for method in domain.methods.split()},
    "Target.setAutoAttach": _rewrite("page_auto_attach", "iframes and dedicated workers; service and shared workers belong to the origin, not to one tab"),
    "Browser.setContentsSize": _rewrite("contents_size", "becomes a metrics override of this tab: the window is shared"),
    # Page
    "Page.navigate": _rewrite("navigate", "checked address"),
    "Page.navigateToHistoryEntry": _rewrite("history_entry", "a person may have visited an internal page in this tab"),
    "Page.bringToFront": _own("bring_to_front", "selects the own tab and raises the project's window"),
    "Page.close": _own("close_page", "never the window's last page"),
    "Page.setDownloadBehavior": _emulate("ok", "the folder is the project's; deny would cancel other tabs' downloads"),
    "Page.captureScreenshot": _rewrite("screenshot", "of this tab only: a picture of the view may show what a person looks at"),
    "Page.startScreenRecording": _rewrite("screen_recording", "of this tab only: the window may show what a person looks at"),
    "Page.crash": _deny("it may take other tabs of the same process with it, and never answers"),
    "Page.waitForDebugger": _deny("it stops the page for every client until somebody lets it go"),
    "Page.setRPHRegistrationMode": _deny("a handler that is accepted stays in the profile"),
    "Page.setSPCTransactionMode": _deny("it pays without asking the person"),
    "FedCm.openUrl": _deny("it opens a tab that belongs to nobody"),
    "Runtime.runIfWaitingForDebugger": _own("resume", "the gateway holds new pages for the client, and counts the time"),
    # Files and addresses by the back door
    "DOM.setFileInputFiles": _rewrite("file_input", "only files below the project's uploads and downloads"),
    "Input.dispatchDragEvent": _rewrite("drag_event", "only files below the project's uploads and downloads"),
    "Network.loadNetworkResource": _rewrite("navigate", "checked address"),
    "Fetch.continueRequest": _rewrite("continue_request", "checked address"),
    # Network: see Storage
    "Network.getCookies": _allow("logins are shared inside a project"),
    "Network.getAllCookies": _allow("logins are shared inside a project"),
    "Network.setCookie": _allow("logins are shared inside a project"),
    "Network.setCookies": _allow("logins are shared inside a project"),
    "Network.deleteCookies": _allow("logins are shared inside a project"),
    "Network.clearBrowserCookies": _deny(_LOGOUT),
    "Network.deleteDeviceBoundSession": _deny(_LOGOUT),
    "Network.clearBrowserCache": _deny("the cache is shared"),
    "Network.setCookieControls": _deny(_GLOBAL),
    # Emulated screens are the browser's, not the tab's
    "Emulation.addScreen": _deny(_GLOBAL),
    "Emulation.removeScreen": _deny(_GLOBAL),
    "Emulation.updateScreen": _deny(_GLOBAL),
    "Emulation.setPrimaryScreen": _deny(_GLOBAL),
    "Emulation.getScreenInfos": _deny(_MACHINE),
    "SystemInfo.getFeatureState": _allow("one feature flag"),
    # Tracing is one for the whole browser
    "Tracing.start": _rewrite("tracing_start", "one trace at a time in a browser, and only of what tells nothing of other tabs"),
    "Tracing.end": _rewrite("tracing_end", "only by the client that started it"),
    "IO.read": _rewrite("io_read", "streams of this tab, and traces as the gateway gives them"),
    "IO.close": _rewrite("io_close", "streams of this tab, and traces as the gateway gives them"),
}

EVENTS: dict[str, Row] = {
    **{f"{domain.name}.{event}": _allow(domain.reason) for domain in PAGE_DOMAINS for event in domain.events.split()},
    "Target.attachedToTarget": _own("", "only sessions on own targets"),
    "Target.detachedFromTarget": _own("", "only own sessions"),
    "Target.targetCreated": _emulate("", "of own targets, by the gateway"),
    "Target.targetInfoChanged": _emulate("", "of own targets, by the gateway"),
    "Target.targetDestroyed": _emulate("", "of own targets, by the gateway"),
    "Target.targetCrashed": _emulate("", "of own targets, by the gateway"),
    "Target.receivedMessageFromTarget": _deny("there are flat sessions only"),
    "Browser.downloadWillBegin": _emulate("", "of downloads that an own tab began, by the gateway"),
    "Tracing.dataCollected": _rewrite("", "events of the own page's processes"),
    "Tracing.tracingComplete": _rewrite("", "with the gateway's own stream"),
    "Browser.downloadProgress": _emulate("", "of downloads that an own tab began, by the gateway"),
    "Storage.privateVerificationTokensUpdated": _deny(_PROFILE),
}
"""What a session that is not a root is told; a root is told only what the gateway itself says."""

PASSED_EVENTS = frozenset(name.encode() for name, row in EVENTS.items() if row.verdict is Verdict.ALLOW)

MAX_METHOD = 100
"""Characters of a method's name that an answer repeats."""

_CLOSED = {domain: _deny(reason) for domain, reason in DENIED_DOMAINS.items()}


def rule(method: str, at_root: bool) -> Row:
    """The row for ``method`` on a root session or on any other one."""
    row = SHARED.get(method) or (ROOT if at_root else PAGE).get(method)
    return row or _CLOSED.get(method.partition(".")[0], UNKNOWN)


def event_rule(event: str) -> Row:
    """The row for an event."""
    return EVENTS.get(event) or _CLOSED.get(event.partition(".")[0], UNKNOWN)

"""Every row of the table that is denied, called with parameters that do harm: on the root and on a page's session."""

from __future__ import annotations

from typing import Any

from telebrowser.gateway.methods import PAGE, ROOT, SHARED, Verdict
from tests.security.arena import Arena, Attacker

from .registry import Run, add

VICTIM_TARGET = "<the victim's target>"
OWN_TARGET = "<the own target>"
ORIGIN = "<the pages' origin>"
WINDOW = "<the window>"

PARAMS: dict[str, dict[str, Any]] = {
    "Target.autoAttachRelated": {"targetId": VICTIM_TARGET, "waitForDebuggerOnStart": True},
    "Target.disposeBrowserContext": {"browserContextId": "0123456789ABCDEF0123456789ABCDEF"},
    "Target.sendMessageToTarget": {"targetId": VICTIM_TARGET, "message": '{"id":1,"method":"Page.close"}'},
    "Target.exposeDevToolsProtocol": {"targetId": OWN_TARGET, "bindingName": "cdp"},
    "Target.setRemoteLocations": {"locations": [{"host": "127.0.0.1", "port": 9}]},
    "Target.openDevTools": {"targetId": OWN_TARGET},
    "Browser.setWindowBounds": {"windowId": WINDOW, "bounds": {"left": 7, "top": 7, "width": 500, "height": 400}},
    "Browser.setContentsSize": {"windowId": WINDOW, "width": 500, "height": 400},
    "Browser.getHistogram": {"name": "Net.HttpResponseCode"},
    "Browser.executeBrowserCommand": {"commandId": "openTabSearch"},
    "Browser.setDockTile": {"badgeLabel": "x"},
    "Browser.addPrivacySandboxEnrollmentOverride": {"url": "https://a.example/"},
    "Browser.addMockCamera": {"deviceId": "camera"},
    "Browser.setGlobalPrivacyControl": {"gpc": True},
    "Storage.clearDataForOrigin": {"origin": ORIGIN, "storageTypes": "all"},
    "Storage.clearDataForStorageKey": {"storageKey": ORIGIN + "/", "storageTypes": "all"},
    "Storage.clearTrustTokens": {"issuerOrigin": "https://a.example"},
    "Storage.clearPrivateVerificationTokens": {"issuerOrigin": "https://a.example"},
    "Storage.deletePrivateVerificationToken": {"tokenId": 1},
    "Storage.setPrivateVerificationTokensTracking": {"enable": True},
    "Storage.deleteStorageBucket": {"bucket": {"storageKey": ORIGIN + "/"}},
    "Storage.overrideQuotaForOrigin": {"origin": ORIGIN, "quotaSize": 1},
    "Fetch.enable": {"patterns": [{"urlPattern": "*"}]},
    "Security.setIgnoreCertificateErrors": {"ignore": True},
    "IO.read": {"handle": "1"},
    "IO.close": {"handle": "1"},
    "Page.setRPHRegistrationMode": {"mode": "autoAccept"},
    "Page.setSPCTransactionMode": {"mode": "autoAccept"},
    "FedCm.openUrl": {"dialogId": "1", "accountIndex": 0, "accountUrlType": "TermsOfService"},
    "Network.deleteDeviceBoundSession": {"key": {"site": "a.example", "id": "1"}},
    "Network.setCookieControls": {"enableThirdPartyCookieRestriction": True},
    "Emulation.addScreen": {"left": 0, "top": 0, "width": 800, "height": 600},
    "Emulation.removeScreen": {"screenId": "1"},
    "Emulation.updateScreen": {"screenId": "1"},
    "Emulation.setPrimaryScreen": {"screenId": "1"},
}

DOMAINS: list[tuple[str, dict[str, Any]]] = [
    ("BackgroundService.startObserving", {"service": "backgroundFetch"}),
    ("BackgroundService.clearEvents", {"service": "notifications"}),
    ("BluetoothEmulation.enable", {"state": "powered-on", "leSupported": True}),
    ("Cast.enable", {}),
    ("Cast.startDesktopMirroring", {"sinkName": "tv"}),
    ("Extensions.loadUnpacked", {"path": "/tmp"}),
    ("Extensions.getExtensions", {}),
    ("FileSystem.getDirectory", {"bucketFileSystemLocator": {"storageKey": ORIGIN + "/", "pathComponents": []}}),
    ("FindInPage.findFirst", {"query": "secret"}),
    ("HeadlessExperimental.enable", {}),
    ("Memory.getDOMCounters", {}),
    ("Memory.forciblyPurgeJavaScriptMemory", {}),
    ("Memory.setPressureNotificationsSuppressed", {"suppressed": True}),
    ("Memory.simulatePressureNotification", {"level": "critical"}),
    ("Memory.getBrowserSamplingProfile", {}),
    ("PWA.install", {"manifestId": "https://a.example/"}),
    ("PWA.launch", {"manifestId": "https://a.example/"}),
    ("ServiceWorker.enable", {}),
    ("ServiceWorker.stopAllWorkers", {}),
    ("SmartCardEmulation.enable", {}),
    ("Tethering.bind", {"port": 18999}),
    ("Tomorrow.invented", {}),
    ("Page.inventedTomorrow", {}),
]


def filled(value: Any, arena: Arena, attacker: Attacker) -> Any:
    """``value`` with what only the running arena knows."""
    if isinstance(value, dict):
        return {key: filled(part, arena, attacker) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, arena, attacker) for part in value]
    if value == WINDOW:
        return arena.window
    if isinstance(value, str):
        return value.replace(VICTIM_TARGET, arena.victim.target).replace(OWN_TARGET, attacker.target).replace(ORIGIN, arena.pages.base)
    return value


def denied(method: str, params: dict[str, Any], on_page: bool) -> Run:
    """The call is refused."""

    async def run(arena: Arena, attacker: Attacker) -> None:
        await attacker.refused(method, filled(params, arena, attacker), attacker.page if on_page else "")

    return run


AT_ROOT_TOO = (
    "BluetoothEmulation.enable",
    "Extensions.getExtensions",
    "Memory.setPressureNotificationsSuppressed",
    "Tomorrow.invented",
    "Page.inventedTomorrow",
)
PAGE_ONLY = ("Storage.", "Browser.getBrowserCommandLine", "Browser.getHistogram", "Browser.getGlobalPrivacyControl", "Browser.setGlobalPrivacyControl")
"""What Chromium itself has on a page's session only."""

for where, rows in (("root", {**SHARED, **ROOT}), ("page", {**SHARED, **PAGE})):
    for name, row in rows.items():
        if row.verdict is Verdict.DENY and (where == "page" or name == "Storage.clearCookies" or not name.startswith(PAGE_ONLY)):
            add(f"{where} {name}", denied(name, PARAMS.get(name, {}), where == "page"))
    for name, given in DOMAINS:
        if where == "root" and name not in AT_ROOT_TOO:
            continue
        add(f"{where} {name}", denied(name, given, where == "page"))

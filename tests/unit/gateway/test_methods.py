"""The table of methods: every row has a reason and a handler that exists, and what it does not name is denied."""

from __future__ import annotations

import pytest

from telebrowser.gateway.filter import SessionFilter
from telebrowser.gateway.methods import PAGE, PAGE_DOMAINS, ROOT, SHARED, Verdict, rule

HANDLED = (Verdict.OWN, Verdict.REWRITE, Verdict.EMULATE)
ROWS = [(where, method, row) for where, rows in (("shared", SHARED), ("root", ROOT), ("page", PAGE)) for method, row in rows.items()]


@pytest.mark.parametrize(("where", "method", "row"), ROWS)
def test_every_row_is_whole(where: str, method: str, row: object) -> None:
    verdict, reason, handler = row  # type: ignore[misc]
    assert reason and method.count(".") == 1
    assert bool(handler) == (verdict in HANDLED)
    assert not handler or hasattr(SessionFilter, "_on_" + handler)
    assert sum(method in rows for rows in (SHARED, ROOT)) <= 1 and sum(method in rows for rows in (SHARED, PAGE)) <= 1


@pytest.mark.parametrize("at_root", [True, False])
@pytest.mark.parametrize(
    "method",
    [
        "Browser.crash",
        "Browser.crashGpuProcess",
        "Browser.resetPermissions",
        "Browser.getBrowserCommandLine",
        "Browser.executeBrowserCommand",
        "Target.exposeDevToolsProtocol",
        "Target.setRemoteLocations",
        "Target.sendMessageToTarget",
        "Target.openDevTools",
        "Target.createBrowserContext",
        "Storage.clearCookies",
        "Storage.clearDataForOrigin",
    ],
)
def test_what_acts_on_everybody_is_denied_on_every_session(method: str, at_root: bool) -> None:
    assert rule(method, at_root).verdict is Verdict.DENY


@pytest.mark.parametrize("at_root", [True, False])
@pytest.mark.parametrize(
    "method",
    [
        "Memory.prepareForLeakDetection",
        "Extensions.loadUnpacked",
        "PWA.install",
        "Cast.startDesktopMirroring",
        "SystemInfo.getCommandLine",
        "Tethering.bind",
        "BluetoothEmulation.enable",
        "BackgroundService.startObserving",
        "ServiceWorker.stopAllWorkers",
        "HeadlessExperimental.beginFrame",
        "FileSystem.getDirectory",
        "Tomorrow.invented",
        "Target.inventedTomorrow",
        "Browser.inventedTomorrow",
        "Storage.inventedTomorrow",
        "Tracing.inventedTomorrow",
        "nonsense",
        "",
        ".",
        "Page.",
        'Page.navigate"',
        "page.navigate",
        "Page." + "x" * 200,
    ],
)
def test_what_no_row_names_does_not_exist(method: str, at_root: bool) -> None:
    assert rule(method, at_root).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("domain", PAGE_DOMAINS)
def test_page_domains_are_closed_at_the_root(domain: str) -> None:
    assert rule(f"{domain}.enable", True).verdict in (Verdict.UNKNOWN, Verdict.DENY)
    assert rule(f"{domain}.enable", False).verdict is Verdict.ALLOW


@pytest.mark.parametrize("method", ["Network.clearBrowserCookies", "Network.clearBrowserCache", "Page.crash", "Emulation.addScreen"])
def test_exceptions_inside_page_domains(method: str) -> None:
    assert rule(method, False).verdict is Verdict.DENY

"""The table of methods and events: every row has a reason and a handler that exists, and what it does not name is denied."""

from __future__ import annotations

import gzip
import json
from importlib import resources

import pytest

from telebrowser.gateway.domains import DENIED_DOMAINS, PAGE_DOMAINS
from telebrowser.gateway.filter import SessionFilter
from telebrowser.gateway.methods import EVENTS, PAGE, PASSED_EVENTS, ROOT, SHARED, Row, Verdict, event_rule, rule

HANDLED = (Verdict.OWN, Verdict.REWRITE, Verdict.EMULATE)
ROWS = [(where, method, row) for where, rows in (("shared", SHARED), ("root", ROOT), ("page", PAGE)) for method, row in rows.items()]
DOMAINS = json.loads(gzip.decompress(resources.files("telebrowser.gateway").joinpath("protocol.json.gz").read_bytes()))["domains"]


def names(kind: str) -> list[str]:
    return [f"{domain['domain']}.{entry['name']}" for domain in DOMAINS for entry in domain.get(kind, [])]


def test_every_row_is_whole() -> None:
    for where, method, (verdict, reason, handler) in ROWS:
        assert reason and method.count(".") == 1, method
        assert bool(handler) == (verdict in HANDLED), method
        assert not handler or hasattr(SessionFilter, "_on_" + handler), method
        assert where == "shared" or method not in SHARED, method
        assert method.partition(".")[0] not in DENIED_DOMAINS, method
    assert all(row.reason for row in EVENTS.values()) and all(DENIED_DOMAINS.values())


def test_every_handler_has_a_row() -> None:
    used = {row.handler for _, _, row in ROWS if row.handler}
    assert {name.removeprefix("_on_") for name in dir(SessionFilter) if name.startswith("_on_")} == used


def test_nothing_is_named_twice() -> None:
    """A name in two places would take the verdict of the later one."""
    listed = [f"{domain.name}.{name}" for domain in PAGE_DOMAINS for name in (*domain.methods.split(), *domain.events.split())]
    assert sorted(listed) == sorted({*listed})
    assert len({domain.name for domain in PAGE_DOMAINS}) == len(PAGE_DOMAINS)
    checked = {method for method, row in PAGE.items() if row.verdict is not Verdict.ALLOW}
    assert not checked & {*listed}


def test_every_method_and_event_that_is_known_has_a_verdict() -> None:
    methods = [name for name in names("commands") if rule(name, True).verdict is Verdict.UNKNOWN and rule(name, False).verdict is Verdict.UNKNOWN]
    events = [name for name in names("events") if event_rule(name).verdict is Verdict.UNKNOWN]
    assert len(names("commands")) > 600 and len(names("events")) > 200
    assert not methods and not events


def test_no_row_is_of_a_method_that_does_not_exist() -> None:
    assert not {method for _, method, _ in ROWS} - {*names("commands")}
    assert not {*EVENTS} - {*names("events")}
    assert not {*DENIED_DOMAINS} - {domain["domain"] for domain in DOMAINS}


@pytest.mark.parametrize("at_root", [True, False])
@pytest.mark.parametrize(
    "method",
    [
        "BackgroundService.startObserving",
        "BluetoothEmulation.enable",
        "Browser.addMockCamera",
        "Browser.crash",
        "Browser.crashGpuProcess",
        "Browser.executeBrowserCommand",
        "Browser.getBrowserCommandLine",
        "Browser.resetPermissions",
        "Cast.startDesktopMirroring",
        "Extensions.loadUnpacked",
        "FileSystem.getDirectory",
        "HeadlessExperimental.beginFrame",
        "Memory.prepareForLeakDetection",
        "PWA.install",
        "ServiceWorker.stopAllWorkers",
        "Storage.clearCookies",
        "Storage.clearDataForOrigin",
        "SystemInfo.getProcessInfo",
        "Target.createBrowserContext",
        "Target.exposeDevToolsProtocol",
        "Target.openDevTools",
        "Target.sendMessageToTarget",
        "Target.setRemoteLocations",
        "Tethering.bind",
        "Tracing.requestMemoryDump",
        "Memory.inventedTomorrow",
    ],
)
def test_what_acts_on_everybody_is_denied_on_every_session(method: str, at_root: bool) -> None:
    assert rule(method, at_root).verdict is Verdict.DENY


@pytest.mark.parametrize("at_root", [True, False])
@pytest.mark.parametrize(
    "method",
    [
        *(f"{domain.name}.inventedTomorrow" for domain in PAGE_DOMAINS),
        "Tomorrow.invented",
        "Target.inventedTomorrow",
        "Browser.inventedTomorrow",
        "nonsense",
        "",
        ".",
        "Page.",
        'Page.navigate"',
        "page.navigate",
        "Page." + "x" * 200,
        "Page.navigate ",
        "Page.Navigate",
    ],
)
def test_what_no_row_names_does_not_exist(method: str, at_root: bool) -> None:
    assert rule(method, at_root).verdict is Verdict.UNKNOWN
    assert event_rule(method).verdict is Verdict.UNKNOWN


def test_what_belongs_to_a_page_is_closed_at_the_root() -> None:
    assert not [method for method in set(PAGE) - set(ROOT) if rule(method, True).verdict is not Verdict.UNKNOWN]


@pytest.mark.parametrize(
    "method", ["Network.clearBrowserCookies", "Network.clearBrowserCache", "Page.crash", "Page.waitForDebugger", "Emulation.addScreen", "Fetch.enable"]
)
def test_exceptions_inside_page_domains(method: str) -> None:
    assert rule(method, method.startswith("Fetch")).verdict is Verdict.DENY


def test_what_takes_paths_or_addresses_is_never_passed_on_as_it_is() -> None:
    """By the names of parameters: a new method with a path or an address among them must be looked at for it."""
    seen = {
        # Names of what the page has or asks for already, patterns, or headers of requests that it makes.
        "Autofill.trigger",
        "CacheStorage.requestCachedResponse",
        "CacheStorage.requestEntries",
        "DOM.pushNodeByPathToFrontend",
        "DOMDebugger.removeXHRBreakpoint",
        "DOMDebugger.setXHRBreakpoint",
        "Debugger.setBreakpointByUrl",
        "Emulation.setUserAgentOverride",
        "Network.deleteCookies",
        "Network.getCookies",
        "Network.setBlockedURLs",
        "Network.setCookie",
        "Page.addCompilationCache",
        "Page.deleteCookie",
        "Page.enable",
        "Page.getResourceContent",
        "Page.searchInResource",
        "Runtime.compileScript",
    }
    words = ("url", "path", "file", "folder", "director")
    taking = {
        f"{domain['domain']}.{command['name']}"
        for domain in DOMAINS
        for command in domain.get("commands", [])
        for parameter in command.get("parameters", [])
        if any(word in parameter["name"].lower() for word in words)
    }
    passed = {method for method in taking if Verdict.ALLOW in (rule(method, True).verdict, rule(method, False).verdict)}
    assert passed <= seen, passed - seen


def test_events_that_name_targets_or_downloads_are_told_by_the_gateway_alone() -> None:
    assert not [name for name in PASSED_EVENTS if name.startswith((b"Target.", b"Browser.", b"ServiceWorker.", b"Cast."))]
    assert b"Page.loadEventFired" in PASSED_EVENTS and len(PASSED_EVENTS) > 150
    assert isinstance(event_rule("Page.loadEventFired"), Row)

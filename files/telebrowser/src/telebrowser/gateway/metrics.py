"""``/metrics`` in Prometheus' text format: counts only, no project or session names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from .browsers import Browsers

CONTENT_TYPE = CONTENT_TYPE_LATEST


class _Gateway(Collector):
    """Reads the numbers when somebody asks, so that nothing is counted on the way of a message but the message itself."""

    def __init__(self, browsers: Browsers, requests: Counter[int]) -> None:
        self._browsers = browsers
        self._requests = requests

    def collect(self) -> Iterator[Metric]:
        states = GaugeMetricFamily("telebrowser_browsers", "Browsers by state.", labels=["state"])
        for state, number in Counter(browser.state for browser in self._browsers.all()).items():
            states.add_metric([state], number)
        yield states
        links = [browser.link for browser in self._browsers.all() if browser.link is not None]
        sessions = [session for link in links for session in link.sessions()]
        yield GaugeMetricFamily("telebrowser_sessions", "Agent sessions.", value=len(sessions))
        yield GaugeMetricFamily("telebrowser_session_tabs", "Tabs of agent sessions.", value=sum(session["tabs"] for session in sessions))
        yield GaugeMetricFamily("telebrowser_cdp_clients", "CDP clients, engines included.", value=sum(link.client_count for link in links))
        messages = CounterMetricFamily("telebrowser_browser_messages", "CDP messages of browsers that run now.", labels=["direction"])
        messages.add_metric(["from_browser"], sum(link.received for link in links))
        messages.add_metric(["to_browser"], sum(link.sent for link in links))
        yield messages
        handoffs = self._browsers.handoffs
        waiting = sum(handoff.is_open for handoff in handoffs.everything())
        yield GaugeMetricFamily("telebrowser_handoffs_open", "Handoffs that wait for a person.", value=waiting)
        ended = CounterMetricFamily("telebrowser_handoffs_ended", "Handoffs that have ended, by how.", labels=["state"])
        for state, number in handoffs.ended.items():
            ended.add_metric([state], number)
        yield ended
        notices = CounterMetricFamily("telebrowser_notices", "Notifications, by what became of them.", labels=["outcome"])
        for outcome, number in handoffs.notices.counts.items():
            notices.add_metric([outcome], number)
        yield notices
        connected = int(self._browsers.supervisor.connected.is_set())
        yield GaugeMetricFamily("telebrowser_supervisor_connected", "1 while the supervisor is connected.", value=connected)
        answers = CounterMetricFamily("telebrowser_http_answers", "HTTP answers by status.", labels=["status"])
        for status, number in self._requests.items():
            answers.add_metric([str(status)], number)
        yield answers


class Metrics:
    """The registry of one gateway. `requests` counts HTTP answers by status."""

    def __init__(self, browsers: Browsers) -> None:
        self.requests: Counter[int] = Counter()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_Gateway(browsers, self.requests))

    def text(self) -> bytes:
        """The page."""
        return generate_latest(self._registry)

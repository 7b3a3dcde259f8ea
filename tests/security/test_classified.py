"""The running browser's own description of its protocol holds nothing that nobody has looked at."""

from __future__ import annotations

from typing import Any

import pytest

from telebrowser.gateway.methods import Verdict, event_rule, rule
from tests.support.chromium import Chromium
from tests.support.stack import request


@pytest.fixture(scope="module")
def domains(chromium: Chromium) -> list[dict[str, Any]]:
    described = request(chromium.http + "/json/protocol").json["domains"]
    assert len(described) > 50
    return list(described)


def unclassified(domains: list[dict[str, Any]]) -> list[str]:
    """Methods and events that have no row."""
    methods = [f"{domain['domain']}.{command['name']}" for domain in domains for command in domain.get("commands", [])]
    events = [f"{domain['domain']}.{event['name']}" for domain in domains for event in domain.get("events", [])]
    closed = [name for name in methods if rule(name, True).verdict is Verdict.UNKNOWN and rule(name, False).verdict is Verdict.UNKNOWN]
    return closed + [f"{name} (event)" for name in events if event_rule(name).verdict is Verdict.UNKNOWN]


def test_every_method_and_event_of_the_installed_chromium_is_classified(domains: list[dict[str, Any]]) -> None:
    assert not unclassified(domains), "look at these, then give them a row in gateway/methods.py or a place in gateway/domains.py"


def test_what_is_new_is_named(domains: list[dict[str, Any]]) -> None:
    new = [{"domain": "Page", "commands": [{"name": "inventedTomorrow"}], "events": [{"name": "invented"}]}, {"domain": "New", "commands": [{"name": "x"}]}]
    assert unclassified([*domains, *new]) == ["Page.inventedTomorrow", "New.x", "Page.invented (event)"]

# Copyright (c) 2026, The telebrowser contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import threading

import pytest

from ansible_collections.telebrowser.telebrowser.plugins.module_utils import _gateway as gateways

TOKEN = "shop." + "a" * 64


@pytest.mark.parametrize("url", ["http://127.0.0.1:5858", "https://browser.example.net", "http://[::1]:5858", "http://host/prefix"])
def test_addresses_of_a_gateway(url):
    assert gateways.check_url(url) == url
    assert gateways.check_url(url + "/") == url


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:5858", "ftp://host", "http://", "http://host:0", "http://host:x", "http://a:b@host", "http://host?x=1", "http://host#x"]
)
def test_what_is_no_address_of_a_gateway(url):
    with pytest.raises(gateways.GatewayError) as error:
        gateways.check_url(url)
    assert "a:b" not in str(error.value)


@pytest.mark.parametrize(
    "status, expected",
    [
        ({}, []),
        ({"sessions": [], "hold_until": None, "handoffs": []}, []),
        ({"sessions": [{"session": "a"}]}, ["1 session of agents"]),
        ({"sessions": [{}, {}], "hold_until": "2026-12-01T00:00:00+00:00"}, ["2 sessions of agents", "a hold until 2026-12-01T00:00:00+00:00"]),
        ({"handoffs": [{"state": "open"}, {"state": "done"}]}, ["1 open handoff to a person"]),
        ({"handoffs": ["h1", "h2"]}, ["2 open handoffs to a person"]),
    ],
)
def test_why_to_wait(status, expected):
    assert gateways.reasons_to_wait(status) == expected


@pytest.mark.parametrize(
    "status, body, expected",
    [
        (403, b"", "does not accept the token"),
        (
            503,
            b'{"error": {"code": "BROWSER_UNAVAILABLE", "message": "The supervisor\\nis not running"}}',
            "BROWSER_UNAVAILABLE: The supervisor is not running",
        ),
        (500, b"<html>", "is not telebrowser's gateway (HTTP 500)"),
        (404, b"[]", "is not telebrowser's gateway (HTTP 404)"),
        (302, b"", "is not telebrowser's gateway (HTTP 302)"),
    ],
)
def test_error_answers_as_one_line(status, body, expected):
    line = gateways.explain(status, body, "http://host")
    assert expected in line
    assert "\n" not in line


def test_the_status_document(answers):
    answers.replies["GET", "status"] = 200, {"state": "up"}
    assert gateways.Gateway(answers.url, 5).status(TOKEN) == {"state": "up"}
    assert answers.asked == [("GET", "/t/%s/status" % TOKEN)]
    answers.replies["POST", "wipe"] = 200, {"state": "stopped"}
    assert gateways.Gateway(answers.url + "/", 5).wipe(TOKEN) == {"state": "stopped"}


def test_a_proxy_in_the_environment_sees_nothing(answers, nobody, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nobody)
    answers.replies["GET", "healthz"] = 200, {"status": "ok"}
    assert gateways.Gateway(answers.url, 5).health() == {"status": "ok"}


@pytest.mark.parametrize(
    "reply, kind, message",
    [
        ((403, {"error": {}}), gateways.Refused, "does not accept the token"),
        ((302, {}), gateways.Refused, "is not telebrowser's gateway"),
        ((200, b"<html>"), gateways.GatewayError, "is not telebrowser's gateway"),
        ((200, b"[]"), gateways.GatewayError, "is not telebrowser's gateway"),
    ],
)
def test_answers_that_are_none(answers, reply, kind, message):
    answers.replies["GET", "status"] = reply
    with pytest.raises(kind, match=message) as error:
        gateways.Gateway(answers.url, 5).status(TOKEN)
    assert TOKEN not in str(error.value)
    assert not isinstance(error.value, gateways.Unreachable)


def test_nobody_there(nobody):
    with pytest.raises(gateways.Unreachable, match="does not answer .Connection refused.") as error:
        gateways.Gateway(nobody, 5).status(TOKEN)
    assert TOKEN not in str(error.value)


def test_an_answer_that_does_not_come_is_not_taken_for_nobody(answers):
    wait = threading.Event()
    answers.replies["GET", "status"] = 200, lambda: wait.wait(10) or {}
    try:
        with pytest.raises(gateways.GatewayError, match="did not answer within 1 s") as error:
            gateways.Gateway(answers.url, 1).status(TOKEN)
        assert not isinstance(error.value, gateways.Unreachable)
    finally:
        wait.set()

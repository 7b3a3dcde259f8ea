"""Host and Origin checks, trusted proxies, and the names that answers carry."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from telebrowser.errors import ConfigError, TelebrowserError
from telebrowser.gateway.app import redact
from telebrowser.gateway.origin import Origins, host_name, is_loopback


def request(method: str = "GET", peer: str = "127.0.0.1", **headers: str) -> Any:
    made = make_mocked_request(method, "/t/x/status", headers={name.replace("_", "-"): value for name, value in headers.items()})
    return made.clone(remote=peer)


ORIGINS = Origins(("172.18.0.0/16", "fd00::/8"), ("Browser.Example",))


@pytest.mark.parametrize(
    "host", ["127.0.0.1:5858", "[::1]:5858", "[::1]", "localhost", "localhost:1", "a.localhost:1", "10.1.2.3:80", "browser.example:5858", "BROWSER.example."]
)
def test_known_hosts(host: str) -> None:
    ORIGINS.check(request(Host=host), websocket=False)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "x@evil.example", "browser.example.evil.example", "[::1", "a b"]
)
def test_unknown_hosts(host: str) -> None:
    with pytest.raises(TelebrowserError) as error:
        ORIGINS.check(request(Host=host), websocket=False)
    assert error.value.code == "FORBIDDEN"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1", "http://127.0.0.1:80", "https://127.0.0.1:5858", "http://localhost:5858"]
)
def test_foreign_origins(origin: str) -> None:
    for method, websocket in (("POST", False), ("PUT", False), ("DELETE", False), ("GET", True)):
        with pytest.raises(TelebrowserError):
            ORIGINS.check(request(method, Host="127.0.0.1:5858", Origin=origin), websocket=websocket)
    ORIGINS.check(request(Host="127.0.0.1:5858", Origin=origin), websocket=False)


def test_the_own_origin() -> None:
    ORIGINS.check(request("POST", Host="127.0.0.1:5858", Origin="http://127.0.0.1:5858"), websocket=True)


FORWARDED = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "public.example, inner", "X_Forwarded_Prefix": "/tb/"}


def test_only_trusted_proxies_name_the_address() -> None:
    assert ORIGINS.base(request(Host="127.0.0.1:5858", **FORWARDED)) == ("http", "127.0.0.1:5858", "")
    for peer in ("172.18.0.5", "::ffff:172.18.0.5", "fd00::7"):
        assert ORIGINS.base(request(peer=peer, Host="127.0.0.1:5858", **FORWARDED)) == ("https", "public.example", "/tb")
    ORIGINS.check(request("POST", peer="172.18.0.5", Host="x", Origin="https://public.example", **FORWARDED), websocket=True)
    with pytest.raises(TelebrowserError):
        ORIGINS.check(request("POST", peer="172.18.0.5", Host="x", Origin="https://evil.example", **FORWARDED), websocket=True)


def test_links_for_people_lead_here() -> None:
    """Their address is this gateway's, with its scheme, also behind a proxy that is trusted with nothing; another port of that name is not."""
    origins = Origins((), people_url="https://Asks.Example")
    assert origins.base(request(Host="asks.example")) == ("https", "asks.example", "")
    origins.check(request("POST", Host="asks.example", Origin="https://asks.example"), websocket=True)
    for host, origin in (("asks.example", "http://asks.example"), ("asks.example", "https://evil.example"), ("asks.example:1", "https://asks.example")):
        with pytest.raises(TelebrowserError):
            origins.check(request("POST", Host=host, Origin=origin), websocket=True)
    for host in ("", "evil.example", "asks.example.evil.example"):
        for gateway in (origins, Origins(()), Origins((), people_url="")):
            with pytest.raises(TelebrowserError):
                gateway.check(request(Host=host), websocket=False)


def test_bad_networks_are_named() -> None:
    with pytest.raises(ConfigError, match=r"TELEBROWSER_TRUSTED_PROXIES.*'x'"):
        Origins(("10.0.0.0/8", "x"))


def test_loopback() -> None:
    assert is_loopback(request()) and is_loopback(request(peer="::1"))
    assert not is_loopback(request(peer="10.0.0.1")) and not is_loopback(request(X_Forwarded_For="10.0.0.1"))


@pytest.mark.parametrize(("host", "name"), [("A.b:1", "a.b"), ("[::1]:1", "::1"), ("x@h:1", "h"), ("h:", "h"), ("h:x", "h")])
def test_host_names(host: str, name: str) -> None:
    assert host_name(host) == name


def test_tokens_are_taken_out_of_every_line() -> None:
    token = "a-project." + "0aF9" * 16
    for line in (f"GET /t/{token}/status HTTP/1.1", f"ws://h/t/{token}", f"'{token}'", f"{token}{token}"):
        assert "0aF9" not in redact(line)
    assert redact("nothing.to see 12.34") == "nothing.to see 12.34"

"""Addresses: what may be opened, and what counts as private however it is spelt."""

from __future__ import annotations

import ipaddress

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.page import urls


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://example.com:8443/a?b#c", "about:blank", " https://example.com ", "HTTP://EXAMPLE.com", "http://[::1]:80/"]
)
def test_allowed(url: str) -> None:
    assert urls.check(url) == url.strip()


@pytest.mark.parametrize(
    "url",
    [
        "", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "vbscript:x", "chrome://version", "view-source:http://a", "devtools://x", "ftp://a/",
        "example.com", "http://", "http:///path", "http://a b/", "http://10.0.0.1\\@example.com/", "http://a\t.com", "http://a:99999/", "http://[::1/", "blob:http://a/x",
    ],
)  # fmt: skip
def test_refused(url: str) -> None:
    with pytest.raises(TelebrowserError) as caught:
        urls.check(url)
    assert caught.value.code == "INVALID_URL"
    assert "\n" not in caught.value.text()


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1", "10.1", "0x0a.0.0.1", "167772161", "012.0.0.1", "192.168.1.1", "172.16.0.9", "169.254.169.254", "100.64.0.1", "0.0.0.0", "[fd00::1]",
        "[fe80::1]",        "[::ffff:10.0.0.1]", "[::ffff:a00:1]", "[2002:a00:1::]", "224.0.0.1", "10\u30020\u30020\u30021", "\uff11\uff10.0.0.1",
    ],
)  # fmt: skip
async def test_private_spellings(host: str) -> None:
    with pytest.raises(TelebrowserError) as caught:
        await urls.check_private(f"http://{host}/")
    assert caught.value.code == "PRIVATE_NETWORK_BLOCKED"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "a.localhost", "127.1", "8.8.8.8", "[2606:4700::1111]", "[::ffff:127.0.0.1]"])
async def test_public_and_loopback_pass(host: str) -> None:
    await urls.check_private(f"http://{host}/")


async def test_a_name_is_judged_by_what_it_resolves_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, timeout: float) -> list[ipaddress.IPv4Address]:
        return [ipaddress.IPv4Address("8.8.8.8"), ipaddress.IPv4Address("192.168.0.7")]

    monkeypatch.setattr(urls, "_resolve", resolve)
    with pytest.raises(TelebrowserError, match=r"router\.example \(192\.168\.0\.7\)"):
        await urls.check_private("http://router.example/")

"""Where standalone mode lets a page go: schemes, private ranges, redirects into them, and what a name resolves to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import standalone_env
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages

NAMES = """127.0.0.1 localhost
10.1.2.3 private.example.test
192.168.7.7 mixed.example.test
127.0.0.1 mixed.example.test
127.0.0.1 loop.example.test
"""


@pytest.fixture
async def server(home: Path) -> AsyncIterator[McpClient]:
    """A server that sees a hosts file of the test's own, in a mount namespace of its own."""
    hosts = home / "hosts"
    hosts.write_text(NAMES)
    unshare = ("unshare", "-m") if os.getuid() == 0 else ("unshare", "-rm")
    client = await McpClient.start(
        "mcp",
        "--standalone",
        env=standalone_env(home),
        cwd=home,
        prefix=(*unshare, "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"),
    )
    yield client
    await client.close()


PRIVATE = [
    "http://10.0.0.1/",
    "http://172.16.0.1:8080/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://0x0a000001/",
    "http://167772161/",
    "http://10.1/",
    "http://012.0.0.1/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://private.example.test/",
    "http://mixed.example.test/",
]


async def test_private_addresses(server: McpClient, pages: Pages) -> None:
    await server.ok("browser_navigate", url=f"{pages.base}/clock.html")
    for url in PRIVATE:
        answer = await server.call("browser_navigate", 30, url=url, timeout_ms=8000)
        assert answer.code == "PRIVATE_NETWORK_BLOCKED", (url, answer)
        opened = await server.call("browser_tabs", 30, action="new", url=url)
        assert opened.code == "PRIVATE_NETWORK_BLOCKED", (url, opened)


async def test_redirects_into_private_ranges(server: McpClient, pages: Pages) -> None:
    for url in ("http://10.0.0.1/", "http://private.example.test/", f"{pages.base}/to?url=http://192.168.0.1/"):
        answer = await server.call("browser_navigate", 30, url=f"{pages.base}/to?url={url}", timeout_ms=8000)
        assert answer.code == "PRIVATE_NETWORK_BLOCKED", (url, answer)
    await server.ok("browser_navigate", url=f"{pages.base}/clock.html")


@pytest.mark.parametrize("how", ["link", "script", "popup", "frame", "meta"])
async def test_pages_do_not_lead_there_either(server: McpClient, pages: Pages, how: str) -> None:
    body = {
        "link": "<a id=a href='http://10.0.0.1/in'>go</a>",
        "script": "<button id=a onclick=\"location='http://10.0.0.1/in'\">go</button>",
        "popup": "<button id=a onclick=\"window.open('http://10.0.0.1/in')\">go</button>",
        "frame": "<button id=a onclick=\"f.src='http://10.0.0.1/in'\">go</button><iframe id=f></iframe>",
        "meta": "<button id=a onclick=\"document.head.innerHTML='<meta http-equiv=refresh content=0;url=http://10.0.0.1/in>'\">go</button>",
    }[how]
    await server.ok("browser_navigate", url=pages.add(f"lead-{how}.html", f"<!doctype html><title>lead</title>{body}"))
    answer = await server.call("browser_click", 20, selector="#a")
    told = answer.text
    async with asyncio.timeout(10):
        # A refresh by the page comes a little after the click; then one of the next answers tells.
        while "PRIVATE_NETWORK_BLOCKED" not in told:
            await asyncio.sleep(0.05)
            told += (await server.call("browser_tabs", 20, action="list")).text


async def test_loopback_is_allowed(server: McpClient, pages: Pages) -> None:
    for url in (f"{pages.base}/clock.html", f"{pages.other}/clock.html", f"http://loop.example.test:{pages.port}/clock.html", "about:blank"):
        await server.ok("browser_navigate", url=url)


async def test_private_addresses_where_they_are_allowed(home: Path) -> None:
    client = await McpClient.start("mcp", "--standalone", env=standalone_env(home, ALLOW_PRIVATE_NETWORKS="TRUE"), cwd=home)
    answer = await client.call("browser_navigate", 30, url="http://10.255.255.1/", timeout_ms=1500)
    assert answer.error and answer.code != "PRIVATE_NETWORK_BLOCKED", answer
    await client.close()


async def test_redirect_limit(pages: Pages, home: Path) -> None:
    client = await McpClient.start("mcp", "--standalone", env=standalone_env(home, MAX_REDIRECTS="1"), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/to?url=/clock.html")
    answer = await client.call("browser_navigate", url=f"{pages.base}/to?url=/to?url=/clock.html")
    assert answer.error and "redirect" in answer.text.lower(), answer
    await client.close()

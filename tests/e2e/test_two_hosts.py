"""Agents on machines that share no disk with the browser's: files go over the network, and a call is one round trip."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import scratch_dir
from tests.support.hosts import Host
from tests.support.mcp_client import Answer, McpClient
from tests.support.pages import Pages
from tests.support.relay import BACK, OUT, Relay
from tests.support.stack import SECRET, Stack

PROJECT = "far"
SIZE = 3_000_000
RECEIVES = """<title>start</title><output id=o></output><input id=f type=file onchange="files[0].arrayBuffer().then(b => crypto.subtle.digest('SHA-256', b))
 .then(d => o.value = [...new Uint8Array(d)].map(x => x.toString(16).padStart(2, '0')).join(''))">
<button onclick="document.title = 'clicked'">Press</button><a href=/far.bin>Fetch</a>"""


@pytest.fixture(scope="module")
def far_stack() -> Iterator[Stack]:
    """A stack that can be reached from other machines."""
    root = scratch_dir("far")
    stack = Stack(root, TELEBROWSER_BIND="0.0.0.0")
    try:
        yield stack.start()
    finally:
        stack.stop()
        shutil.rmtree(root, ignore_errors=True)


class Agent:
    """An agent on a machine of its own."""

    def __init__(self, client: McpClient, host: Host, home: Path) -> None:
        self.client, self.host, self.home = client, host, home

    async def ok(self, tool: str, **arguments: Any) -> Answer:
        return await self.client.ok(tool, **arguments)


def environment(home: Path, url: str) -> dict[str, str]:
    secret = home / ".config" / "telebrowser" / "secret"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TELEBROWSER_URL": url}


@pytest.fixture
async def two(far_stack: Stack) -> AsyncIterator[list[Agent]]:
    """Two agents, each on a machine that sees neither the stack's disk nor the other's."""
    homes = [scratch_dir(f"host{number}") for number in (1, 2)]
    hosts: list[Host] = []
    agents: list[Agent] = []
    try:
        for number, home in enumerate(homes, 1):
            hosts.append(Host(number, [far_stack.data, homes[2 - number]]))
            url = f"http://{hosts[-1].address}:{far_stack.port}"
            client = await McpClient.start("mcp", "--project", PROJECT, env=environment(home, url), cwd=home, prefix=hosts[-1].prefix)
            agents.append(Agent(client, hosts[-1], home))
        yield agents
    finally:
        for agent in agents:
            await agent.client.close()
        for host in hosts:
            host.close()
        for home in homes:
            shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def page(pages: Pages) -> str:
    """A page that shows the checksum of what it was given."""
    pages.add("far.bin", hashlib.shake_256(b"far").digest(SIZE), "application/octet-stream")
    return pages.add("receives.html", RECEIVES)


async def test_no_disk_is_shared(far_stack: Stack, two: list[Agent]) -> None:
    assert (far_stack.data / "projects").is_dir()
    for agent, other in zip(two, reversed(two), strict=True):
        listed = agent.host.run("ls", "-A", str(far_stack.data), str(other.home)).split()
        assert [word for word in listed if not word.endswith(":")] == [], listed
        assert agent.host.run("cat", "/proc/net/fib_trie").count("10.213.") and "127.0.0.1:" not in agent.host.run("env")


async def test_files_go_both_ways(far_stack: Stack, two: list[Agent], page: str) -> None:
    """Both agents send a file of the same name at once; each page gets its own agent's."""

    async def work(agent: Agent, seed: str) -> None:
        data = hashlib.shake_256(seed.encode()).digest(SIZE)
        (agent.home / "same name.bin").write_bytes(data)
        await agent.ok("browser_navigate", url=f"{page}?{seed}")
        answer = await agent.ok("browser_upload", selector="#f", paths=["same name.bin"])
        assert answer.data["uploaded"] == [{"name": "same name.bin", "size": SIZE}]
        await agent.ok("browser_wait_for", text=hashlib.sha256(data).hexdigest())

        shot = await agent.ok("browser_screenshot", path="shots/page.png")
        assert (agent.home / "shots" / "page.png").read_bytes().startswith(b"\x89PNG") and shot.data["path"] == "shots/page.png"
        await agent.ok("browser_save", path="page.pdf")
        assert (agent.home / "page.pdf").read_bytes().startswith(b"%PDF-")

        clicked = await agent.ok("browser_click", selector="a")
        name = Path(clicked.data["downloads"][0]["path"]).name
        await agent.ok("browser_downloads", name=name, path="got.bin")
        assert (agent.home / "got.bin").read_bytes() == hashlib.shake_256(b"far").digest(SIZE)
        assert sorted(os.listdir(agent.home)) == [".config", "got.bin", "page.pdf", "same name.bin", "shots"]

    await asyncio.gather(work(two[0], "one"), work(two[1], "two"))
    sent = list((far_stack.data / "projects" / PROJECT / "uploads").glob("*/same name.bin"))
    assert len(sent) == 2 and all(file.stat().st_nlink == 1 for file in sent)


async def test_paths_mean_the_agents_machine(far_stack: Stack, two: list[Agent], page: str) -> None:
    """A file of the browser's machine is none of the agent's, whatever it is called."""
    await two[0].ok("browser_navigate", url=page)
    key = far_stack.data / "projects" / PROJECT / "profile" / "Local State"
    assert key.exists()
    for path in (str(key), str(far_stack.secret_file), "upload:x/../../profile/Local State", f"agent:{key}", f"local:{key}"):
        refused = await two[0].client.call("browser_upload", selector="#f", paths=[path])
        assert refused.code in ("UNSAFE_PATH", "NOT_FOUND"), refused


@pytest.fixture
async def near_and_far(far_stack: Stack, clients: Callable[..., Any], home: Path) -> AsyncIterator[tuple[McpClient, Relay]]:
    """An agent behind a relay that delays each way by 50 ms."""
    relay = Relay(far_stack.port, 0.05)
    client = await clients("mcp", "--project", PROJECT, env=environment(home, f"http://127.0.0.1:{relay.port}"), cwd=home)
    yield client, relay
    await client.close()
    relay.close()


async def test_a_call_is_one_round_trip(near_and_far: tuple[McpClient, Relay], page: str, home: Path) -> None:
    client, relay = near_and_far
    await client.ok("browser_navigate", url=page)
    ref = (await client.ok("browser_snapshot")).ref("Press")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("browser_click", {"ref": ref}),
        ("browser_snapshot", {}),
        ("browser_navigate", {"url": page}),
        ("browser_screenshot", {"path": "small.png"}),
        ("browser_save", {"format": "html", "path": "page.html"}),
    ]
    for tool, arguments in calls:
        relay.begin()
        await client.ok(tool, **arguments)
        assert relay.turns == [OUT, BACK], (tool, relay.turns)
    assert (home / "small.png").exists() and (home / "page.html").exists()


async def test_a_file_on_a_shared_disk_is_not_sent(near_and_far: tuple[McpClient, Relay], page: str, home: Path) -> None:
    client, relay = near_and_far
    (home / "a.bin").write_bytes(bytes(1000))
    await client.ok("browser_navigate", url=page)
    relay.begin()
    await client.ok("browser_upload", selector="#f", paths=["a.bin"])
    # The launcher finds out by itself that it shares the disk: nothing but the call goes over the wire, and nothing is copied.
    assert relay.turns == [OUT, BACK] and relay.bytes[OUT] < 1000, relay.bytes
    assert os.stat(home / "a.bin").st_nlink == 2

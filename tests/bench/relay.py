"""What the gateway costs on the way: CDP round trips through it, with its filter on, beside a Chromium's own debug port.

``python -m tests.bench.relay`` prints the table alone, with ``--json`` the figures. Both browsers are headful with the same flags; the rounds are interleaved,
so that whatever else the machine does hits both alike, and only the ratios count.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import uvloop

from tests.services.gateway_browser import PipeBrowser
from tests.support import proc
from tests.support.stack import Stack

from .places import Places

SESSIONS = (1, 8, 32)
CROWD = 64
ROUNDS = 5
CALLS = 60
PIPELINED_SECONDS = 0.5
BIG = 5 << 20
BIG_ROUNDS = 5
PROJECT = "relay"
EVALUATE = {"expression": "1+1"}


class Wire(asyncio.Protocol):
    """A CDP client of the least cost: no masking (the key is zero), no parsing but of the id. Use `open`."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.session = ""
        self.target = ""
        self._buffer = bytearray()
        self._upgraded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._last = 0

    @classmethod
    async def open(cls, url: str) -> Wire:
        """Connect to a CDP address and take a tab of one's own."""
        where = urlsplit(url)
        assert where.hostname and where.port
        transport, wire = await asyncio.get_running_loop().create_connection(cls, where.hostname, where.port)
        wire.transport = transport
        head = f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        transport.write((head + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())
        async with asyncio.timeout(60):
            await wire._upgraded
        wire.target = (await wire.call("Target.createTarget", {"url": "about:blank", "background": True}))["targetId"]
        wire.session = (await wire.call("Target.attachToTarget", {"targetId": wire.target, "flatten": True}))["sessionId"]
        return wire

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """A call at the root, its answer parsed."""
        answer = json.loads(await self.send(method, params, ""))
        assert "error" not in answer, answer
        return answer["result"]

    def send(self, method: str, params: dict[str, Any], session: str | None = None) -> asyncio.Future[bytes]:
        """A call on the own tab; gives its raw answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session is None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode()
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        future = self._waiting[self._last] = asyncio.get_running_loop().create_future()
        self.transport.write(head + b"\0\0\0\0" + data)
        return future

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if not self._upgraded.done():
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            assert buffer.startswith(b"HTTP/1.1 101"), bytes(buffer[:200])
            del buffer[: end + 4]
            self._upgraded.set_result(None)
        while len(buffer) >= 2:
            size, start = buffer[1] & 127, 2
            if size == 126:
                if len(buffer) < 4:
                    return
                size, start = struct.unpack_from("!H", buffer, 2)[0], 4
            elif size == 127:
                if len(buffer) < 10:
                    return
                size, start = struct.unpack_from("!Q", buffer, 2)[0], 10
            if len(buffer) < start + size:
                return
            self._message(bytes(buffer[start : start + size]))
            del buffer[: start + size]

    def _message(self, message: bytes) -> None:
        if message.startswith(b'{"id":'):
            future = self._waiting.pop(int(message[6 : message.find(b",", 6)]), None)
            if future and not future.done():
                future.set_result(message)

    async def close(self) -> None:
        """Close the tab and the connection."""
        await self.send("Target.closeTarget", {"targetId": self.target}, "")
        self.transport.close()


async def latencies(clients: list[Wire], calls: int) -> list[float]:
    """Seconds of each round trip, all clients at once."""
    found: list[float] = []

    async def one(client: Wire) -> None:
        for _ in range(calls):
            start = time.perf_counter()
            await client.send("Runtime.evaluate", EVALUATE)
            found.append(time.perf_counter() - start)

    await asyncio.gather(*(one(client) for client in clients))
    return found


async def rate(clients: list[Wire]) -> float:
    """Round trips a second when each client keeps some in flight."""
    done, start = 0, time.perf_counter()

    async def keep(client: Wire) -> None:
        nonlocal done
        while time.perf_counter() < start + PIPELINED_SECONDS:
            await client.send("Runtime.evaluate", EVALUATE)
            done += 1

    flights = 32 if len(clients) == 1 else max(2, 64 // len(clients))
    await asyncio.gather(*(keep(client) for client in clients for _ in range(flights)))
    return done / (time.perf_counter() - start)


async def timed(work: Callable[[], asyncio.Future[bytes]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


def big_down(client: Wire) -> asyncio.Future[bytes]:
    return client.send("Runtime.evaluate", {"expression": f"'x'.repeat({BIG})", "returnByValue": True})


def big_up(client: Wire) -> asyncio.Future[bytes]:
    return client.send("Runtime.evaluate", {"expression": "'" + "x" * BIG + "'.length"})


class Relay:
    """The two sides; each gives the address for its n-th client."""

    def __init__(self, direct: Callable[[int], str], product: Callable[[int], str], gateway: int) -> None:
        self.sides = (direct, product)
        self.gateway = gateway

    async def crowd(self, count: int) -> dict[str, float]:
        """Round trips of ``count`` sessions at once."""
        direct = [await Wire.open(self.sides[0](number)) for number in range(count)]
        before = proc.rss_kib(self.gateway)
        product = [await Wire.open(self.sides[1](number)) for number in range(count)]
        kib = (proc.rss_kib(self.gateway) - before) / count
        times: list[list[float]] = [[], []]
        rates: list[list[float]] = [[], []]
        calls = max(8, CALLS * 4 // (count + 3))
        for clients in (direct, product):
            await latencies(clients, 10)
        for _ in range(ROUNDS):
            for side, clients in enumerate((direct, product)):
                times[side] += await latencies(clients, calls)
            for side, clients in enumerate((direct, product)):
                rates[side].append(await rate(clients))
        for client in (*direct, *product):
            await client.close()
        p50 = [statistics.median(side) * 1e6 for side in times]
        p99 = [sorted(side)[int(len(side) * 0.99)] * 1e6 for side in times]
        per_second = [statistics.median(side) for side in rates]
        return {
            "direct_p50_us": round(p50[0]),
            "p50": round(p50[1] / p50[0], 2),
            "p99": round(p99[1] / p99[0], 2),
            "direct_per_second": round(per_second[0]),
            "per_second": round(per_second[1] / per_second[0], 2),
            "kib_a_connection": round(kib),
        }

    async def big(self) -> dict[str, float]:
        """Throughput of 5 MB answers and requests."""
        clients = [await Wire.open(side(0)) for side in self.sides]
        found = {}
        for name, work in (("down", big_down), ("up", big_up)):
            times: list[list[float]] = [[], []]
            for _ in range(BIG_ROUNDS):
                for side, client in enumerate(clients):
                    times[side].append(await timed(lambda client=client, work=work: work(client)))
            medians = [statistics.median(side) for side in times]
            found[f"direct_{name}_mb_s"] = round(BIG / 1e6 / medians[0])
            found[name] = round(medians[0] / medians[1], 2)
        for client in clients:
            await client.close()
        return found


async def measure() -> dict[str, Any]:
    """All figures: by number of sessions, and of big messages."""
    with Places() as places:
        stack: Stack = places.running_stack()
        await asyncio.to_thread(stack.http, "POST", "start", PROJECT, b"")
        browser = PipeBrowser("--remote-debugging-port=0")
        try:
            port = browser.root / "profile" / "DevToolsActivePort"
            proc.until(lambda: port.exists() and port.read_text().count("\n") >= 1, "the direct Chromium opens its port", 30)
            number, path = port.read_text().split("\n")[:2]
            relay = Relay(lambda _: f"ws://127.0.0.1:{number}{path}", lambda n: stack.ws(PROJECT, f"bench{n}"), stack.children["gateway"].pid)
            found: dict[str, Any] = {str(count): await relay.crowd(count) for count in (*SESSIONS, CROWD)}
            found["big"] = await relay.big()
            found["load"] = round(os.getloadavg()[0], 1)
            return found
        finally:
            browser.close()


def lines(found: dict[str, Any]) -> list[str]:
    """The figures as a Markdown table; ratios are the product's figure over the direct one's."""
    rows = ["| sessions | direct p50, µs | p50 ratio | p99 ratio | direct calls/s | calls/s ratio | KiB a connection |", "|---|---|---|---|---|---|---|"]
    for count in (*SESSIONS, CROWD):
        one = found[str(count)]
        cells = (count, one["direct_p50_us"], one["p50"], one["p99"], one["direct_per_second"], one["per_second"], one["kib_a_connection"])
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    big = found["big"]
    rows += [
        "",
        f"5 MB answers: {big['down']} of the direct {big['direct_down_mb_s']} MB/s; 5 MB requests: {big['up']} of the direct {big['direct_up_mb_s']} MB/s.",
    ]
    rows.append(f"Load of the machine at the end: {found['load']}.")
    return rows


def measure_apart() -> dict[str, Any]:
    """`measure` in a process of its own, where the client costs least."""
    done = subprocess.run([sys.executable, "-m", "tests.bench.relay", "--json"], stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    figures = uvloop.run(measure())
    print(json.dumps(figures) if "--json" in sys.argv else "\n".join(lines(figures)))

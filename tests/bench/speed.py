"""Speed: every server does the same step in turn, round by round, so that a busy moment of the machine hits all of them alike."""

from __future__ import annotations

import asyncio
import http.server
import statistics
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.support import proc

from .adapters import ADAPTERS, Adapter, definitions_bytes
from .places import Places
from .stdio import Timed

SMALL = """<!doctype html><title>Small</title><h1>Small page</h1><p>Hello <a href="/small?2">link two</a></p>
<label>Name <input id=n name=n></label><select aria-label=Pick><option>One<option>Two</select>
<button id=b onclick="document.getElementById('o').textContent=++window.c">Add</button><output id=o>0</output>
<script>window.c=0</script><ul>{}</ul>""".format("".join(f"<li>Item {number}</li>" for number in range(20)))
BIG = '<!doctype html><title>Big</title><h1>Big page</h1><button id=b onclick="this.dataset.n=1">Add</button><table>{}</table>'.format(
    "".join(f"<tr><td><a href='/small?{row}'>Row {row}</a></td><td>Some cell text {row}</td><td><button>Edit {row}</button></td></tr>" for row in range(1000))
)
SETTLE_SECONDS = 0.3

Round = Callable[["Adapter", str, "Samples"], AsyncIterator[None]]


class PageServer:
    """Serves the small page, and the big one at ``/big``."""

    def __init__(self) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = (BIG if self.path.startswith("/big") else SMALL).encode()
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Silent."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Failed(Exception):
    """A server could not do a step of the benchmark."""


class Samples:
    """What was measured of one server: milliseconds and bytes by step."""

    def __init__(self) -> None:
        self.ms: dict[str, list[float]] = defaultdict(list)
        self.bytes: dict[str, list[int]] = defaultdict(list)
        self.facts: dict[str, Any] = {}

    def add(self, step: str, answer: Timed | None) -> str:
        """Note an answer and give its text; raises `Failed` when the step did not work."""
        if answer is None:
            raise Failed(f"{step}: no such tool")
        if answer.error:
            raise Failed(f"{step}: {answer.text[:500]}")
        self.ms[step].append(answer.ms)
        self.bytes[step].append(answer.size)
        return answer.text

    def as_dict(self) -> dict[str, Any]:
        return {
            "ms": {step: spread(values) for step, values in self.ms.items()},
            "bytes": {step: int(statistics.median(values)) for step, values in self.bytes.items()},
            **self.facts,
        }


def spread(values: list[float]) -> dict[str, float]:
    """Median, least and greatest of some figures, and how many there are."""
    return {"median": round(statistics.median(values), 1), "min": round(min(values), 1), "max": round(max(values), 1), "n": len(values)}


def turn(keys: list[str], number: int) -> list[str]:
    """The servers in an order that moves on by one each round."""
    shift = number % len(keys)
    return keys[shift:] + keys[:shift]


def tree_mib(pid: int) -> float:
    """Resident memory in MiB of a process and what it started, browsers left out."""
    rows = {row.pid: row for row in proc.descendants([pid])}
    total = 0
    for row in rows.values():
        if row.pid == pid or not _is_browser(row, rows):
            total += _rss(row.pid)
    return round(total / 1024, 1)


def _is_browser(row: proc.Process, rows: dict[int, proc.Process]) -> bool:
    while True:
        if "chrom" in row.cmdline.split(" ")[0].rpartition("/")[2].lower():
            return True
        if row.ppid not in rows:
            return False
        row = rows[row.ppid]


def _rss(pid: int) -> int:
    try:
        return proc.rss_kib(pid)
    except AssertionError:
        return 0  # it ended between the two looks


async def starts(places: Places, keys: list[str], rounds: int, samples: dict[str, Samples]) -> None:
    """From the start of the process to the answers of ``initialize`` and ``tools/list``, and the memory of an idle server."""
    where = {key: places.make(key) for key in keys}
    idle: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        for key in turn(keys, number):
            adapter = ADAPTERS[key](where[key])
            await adapter.begin()
            samples[key].ms["initialize"].append(await adapter.server.handshake())
            samples[key].ms["tools_list"].append(await adapter.server.list_tools())
            await asyncio.sleep(SETTLE_SECONDS)
            idle[key].append(tree_mib(adapter.server.process.pid))
            samples[key].facts.update(tools=len(adapter.server.tools), tools_bytes=definitions_bytes(adapter.server))
            await adapter.close()
    for key in keys:
        samples[key].facts["idle_mib"] = round(statistics.median(idle[key]), 1)
        places.drop(where[key])


async def small_round(adapter: Adapter, url: str, into: Samples) -> AsyncIterator[None]:
    """One round on the small page, a step at a time."""
    into.add("navigate", await adapter.navigate(url))
    yield
    text = into.add("snapshot", await adapter.snapshot())
    add, name = adapter.ref(text, "Add", "button"), adapter.ref(text, "Name", "textbox")
    if add is None or name is None:
        raise Failed(f"no refs of Add and Name in the snapshot: {text[:800]}")
    yield
    into.add("click", await adapter.click(add))
    yield
    into.add("type", await adapter.type(name, "hello world"))
    yield
    into.add("evaluate", await adapter.evaluate_title())
    yield
    into.add("screenshot", await adapter.screenshot())


async def big_round(adapter: Adapter, url: str, into: Samples) -> AsyncIterator[None]:
    """One round on the page of a thousand rows, a step at a time."""
    into.add("navigate_big", await adapter.navigate(url))
    yield
    text = into.add("snapshot_big", await adapter.snapshot())
    yield
    if add := adapter.ref(text, "Add", "button"):
        into.add("click_big", await adapter.click(add))


class Race:
    """One long session a server. A server that fails a step drops out, with the reason kept."""

    def __init__(self, adapters: dict[str, Adapter], samples: dict[str, Samples]) -> None:
        self.adapters, self.samples = adapters, samples
        self.alive = list(adapters)

    async def round(self, number: int, begin: Round, url: str) -> None:
        """One round of all servers, step by step: each takes its step while the others rest, as they do while an agent thinks."""
        rounds = {key: begin(self.adapters[key], url, self.samples[key]) for key in self.alive}
        while rounds:
            for key in turn(list(self.adapters), number):
                if key in rounds and await self._ended(key, rounds[key]):
                    del rounds[key]

    async def _ended(self, key: str, steps: AsyncIterator[None]) -> bool:
        try:
            await anext(steps)
        except StopAsyncIteration:
            return True
        except Failed as reason:
            self.alive.remove(key)
            self.samples[key].facts["failed"] = str(reason)
            print(f"  {key} drops out: {reason}", flush=True)
            return True
        return False


async def first_round(adapter: Adapter, url: str, into: Samples) -> AsyncIterator[None]:
    """The first page, with what connecting to the browser takes."""
    into.add("first_navigate", await adapter.navigate(url))
    yield


async def sessions(places: Places, keys: list[str], rounds: int, big_rounds: int, samples: dict[str, Samples]) -> None:
    """The rounds of all servers, and their memory at the end."""
    pages = PageServer()
    where = {key: places.make(key) for key in keys}
    race = Race({key: ADAPTERS[key](where[key]) for key in keys}, samples)
    try:
        for adapter in race.adapters.values():
            await adapter.start()
        await race.round(0, first_round, f"{pages.url}/small?first")
        for number in range(rounds):
            await race.round(number, small_round, f"{pages.url}/small?{number}")
        for number in range(big_rounds):
            await race.round(number, big_round, f"{pages.url}/big?{number}")
        for key in race.alive:
            samples[key].facts["session_mib"] = tree_mib(race.adapters[key].server.process.pid)
    finally:
        for key in keys:
            await race.adapters[key].close()
            places.drop(where[key])
        pages.close()


async def measure(keys: list[str], start_rounds: int, rounds: int, big_rounds: int) -> dict[str, Any]:
    """Everything of this module, by server."""
    samples = {key: Samples() for key in keys}
    with Places() as places:
        print(f"starts: {start_rounds} rounds", flush=True)
        await starts(places, keys, start_rounds, samples)
        print(f"sessions: {rounds} rounds, {big_rounds} on the big page", flush=True)
        await sessions(places, keys, rounds, big_rounds, samples)
    return {key: sample.as_dict() for key, sample in samples.items()}

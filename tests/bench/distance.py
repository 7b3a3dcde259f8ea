"""What distance costs: the same calls through a relay that delays every byte, and how often the talk goes back and forth for each.

The product's launcher reaches its gateway through the relay, a peer reaches its browser's debug port through it, since that is what either has to cross
when the agent's machine is not the browser's. Rounds with and without delay are interleaved.
"""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

from tests.support.relay import OUT, Relay

from .adapters import ADAPTERS, Adapter, Place
from .places import Places
from .speed import PageServer
from .stdio import Timed

DELAY = 0.05
"""Seconds each way."""
ROUNDS = 5
SERVERS = ("gateway", "cd", "pw")
STEPS = ("navigate", "snapshot", "click", "type", "screenshot")


class Far:
    """One server whose way to the browser leads through a relay."""

    def __init__(self, places: Places, key: str, delay: float) -> None:
        near = places.make(key)
        self.relay = Relay(int(near.port), delay)
        url = f"http://127.0.0.1:{self.relay.port}"
        env = {**near.env, "TELEBROWSER_URL": url}
        self.place: Place = dataclasses.replace(near, http=url, ws=near.ws.replace(near.port, str(self.relay.port)), env=env)
        self.near = near
        self.adapter: Adapter = ADAPTERS[key](self.place)
        self.samples: dict[str, list[tuple[float, int]]] = {step: [] for step in STEPS}

    async def round(self, url: str) -> None:
        """Each step once."""
        await self._step("navigate", self.adapter.navigate(url))
        seen = await self._step("snapshot", self.adapter.snapshot())
        button, name = self.adapter.ref(seen.text, "Add", "button"), self.adapter.ref(seen.text, "Name")
        assert button and name, seen.text[:800]
        await self._step("click", self.adapter.click(button))
        await self._step("type", self.adapter.type(name, "hello world"))
        await self._step("screenshot", self.adapter.screenshot())

    async def _step(self, step: str, call: Any) -> Timed:
        self.relay.begin()
        answer: Timed = await call
        assert not answer.error, answer.text[:500]
        self.samples[step].append((answer.ms, self.relay.turns.count(OUT)))
        return answer

    async def close(self) -> None:
        """End the server, then the way."""
        await self.adapter.close()
        self.relay.close()


async def measure(servers: list[str]) -> dict[str, Any]:
    """Medians by server and step: milliseconds near and far, and round trips."""
    found: dict[str, Any] = {"delay_ms": round(DELAY * 1000), "servers": {}}
    pages = PageServer()
    with Places() as places:
        for key in (key for key in SERVERS if key in servers):
            pair = [Far(places, key, delay) for delay in (0.0, DELAY)]
            try:
                for far in pair:
                    await far.adapter.start()
                    await far.round(f"{pages.url}/small?warm")
                    far.samples = {step: [] for step in STEPS}
                for number in range(ROUNDS):
                    for far in pair:
                        await far.round(f"{pages.url}/small?{number}")
                found["servers"][key] = {step: _figures(pair, step) for step in STEPS}
                print(key, found["servers"][key], flush=True)
            finally:
                for far in pair:
                    await far.close()
                    places.drop(far.near)
    pages.close()
    return found


def _figures(pair: list[Far], step: str) -> dict[str, float]:
    near, far = ([sample[0] for sample in each.samples[step]] for each in pair)
    turns = [sample[1] for each in pair for sample in each.samples[step]]
    return {"near_ms": round(statistics.median(near), 1), "far_ms": round(statistics.median(far), 1), "round_trips": statistics.median(turns)}


def lines(found: dict[str, Any]) -> list[str]:
    """The table of the page."""
    rows = ["| | " + " | ".join(f"{step}: near → far, round trips" for step in STEPS) + " |", "|---" * (len(STEPS) + 1) + "|"]
    for key, steps in found["servers"].items():
        cells = [f"{steps[step]['near_ms']:.0f} → {steps[step]['far_ms']:.0f} ms, {steps[step]['round_trips']:.0f}" for step in STEPS]
        rows.append(f"| {ADAPTERS[key].title} | " + " | ".join(cells) + " |")
    return rows

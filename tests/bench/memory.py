"""Memory of ten agents of one project: the gateway with its engine, and a launcher."""

from __future__ import annotations

import statistics
from typing import Any

from tests.support import proc

from .adapters import ProductGateway
from .places import Places
from .speed import PageServer, Samples, small_round

AGENTS = 10


async def measure() -> dict[str, Any]:
    """Resident MiB: the gateway before any agent and with ten that have all worked, and the launchers' median."""
    pages = PageServer()
    agents: list[ProductGateway] = []
    with Places() as places:
        stack = places.running_stack()
        gateway = stack.children["gateway"].pid
        before = proc.rss_kib(gateway)
        place = places.make(ProductGateway.key)
        try:
            for number in range(AGENTS):
                agent = ProductGateway(place)
                await agent.start()
                agents.append(agent)
                async for _ in small_round(agent, f"{pages.url}/small?{number}", Samples()):
                    pass
            return {
                "agents": AGENTS,
                "gateway_idle_mib": round(before / 1024, 1),
                "gateway_mib": round(proc.rss_kib(gateway) / 1024, 1),
                "supervisor_mib": round(proc.rss_kib(stack.children["supervisor"].pid) / 1024, 1),
                "launcher_mib": round(statistics.median(proc.rss_kib(agent.server.process.pid) for agent in agents) / 1024, 1),
            }
        finally:
            for agent in agents:
                await agent.close()
            pages.close()

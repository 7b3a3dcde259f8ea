"""The benchmark's command: ``python -m tests.bench.run [options]``, which ``make bench`` calls with ``BENCH_ARGS``.

Results are kept in ``.bench/results.json``, a section at a time, so that a part can be run again by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from tests.support.chromium import binary

from . import distance, memory, peers, relay, speed
from .adapters import ADAPTERS, PEERS, PRODUCT
from .report import DOCUMENT, Report
from .scoring.registry import CASES
from .scoring.score import score

RESULTS = PEERS / "results.json"
SECTIONS = ("speed", "memory", "relay", "distance", "cases")


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", type=_list(SECTIONS), default=list(SECTIONS), help="sections to run, of speed, memory, relay, distance and cases; none only writes the page"
    )
    parser.add_argument("--servers", type=_list(ADAPTERS), default=list(ADAPTERS), help=f"servers to run (default: {','.join(ADAPTERS)})")
    parser.add_argument("--cases", type=_list(CASES), default=sorted(CASES), help="cases to score (default: all)")
    parser.add_argument("--starts", type=int, default=7, help="rounds of starting every server (default: 7)")
    parser.add_argument("--rounds", type=int, default=11, help="rounds on the small page (default: 11)")
    parser.add_argument("--big-rounds", type=int, default=5, help="rounds on the page of a thousand rows (default: 5)")
    parser.add_argument("--log", action="store_true", help="print every call of the cases")
    return parser.parse_args(argv)


def _list(known: Any) -> Any:
    def parse(text: str) -> list[str]:
        names = [] if text == "none" else text.split(",")
        if unknown := set(names) - set(known):
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return names

    return parse


def output_of(*command: str) -> str:
    """The first line that a command prints, or a dash."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return "–"


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start",
        "browser": output_of(binary(), "--version"),
        "Python": platform.python_version(),
        "Node": output_of("node", "--version"),
    }


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the sections and merge what they gave into the kept results."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.only:
        results["machine"] = machine()
    if "speed" in options.only:
        results["speed"] = await speed.measure(options.servers, options.starts, options.rounds, options.big_rounds)
        save(results)
    if "memory" in options.only and "gateway" in options.servers:
        results["memory"] = await memory.measure()
        save(results)
    if "relay" in options.only and "gateway" in options.servers:
        results["relay"] = await asyncio.to_thread(relay.measure_apart)
        save(results)
    if "distance" in options.only:
        results["distance"] = await distance.measure(options.servers)
        save(results)
    if "cases" in options.only:
        scored = await score(options.servers, options.cases, options.log)
        kept = results.setdefault("cases", {})
        for key, cells in scored.items():
            kept.setdefault(key, {}).update(cells)
        save(results)
    return results


def save(results: dict[str, Any]) -> None:
    """Keep the results, whole or not at all."""
    PEERS.mkdir(exist_ok=True)
    partial = RESULTS.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    partial.replace(RESULTS)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        if options.only and set(options.servers) - set(PRODUCT):
            peers.install()
    except peers.Missing as missing:
        print(f"bench: {missing}", file=sys.stderr)
        return 1
    Report(asyncio.run(run(options))).write()
    print(f"wrote {DOCUMENT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

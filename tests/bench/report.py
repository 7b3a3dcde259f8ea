"""Writes docs/BENCHMARKS.md from the results; what stands between two marks is kept: the notes, and what `views` writes about people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from .adapters import ADAPTERS, PRODUCT, RIVALS
from .distance import lines as distance_lines
from .relay import lines as relay_lines
from .scoring.cell import RIGHT, VERDICTS

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "BENCHMARKS.md"
NOTES = re.compile(r"<!-- notes -->\n(.*)<!-- end of notes -->", re.S)
PEOPLE = re.compile(r"<!-- people -->\n.*<!-- end of people -->\n\n", re.S)
NO_NOTES = "\nNothing noted yet.\n\n"
FLOOR = "ab"


# Measured by hand, with the scenario default of molecule; a run of the benchmark deploys nothing.
DEPLOYMENT = [
    "## Deployment",
    "",
    "On Docker 20.10 on the machine above, one host, one run, images at hand: `site` from nothing 33 s with the engine's cache of the gateway's image,",
    "again 23 s with nothing changed; the whole scenario (check, converge, again, verify, restarts, crash, engine restarted, rotation, removal) 319 s.",
    "`upgrade` with two live projects that changes the browsers' container: 35 s without a browser for each. After `docker restart` of the browsers the port",
    "answers at once and browsers start after 2.1 s; after a crash of process 1 after 5.7 s. The rotation alone has not been timed.",
    "",
    "A compose file by hand would have to bring by itself: two services with an order that holds over reboots, the secret as a mounted folder, owners of the",
    "data before the first start, the seccomp profile, the policies, the service's files with their modes, and a check that each of them works.",
]

MISSED = [
    "What would close those that are missed:",
    "",
    "- *initialize, standalone*: the process imports the MCP SDK, which takes half a second here. A server without the SDK would not, or one that stays",
    "  between sessions, which is what the gateway is.",
    "- *type*: every character is real input (7 and 16 ms of Chromium's time in two traces), and what the field then holds",
    "  is read back. A script that sets the value costs neither, and shows the page none of what a person's typing does.",
    "- *screenshot, gateway*: the window is headful and 1600 × 900; a bare capture of it over CDP takes as long. Peers measured here capture a headless one.",
    "  The picture of a screencast that runs anyway would do, at the price of one that always runs.",
]


class Row(NamedTuple):
    """One step: its name in the results, its name for people, and the target for its ratio to the better peer."""

    step: str
    title: str
    target: float | None = None


STEPS = (
    Row("initialize", "start → `initialize` answered", 0.25),
    Row("tools_list", "start → `tools/list` answered"),
    Row("first_navigate", "first navigate, connecting included"),
    Row("navigate", "navigate, small page", 0.8),
    Row("snapshot", "snapshot, small page", 1.0),
    Row("click", "click", 0.4),
    Row("type", "type 11 characters", 0.6),
    Row("evaluate", "evaluate `document.title`"),
    Row("screenshot", "screenshot of the viewport", 1.0),
    Row("navigate_big", "navigate, 1000 rows"),
    Row("snapshot_big", "snapshot, 1000 rows", 0.5),
    Row("click_big", "click, 1000 rows"),
)
TOOLS_LIMIT, SNAPSHOT_LIMIT, LAUNCHER_LIMIT = 16 * 1024, 20 * 1024, 30.0


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]


def number(value: float) -> str:
    return f"{value:.1f}" if value < 20 else f"{value:.0f}"


class Report:
    """The document, section by section; a section without results says so."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.speed: dict[str, Any] = results.get("speed", {})
        self.keys = [key for key in ADAPTERS if key in self.speed]

    def median(self, key: str, step: str) -> float | None:
        found = self.speed.get(key, {}).get("ms", {}).get(step)
        return float(found["median"]) if found else None

    def best_rival(self, step: str) -> float | None:
        return min((value for key in RIVALS if (value := self.median(key, step)) is not None), default=None)

    def ratio(self, key: str, step: str) -> float | None:
        own, rival = self.median(key, step), self.best_rival(step)
        return own / rival if own is not None and rival else None

    def write(self) -> None:
        former = DOCUMENT.read_text() if DOCUMENT.exists() else ""
        kept, people = NOTES.search(former), PEOPLE.search(former)
        lines = [*self._head(), *self._targets(), *self._latency(), *self._size(), *self._relay(), *self._distance(), *DEPLOYMENT, ""]
        lines += [*(people[0].rstrip("\n").splitlines() if people else ()), "", *self._cases()]
        lines += ["## Notes on what misses its target", "", "<!-- notes -->"]
        DOCUMENT.write_text("\n".join(lines) + "\n" + (kept[1] if kept else NO_NOTES) + "<!-- end of notes -->\n")

    def _head(self) -> list[str]:
        lines = [
            "# Benchmarks",
            "",
            "`make bench` measures the product and its peers in one run and writes this page. Every server runs beside the others, step by step and in",
            "a rotating order; what attaches to a browser gets a headless Chromium of its own, the product's gateway drives a headful one under Xvfb.",
            "Times are what the MCP client sees over stdio, as medians. Ratios are to the better of chrome-devtools-mcp and @playwright/mcp;",
            "below 1 is faster.",
            "agent-browser does not settle after an action, so it stands here as a floor, not as a like.",
            "",
        ]
        machine = self.results.get("machine", {})
        if machine:
            lines += [*table(["", ""], [[name, str(value)] for name, value in machine.items()]), ""]
        return lines

    def _targets(self) -> list[str]:
        rows = []
        for step in STEPS:
            if step.target is None:
                continue
            for key in PRODUCT:
                if (ratio := self.ratio(key, step.step)) is not None:
                    rows.append(self._verdict(f"{step.title}, {ADAPTERS[key].title.split(', ')[1]}", f"{ratio:.2f}", f"≤ {step.target}", ratio <= step.target))
        for key in PRODUCT:
            sample, where = self.speed.get(key, {}), ADAPTERS[key].title.split(", ")[1]
            if size := sample.get("tools_bytes"):
                rows.append(self._verdict(f"tools JSON, {where}", f"{size / 1024:.1f} KB", "≤ 16 KB", size <= TOOLS_LIMIT))
            if size := sample.get("bytes", {}).get("snapshot_big"):
                rows.append(self._verdict(f"snapshot of 1000 rows, {where}", f"{size / 1024:.1f} KB", "≤ 20 KB", size <= SNAPSHOT_LIMIT))
        if memory := self.results.get("memory"):
            launcher = memory["launcher_mib"]
            rows.append(self._verdict("launcher's memory", f"{launcher} MiB", "≤ 30 MB", launcher * 1.048576 <= LAUNCHER_LIMIT))
            if rival := self.speed.get("cd", {}).get("session_mib"):
                own = memory["gateway_mib"]
                title = f"engine and gateway with {memory['agents']} agents, beside one chrome-devtools-mcp"
                rows.append(self._verdict(title, f"{own} MiB", f"≤ {rival} MiB", own <= rival))
        return ["## Targets", "", *(table(["what", "measured", "target", "met"], rows) if rows else ["Not measured yet."]), "", *MISSED, ""]

    @staticmethod
    def _verdict(title: str, measured: str, target: str, met: bool) -> list[str]:
        return [title, measured, target, "yes" if met else "**no**"]

    def _latency(self) -> list[str]:
        if not self.speed:
            return []
        rows = []
        for step in STEPS:
            cells = [self._spread(key, step.step) for key in self.keys]
            ratios = [f"{ratio:.2f}" if (ratio := self.ratio(key, step.step)) is not None else "" for key in PRODUCT if key in self.keys]
            rows.append([step.title, *cells, *ratios])
        head = ["median (least) in ms", *(ADAPTERS[key].title for key in self.keys)]
        lines = ["## Time", "", *table([*head, *(f"ratio, {key}" for key in PRODUCT if key in self.keys)], rows), ""]
        return lines + [f"{ADAPTERS[key].title} dropped out: {self.speed[key]['failed']}\n" for key in self.keys if "failed" in self.speed[key]]

    def _spread(self, key: str, step: str) -> str:
        found = self.speed[key].get("ms", {}).get(step)
        return f"{number(found['median'])} ({number(found['min'])})" if found else "–"

    def _size(self) -> list[str]:
        if not self.speed:
            return []
        facts = (("tools", "tools"), ("tools_bytes", "tools JSON, bytes"), ("idle_mib", "memory idle, MiB"), ("session_mib", "memory after the session, MiB"))
        rows = [[title, *(str(self.speed[key].get(fact, "–")) for key in self.keys)] for fact, title in facts]
        for step, title in (("snapshot", "snapshot, small page, bytes"), ("snapshot_big", "snapshot, 1000 rows, bytes"), ("click", "answer to a click, bytes")):
            rows.append([title, *(str(self.speed[key].get("bytes", {}).get(step, "–")) for key in self.keys)])
        lines = ["## Size and memory", "", *table(["", *(ADAPTERS[key].title for key in self.keys)], rows), ""]
        lines += [
            "Memory is the resident memory of the server's process and of what it started, browsers left out. Through the gateway that is the launcher alone;",
            "the engine is shared, and is measured below. agent-browser's daemon is not counted.",
            "",
        ]
        if memory := self.results.get("memory"):
            lines += [
                *table(
                    ["with the gateway", "MiB"],
                    [
                        ["gateway with the engine, no agent yet", str(memory["gateway_idle_mib"])],
                        [f"gateway with the engine, {memory['agents']} agents that have worked", str(memory["gateway_mib"])],
                        ["supervisor", str(memory["supervisor_mib"])],
                        ["one launcher", str(memory["launcher_mib"])],
                    ],
                ),
                "",
            ]
        return lines

    def _relay(self) -> list[str]:
        if not (found := self.results.get("relay")):
            return []
        lines = [
            "## The gateway as a relay of CDP",
            "",
            "Round trips of `Runtime.evaluate` through the gateway with its filter on, beside a Chromium's own debug port,",
        ]
        return [
            *lines,
            "interleaved; one tab and one connection a session. Ratios are the product's figure over the direct one's.",
            "",
            *relay_lines(found),
            "",
        ]

    def _distance(self) -> list[str]:
        if not (found := self.results.get("distance")):
            return []
        return [
            "## Distance",
            "",
            f"The agent and the browser on two machines: a relay delays each byte by {found['delay_ms']} ms each way, between launcher and gateway, or between",
            "a peer and the browser's debug port. Medians, without and with delay in turn; a round trip is a turn of the talk there and back.",
            "",
            *distance_lines(found),
            "",
        ]

    def _cases(self) -> list[str]:
        cases: dict[str, dict[str, Any]] = self.results.get("cases", {})
        keys = [key for key in ADAPTERS if cases.get(key)]
        if not keys:
            return ["## Outcomes", "", "Not measured yet.", ""]
        names = sorted({name for key in keys for name in cases[key]})
        lines = [
            "## Outcomes",
            "",
            f"{len(names)} pages of `tests/cases/pages`, each with a fresh browser and a fresh server; the truth is read over a CDP connection of its own.",
            "✓ right in all parts, ~ partly, ✗ wrong in a deciding part, ! with a claim of success without the effect, – no tool for it.",
            "The time is that of the deciding call.",
            "",
        ]
        totals = [[verdict, *(str(sum(cell["verdict"] == verdict for cell in cases[key].values())) for key in keys)] for verdict in VERDICTS]
        totals.append(["parts right", *(f"{sum(c['ok'] for c in cases[key].values())}/{sum(c['parts'] for c in cases[key].values())}" for key in keys)])
        lines += [*table(["total", *(ADAPTERS[key].title for key in keys)], totals), ""]
        rows = []
        for name in names:
            rows.append([name, *(self._cell(cases[key].get(name)) for key in keys), self._slower(cases, name)])
        lines += [*table(["case", *(ADAPTERS[key].title for key in keys), "slower than a peer that is right"], rows), ""]
        return lines + self._open_parts(cases, keys)

    @staticmethod
    def _cell(cell: dict[str, Any] | None) -> str:
        if cell is None:
            return ""
        return str(cell["verdict"]) + (f" {cell['ms']} ms" if cell["ms"] is not None else "") + (f", hangs: {cell['hangs']}" if cell["hangs"] else "")

    @staticmethod
    def _slower(cases: dict[str, dict[str, Any]], name: str) -> str:
        right = [cell["ms"] for key in RIVALS if (cell := cases.get(key, {}).get(name)) and cell["verdict"] == RIGHT and cell["ms"] is not None]
        slow = [key for key in PRODUCT if right and (cell := cases.get(key, {}).get(name)) and (cell["ms"] or 0) > min(right)]
        return ", ".join(slow)

    @staticmethod
    def _open_parts(cases: dict[str, dict[str, Any]], keys: list[str]) -> list[str]:
        rows = [
            [name, ADAPTERS[key].title, cell["verdict"], ", ".join(cell["failed"]), cell["facts"][:300]]
            for key in PRODUCT
            if key in keys
            for name, cell in sorted(cases[key].items())
            if cell["failed"]
        ]
        return ["### What the product does not reach", "", *(table(["case", "", "", "parts", "facts"], rows) if rows else ["Nothing."]), ""]

"""The benchmark's page, from results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench import report
from tests.bench.report import Report
from tests.bench.speed import spread, turn


def sample(median: float, **facts: Any) -> dict[str, Any]:
    steps = {step.step: spread([median]) for step in report.STEPS}
    return {"ms": steps, "bytes": {"snapshot_big": 18000}, "tools_bytes": 12000, "tools": 12, "session_mib": 240.0, **facts}


RESULTS: dict[str, Any] = {
    "speed": {"gateway": sample(50), "standalone": sample(90), "cd": sample(100), "pw": sample(200), "ab": sample(10)},
    "memory": {"agents": 10, "gateway_idle_mib": 80.0, "gateway_mib": 120.0, "supervisor_mib": 20.0, "launcher_mib": 18.0},
    "cases": {
        "gateway": {"covered": {"verdict": "✓", "ok": 4, "parts": 4, "ms": 400, "hangs": 0, "answer": "", "facts": "", "failed": []}},
        "cd": {"covered": {"verdict": "✓", "ok": 4, "parts": 4, "ms": 300, "hangs": 1, "answer": "", "facts": "", "failed": []}},
    },
}


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "BENCHMARKS.md"
    monkeypatch.setattr(report, "DOCUMENT", path)
    return path


def test_ratios_are_to_the_better_peer_and_never_to_the_floor() -> None:
    made = Report(RESULTS)
    assert made.ratio("gateway", "click") == 0.5
    assert made.ratio("standalone", "click") == 0.9


def test_targets_say_whether_they_are_met(document: Path) -> None:
    Report(RESULTS).write()
    text = document.read_text()
    assert "| navigate, small page, gateway | 0.50 | ≤ 0.8 | yes |" in text
    assert "| click, gateway | 0.50 | ≤ 0.4 | **no** |" in text
    assert "| launcher's memory | 18.0 MiB | ≤ 30 MB | yes |" in text


def test_a_case_slower_than_a_peer_that_is_right_is_named(document: Path) -> None:
    Report(RESULTS).write()
    assert "| covered | ✓ 400 ms | ✓ 300 ms, hangs: 1 | gateway |" in document.read_text()


def test_notes_survive_a_new_run(document: Path) -> None:
    Report(RESULTS).write()
    people = "<!-- people -->\n## People\n\nby hand\n<!-- end of people -->\n\n"
    text = document.read_text().replace(report.NO_NOTES, "\nclick: the settle window.\n\n")
    document.write_text(text.replace("## Notes", people + "## Notes", 1))
    Report({**RESULTS, "memory": {}}).write()
    assert "\nclick: the settle window.\n" in document.read_text() and document.read_text().count(people) == 1


def test_a_page_without_results_says_so(document: Path) -> None:
    Report({}).write()
    assert document.read_text().count("Not measured yet.") == 2


def test_each_round_begins_with_the_next_server() -> None:
    assert [turn(["a", "b", "c"], number) for number in range(3)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]

"""What people see of a browser."""

from __future__ import annotations

from typing import Any

from telebrowser.cli import downloads, status

DOCUMENT: dict[str, Any] = {
    "project": "shop",
    "state": "up",
    "reason": None,
    "pid": 17,
    "started_at": "2026-01-02T03:04:05Z",
    "browser": "Chrome/156",
    "idle_seconds": 90,
    "idle_minutes": 30,
    "hold_until": None,
    "sessions": [{"session": "a1", "tabs": 1, "connections": 2}],
    "downloads": {"directory": "/d", "files": 0},
    "warnings": ["no sandbox"],
    "version": "1",
    "view_url": None,
    "gateway": {"version": "1", "uptime_seconds": 5},
}


def rows(**changes: Any) -> list[tuple[str, str]]:
    """The lines as name and value."""
    return [(line[:10].strip(), line[12:]) for line in status.text_of({**DOCUMENT, **changes}).splitlines()]


def test_a_running_browser() -> None:
    assert rows() == [
        ("project", "shop"),
        ("state", "up (pid 17, since 2026-01-02T03:04:05Z)"),
        ("browser", "Chrome/156"),
        ("idle", "90 s; stopped after 30 minutes"),
        ("session", "a1: 1 tab, 2 connections"),
        ("downloads", "0 files in /d"),
        ("gateway", "1"),
        ("warning", "no sandbox"),
    ]


def test_a_browser_that_was_left_down_says_why() -> None:
    shown = dict(rows(state="failed", reason="crashed three times", pid=None, started_at=None))
    assert shown["state"] == "failed (crashed three times)" and "idle" not in shown


def test_no_idle_stop_and_a_hold() -> None:
    shown = dict(rows(idle_minutes=0, hold_until="2026-01-02T04:00:00Z", view_url="https://view.example"))
    assert shown["idle"] == "90 s; never stopped" and shown["hold until"] == "2026-01-02T04:00:00Z" and shown["view"] == "https://view.example"


def test_where_people_look_and_by_what() -> None:
    assert dict(rows(people={"url": "http://127.0.0.1:5859", "view": "vnc"}))["people"] == "http://127.0.0.1:5859, by vnc"
    assert "people" not in dict(rows(people={"url": None, "view": "none"}))


def test_a_document_with_less_in_it_is_shown_too() -> None:
    assert status.text_of({"project": "p", "state": "stopped"}).splitlines() == ["project     p", "state       stopped"]


def test_names_cannot_act_on_the_terminal() -> None:
    text = downloads.text_of({"directory": "/d", "files": [{"name": "a\x1b[2J\n\u202ex", "size": 3, "modified": "t"}]})
    assert text.splitlines() == ["/d: 1 file", "t             3  a?[2J??x"]
    assert downloads.text_of({"directory": "/d", "files": []}) == "/d: no files"

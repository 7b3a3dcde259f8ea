"""The table of the relay's figures."""

from __future__ import annotations

from tests.bench.relay import CROWD, SESSIONS, lines


def test_every_crowd_has_a_row_and_big_messages_a_line() -> None:
    one = {"direct_p50_us": 400, "p50": 1.1, "p99": 1.2, "direct_per_second": 5000, "per_second": 0.9, "kib_a_connection": 50}
    big = {"direct_down_mb_s": 30, "down": 1.05, "direct_up_mb_s": 20, "up": 0.95}
    found = {**{str(count): one for count in (*SESSIONS, CROWD)}, "big": big, "load": 0.5}
    table = lines(found)
    assert [row.split(" | ")[0].strip("| ") for row in table[2:6]] == [str(count) for count in (*SESSIONS, CROWD)]
    assert table[2] == "| 1 | 400 | 1.1 | 1.2 | 5000 | 0.9 | 50 |"
    assert "5 MB answers: 1.05 of the direct 30 MB/s; 5 MB requests: 0.95 of the direct 20 MB/s." in table

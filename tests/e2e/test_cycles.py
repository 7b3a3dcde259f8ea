"""Starting and stopping again and again leaves nothing: no process, file, descriptor, and no growing memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack

CYCLES = 15
PROJECT = "cycles"


def files_under(*folders: Path) -> set[str]:
    """Every path below the folders."""
    return {str(path) for folder in folders for path in folder.rglob("*")}


@pytest.mark.timeout(400)
async def test_gateway_browser(new_stack: Callable[..., Stack], pages: Pages, home: Path) -> None:
    stack = new_stack(session_grace=0).start()
    baseline: dict[str, Any] = {}
    for number in range(CYCLES):
        client = await McpClient.start("mcp", "--project", PROJECT, env=stack.env(), cwd=home)
        await client.ok("browser_navigate", url=f"{pages.base}/clock.html?{number}")
        await client.ok("browser_snapshot")
        await client.close()
        assert stack.http("POST", "stop", PROJECT, b"").status == 200
        if number == 4:
            baseline = measure(stack)
    after = measure(stack)
    assert after["processes"] == baseline["processes"], (baseline, after)
    assert after["files"] - baseline["files"] == set(), after["files"] - baseline["files"]
    for part in ("gateway", "supervisor"):
        assert len(after[part][0]) <= len(baseline[part][0]) + 2, (part, baseline[part][0], after[part][0])
        assert after[part][1] <= baseline[part][1] + 8 * 1024, (part, baseline[part][1], after[part][1])


def measure(stack: Stack) -> dict[str, Any]:
    """Processes by program, files beside profile and logs, and descriptors and memory of the two parts."""
    stack_pids = {part: child.pid for part, child in stack.children.items()}
    return {
        "processes": sorted(Path(row.cmdline.split(" ")[0]).name for row in proc.mentioning(str(stack.root))),
        "files": {path for path in files_under(stack.temp, stack.data / "run", stack.home)},
        **{part: (sorted(proc.descriptors(pid)), proc.rss_kib(pid)) for part, pid in stack_pids.items()},
    }

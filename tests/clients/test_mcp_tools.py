"""The MCP project's own tools accept us: the conformance suite over HTTP, the inspector over HTTP and stdio."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.resources import everything
from tests.support.stack import LAUNCHER, Stack, token

from .scene import HERE, MODULES

# Both need a newer Node than the product.
NODE = MODULES / f"node-linux-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), '?') }" / "bin" / "node"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
EVERYTHING = everything.__file__
PROJECT = "mcptools"


def node(stack: Stack, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script to its end."""
    env = {**stack.env(), "HOME": str(home), "NO_COLOR": "1"}
    return subprocess.run([str(NODE), *words], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150)


def test_conformance(stack: Stack, home: Path) -> None:
    """Every scenario passes but those of the baseline, which call tools and prompts that only the suite's own server has."""
    baseline = str(HERE / "conformance.yml")
    done = node(stack, home, str(CONFORMANCE), "server", "--url", stack.path("mcp", PROJECT), "--suite", "all", "--expected-failures", baseline)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "server-initialize" in done.stdout


def test_conformance_of_the_transport(home: Path, stack: Stack) -> None:
    """The server that the suite wants to see, behind our HTTP sessions: progress, sampling and elicitation travel as they should."""
    with subprocess.Popen([sys.executable, EVERYTHING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            port = int(process.stdout.readline().split()[1])
            done = node(stack, home, str(CONFORMANCE), "server", "--url", f"http://127.0.0.1:{port}/mcp", "--suite", "all")
        finally:
            process.kill()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def inspect(stack: Stack, home: Path, where: str, *words: str) -> Any:
    """What the inspector prints for one method."""
    given = ["-e", f"TELEBROWSER_URL={stack.url}", "-e", f"TELEBROWSER_CONFIG_DIR={stack.secret_file.parent}"]
    target = [stack.path("mcp", PROJECT), "--transport", "http"] if where == "http" else [LAUNCHER, "mcp", "--project", PROJECT, *given]
    done = node(stack, home, str(INSPECTOR), "--cli", *target, "--method", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert token(PROJECT).partition(".")[2] not in done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("where", ["http", "stdio"])
def test_the_inspector(stack: Stack, home: Path, where: str) -> None:
    tools = {tool["name"]: tool for tool in inspect(stack, home, where, "tools/list")["tools"]}
    assert all("title" in tool and "readOnlyHint" in tool["annotations"] for tool in tools.values())
    assert inspect(stack, home, where, "tools/call", "--tool-name", "browser_downloads")["structuredContent"]["files"] == []
    assert len(inspect(stack, home, where, "resources/list")["resources"]) == 3
    (status,) = inspect(stack, home, where, "resources/read", "--uri", "telebrowser://status")["contents"]
    assert json.loads(status["text"])["project"] == PROJECT
    (prompt,) = inspect(stack, home, where, "prompts/list")["prompts"]
    filled = inspect(stack, home, where, "prompts/get", "--prompt-name", prompt["name"], "--prompt-args", "task=buy tea")
    assert "buy tea" in filled["messages"][0]["content"]["text"]

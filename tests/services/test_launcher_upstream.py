"""`telebrowser mcp --upstream` as a process: another MCP server beside the engine, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CreateMessageResult, ElicitResult, TextContent

from tests.resources import fake_upstream
from tests.resources.fake_upstream import FakeUpstream, line
from tests.services.launcher_gateway import Gateway
from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.stack import LAUNCHER, SECRET, token

FAKE = fake_upstream.__file__
END_SECONDS = 5.0


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A gateway whose tools are echo, slow, big and a few of a browser."""
    made = Gateway().start()
    yield made
    made.kill()


@pytest.fixture
def environment(gateway: Gateway, home: Path) -> dict[str, str]:
    """The environment of launchers; the secret lies in a file."""
    folder = home / "config"
    folder.mkdir()
    (folder / "secret").touch(mode=0o600)
    (folder / "secret").write_text(SECRET)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TELEBROWSER_URL": gateway.url, "TELEBROWSER_CONFIG_DIR": str(folder)}


def arguments(*options: str, tools: str = "both") -> list[str]:
    """The command line of a launcher with the fake server."""
    return ["mcp", "--project", "shop", "--tools", tools, "--upstream", "--", sys.executable, FAKE, *options]


Launch = Callable[..., Any]


@pytest.fixture
async def launch(environment: dict[str, str], home: Path) -> AsyncIterator[Launch]:
    """Starts launchers with the fake server; nothing of them may be left at the end."""
    made: list[McpClient] = []

    async def start(*options: str, shake: bool = True) -> McpClient:
        made.append(await McpClient.spawn(*arguments(*options), env=environment, cwd=home))
        if shake:
            await made[-1].handshake()
        return made[-1]

    yield start
    for client in made:
        await client.kill()
    await asyncio.to_thread(proc.gone, str(home))


def text(answer: dict[str, Any]) -> str:
    """The text of a tool's answer."""
    return str(answer["result"]["content"][0]["text"])


async def call(client: McpClient, name: str, **more: Any) -> dict[str, Any]:
    return await client.request("tools/call", {"name": name, "arguments": more})


def recorded(path: Path) -> list[str]:
    """The lines that the fake server read, in all its lives; the first of each life tells how it was started."""
    return path.read_text().splitlines()


# What passes


def test_golden_lines(environment: dict[str, str], home: Path) -> None:
    """Theirs comes as their very bytes, ours after the last page, each to who asked."""
    about = '"capabilities":{"sampling":{}},"clientInfo":{"name":"t","version":"0"}'
    hello = f'{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-06-18",{about}}}}}'
    asked = [
        hello,
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
        '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"p2"}}',
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b","arguments":{"é": null},"_meta":{"progressToken":"t","xUnknown":1}}}',
        '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":"ours"}}}',
        '{"jsonrpc":"2.0","id":"five","method":"tools/call","params":{"name":"sample"}}',
        '{"jsonrpc":"2.0","id":1,"result":{"role":"user","xUnknown":1}}',
        '{"jsonrpc":"2.0","id":6,"method":"resources/templates/list"}',
    ]
    record = home / "record"
    process = subprocess.Popen([LAUNCHER, *arguments(f"record={record}")], env=environment, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    got: list[str] = []
    # One after the other, so that the order is known; how many lines follow on each.
    for sent, count in zip(asked, (1, 0, 1, 1, 3, 1, 1, 1, 1), strict=True):
        process.stdin.write(sent.encode() + b"\n")
        process.stdin.flush()
        got += [process.stdout.readline().decode().rstrip("\n") for _ in range(count)]
    process.stdin.close()
    assert process.wait(10) == 0 and process.stdout.read() == b""
    process.stdout.close()
    fake = FakeUpstream()
    greeting = json.loads(got[0])
    assert greeting["result"] == {**fake_upstream.GREETING, "capabilities": {**fake_upstream.GREETING["capabilities"]}}
    first, second = json.loads(got[1]), json.loads(got[2])
    assert got[1] == line(fake.handle(json.loads(asked[2]))[0]), "a page without a change comes as it is"
    assert [tool["name"] for tool in first["result"]["tools"]] == ["a", "browser_info"] and first["result"]["nextCursor"] == "p2"
    assert second["result"]["tools"][0] == fake_upstream.tool("b") and [tool["name"] for tool in second["result"]["tools"]][1:4] == ["echo", "slow", "big"]
    assert second["result"]["xPage"] is True
    assert got[3:6] == [line(answer) for answer in fake.handle(json.loads(asked[4]))]
    assert text(json.loads(got[6])).endswith("|2025-06-18|ours")
    assert got[7:9] == [line(answer) for sent in asked[6:8] for answer in fake.handle(json.loads(sent))]
    assert json.loads(got[9])["error"]["code"] == -32601, "neither has templates here"
    theirs = [sent for sent in asked if '"echo"' not in sent]
    assert recorded(record)[1:] == theirs, "the client's bytes, and nothing else"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_sdk_client(environment: dict[str, str], home: Path, mode: Any) -> None:
    notes: list[str] = []
    progress: list[float] = []

    async def elicit(_context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async def sample(_context: Any, params: Any) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="sampled"), model="m")

    async def note(message: Any) -> None:
        notes.append(type(message).__name__)

    async def progressed(value: float, _total: float | None, _message: str | None) -> None:
        progress.append(value)

    server = StdioServerParameters(command=LAUNCHER, args=arguments(), env=environment, cwd=home)
    async with Client(server, mode=mode, elicitation_callback=elicit, sampling_callback=sample, message_handler=note) as client:
        assert client.server_info and client.server_info.name == "fake" and client.protocol_version == "2025-06-18"
        first = await client.list_tools()
        second = await client.list_tools(cursor=first.next_cursor)
        assert [tool.name for tool in first.tools] == ["a", "browser_info"] and {"b", "echo", "slow"} <= {tool.name for tool in second.tools}
        assert (await client.call_tool("a", {})).content[0].text == "called a"  # type: ignore[union-attr]
        assert (await client.call_tool("echo", {"text": "x"})).content[0].text.endswith("|x")  # type: ignore[union-attr]
        await client.call_tool("b", {}, progress_callback=progressed)
        assert progress == [1] and "ToolListChangedNotification" in notes
        assert '"decline"' in (await client.call_tool("ask", {})).content[0].text  # type: ignore[union-attr]
        assert "sampled" in (await client.call_tool("sample", {})).content[0].text  # type: ignore[union-attr]
    await asyncio.to_thread(proc.gone, str(home), seconds=END_SECONDS)


async def test_cancelling_reaches_the_server(launch: Launch, home: Path) -> None:
    record = home / "record"
    client = await launch(f"record={record}")
    await client.send({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "hang"}})
    await client.send({"jsonrpc": "2.0", "id": 78, "method": "tools/call", "params": {"name": "slow", "arguments": {"seconds": 60}}})
    for number in (77, 78):
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    await client.request("ping", {})
    told = [json.loads(row) for row in recorded(record)]
    assert [row["params"]["requestId"] for row in told if row.get("method") == "notifications/cancelled"] == [77], "78 is the engine's"


# Crashes


async def test_a_crash_is_an_answer_and_it_is_started_again_once(launch: Launch, home: Path) -> None:
    record = home / "record"
    client = await launch(f"record={record}")
    slow = asyncio.create_task(call(client, "slow", seconds=0.5))
    error = (await call(client, "crash"))["error"]
    assert "ended with status 3 (about to crash) while tools/call crash was running" in error["message"] and "started again" in error["message"]
    assert text(await call(client, "a")) == "called a"
    assert text(await slow).endswith("|done"), "ours does not notice"
    lives = [json.loads(row)["pid"] for row in recorded(record) if "argv" in row]
    assert len(lives) == 2
    again = recorded(record)[-3:]
    assert json.loads(again[0])["params"] == {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    assert "notifications/initialized" in again[1]
    assert "error" in await call(client, "crash")
    refused = (await call(client, "a"))["error"]["message"]
    assert "was not sent" in refused and "ended with status 3" in refused
    assert text(await call(client, "echo", text="x")).endswith("|x")
    await client.list_tools()
    assert "echo" in client.tools and "a" not in client.tools
    assert await client.close(END_SECONDS) == 0


async def test_a_killed_one_leaves_no_child(launch: Launch, home: Path) -> None:
    record = home / "record"
    client = await launch(f"record={record}")
    child, away = int(text(await call(client, "child"))), int(text(await call(client, "child", away=True)))
    os.kill(json.loads(recorded(record)[0])["pid"], signal.SIGKILL)
    await asyncio.to_thread(proc.until, lambda: proc.process(child) is None and proc.process(away) is None, "the children of the killed server are gone")
    assert text(await call(client, "a")) == "called a"


async def test_one_that_does_not_start_is_told(launch: Launch) -> None:
    client = await launch("broken", shake=False)
    error = (await client.request("initialize", {}))["error"]
    assert "ended with status 7 (this one does not start)" in error["message"]
    assert await client.close(END_SECONDS) == 0


def test_a_program_that_is_not_there_is_one_line(environment: dict[str, str], home: Path) -> None:
    command = [LAUNCHER, "mcp", "--project", "shop", "--upstream", "--", "no-such-server", "--option"]
    done = subprocess.run(command, env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1 and "no-such-server" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--upstream", "playwright"], "chrome-devtools"),
        (["--upstream", "--"], "needs a command"),
        (["--tools", "all"], "native, upstream, both"),
        (["--standalone", "--upstream", "chrome-devtools"], "--standalone"),
        (["--standalone", "--tools", "both"], "--standalone"),
        (["extra"], "unexpected 'extra'"),
    ],
)
def test_wrong_options_are_one_line(environment: dict[str, str], home: Path, words: list[str], said: str) -> None:
    done = subprocess.run([LAUNCHER, "mcp", *words], env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1 and said in done.stderr


def test_chrome_devtools_without_node_is_one_line(environment: dict[str, str], home: Path) -> None:
    for without, said in (("node", "needs Node.js"), ("npm", "needs npm")):
        folder = home / without
        folder.mkdir()
        for name in {"node", "npm"} - {without}:
            (folder / name).symlink_to("/bin/true")
        command = [LAUNCHER, "mcp", "--project", "shop", "--upstream", "chrome-devtools"]
        env = {**environment, "PATH": str(folder)}
        done = subprocess.run(command, env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
        expected = said if without == "node" else "needs npm"
        assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1 and expected in done.stderr, without


# Bad input


async def test_what_is_no_json_from_the_server_is_told_on_stderr(launch: Launch) -> None:
    client = await launch()
    assert text(await call(client, "garbage")) == "called garbage"
    assert client.noise == [] and "not JSON-RPC" in client.stderr


async def test_garbage_from_the_client_is_answered(launch: Launch) -> None:
    client = await launch()
    failed = client._waiting[None] = asyncio.get_running_loop().create_future()
    await client.send_raw(b"\xff\xfe{[\n")
    assert (await failed)["error"]["code"] == -32700
    assert text(await call(client, "a")) == "called a"


async def test_ten_megabytes_both_ways(launch: Launch) -> None:
    client = await launch()
    assert text(await call(client, "large")) == "x" * 10_000_000
    assert text(await call(client, "a", filler="y" * 10_000_000)) == "called a"
    word = "z" * 10_000_000
    assert text(await call(client, "echo", text=word)).endswith(word)


@pytest.mark.parametrize("command", [arguments(), ["mcp", "--project", "shop"]], ids=["both", "native"])
def test_closing_at_any_byte(environment: dict[str, str], home: Path, command: list[str]) -> None:
    whole = (
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n'
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{}}}\n'
    )
    for end in (0, 1, 80, 147, 148, 200, 240, len(whole) - 1, len(whole)):
        (home / "in").write_bytes(whole[:end])
        began = time.monotonic()
        with open(home / "in", "rb") as stdin:
            done = subprocess.run([LAUNCHER, *command], env=environment, cwd=home, stdin=stdin, capture_output=True, timeout=30)
        assert done.returncode == 0 and b"Traceback" not in done.stderr, (end, done.stderr)
        assert time.monotonic() - began < 2 * END_SECONDS, end
        assert all("jsonrpc" in json.loads(row) for row in done.stdout.splitlines()), end
        proc.gone(str(home))


# The end


@pytest.mark.parametrize("options", [(), ("stubborn",)])
@pytest.mark.parametrize("running", [False, True])
async def test_the_end_of_stdin_ends_everything(launch: Launch, home: Path, options: tuple[str, ...], running: bool) -> None:
    client = await launch(*options)
    child, away = int(text(await call(client, "child"))), int(text(await call(client, "child", away=True)))
    if running:
        await client.send({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {"name": "slow", "arguments": {"seconds": 60}}})
    began = time.monotonic()
    assert await client.close(2 * END_SECONDS) == 0
    assert time.monotonic() - began < END_SECONDS
    assert proc.process(child) is None and proc.process(away) is None
    await asyncio.to_thread(proc.gone, str(home), seconds=1)


async def test_one_that_reads_nothing_holds_nobody_up(environment: dict[str, str], home: Path) -> None:
    """More is written to it than a pipe and the launcher's patience hold; the end of stdin is still seen."""
    command = [LAUNCHER, "mcp", "--project", "shop", "--upstream", "--", sys.executable, "-c", "import time; time.sleep(1000)"]
    client = await asyncio.create_subprocess_exec(*command, env=environment, cwd=home, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL)
    assert client.stdin
    row = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","arguments":{"x":"' + b"y" * 1_000_000 + b'"}}}\n'
    try:
        async with asyncio.timeout(1):
            for number in range(40):
                client.stdin.write(row % number)
                await client.stdin.drain()
        raise AssertionError("it takes more than it can pass on")
    except TimeoutError:
        pass
    began = time.monotonic()
    client.stdin.transport.abort()
    assert await client.wait() == 0 and time.monotonic() - began < END_SECONDS
    await asyncio.to_thread(proc.gone, str(home), seconds=1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_it_ends_with_a_launcher_that_is_killed(launch: Launch, home: Path, number: signal.Signals) -> None:
    client = await launch("stubborn")
    await call(client, "child")
    os.kill(client.pid, number)
    await client.process.wait()
    await asyncio.to_thread(proc.gone, str(home), seconds=END_SECONDS)


# Secrets


async def test_no_process_has_the_token_on_its_command_line_or_in_its_environment(environment: dict[str, str], home: Path) -> None:
    environment = {**environment, "TELEBROWSER_SECRET": SECRET}
    command = [*arguments(f"record={home}/record"), "{ws}", "--url={http}"]
    client = await McpClient.spawn(*command, env=environment, cwd=home)
    try:
        await client.handshake()
        rows = proc.mentioning(str(home))
        started = json.loads(recorded(home / "record")[0])["argv"]
        assert started[-2].startswith("ws://127.0.0.1:") and started[-1].startswith("--url=http://127.0.0.1:")
        assert {FAKE in row.cmdline for row in rows} == {True, False} and len(rows) >= 3, rows
        for row in rows:
            assert token("shop").partition(".")[2] not in row.cmdline + proc.read_text(f"/proc/{row.pid}/environ"), row
            if row.pid != client.pid:  # to whom it was given
                assert SECRET not in row.cmdline + proc.read_text(f"/proc/{row.pid}/environ"), row
        assert token("shop").partition(".")[2] not in client.stderr
    finally:
        await client.close()

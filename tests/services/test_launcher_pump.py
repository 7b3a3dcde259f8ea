"""`telebrowser mcp` as a process, against a small real gateway with the SDK behind it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from telebrowser.errors import EXIT_INTERRUPTED
from tests.services.launcher_gateway import Gateway
from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.stack import LAUNCHER, SECRET


@pytest.fixture(scope="module")
def steady() -> Iterator[Gateway]:
    """A gateway that runs for all tests here that do not end it."""
    made = Gateway().start()
    yield made
    made.kill()


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """A gateway of the test's own, not started."""
    made = Gateway()
    yield made
    made.kill()


def variables(gateway: Gateway, home: Path) -> dict[str, str]:
    """The environment of launchers for a gateway."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TELEBROWSER_URL": gateway.url, "TELEBROWSER_SECRET": SECRET}


@pytest.fixture
def environment(request: pytest.FixtureRequest, home: Path) -> dict[str, str]:
    """The environment for the test's own gateway if it has one, else for the steady one."""
    own = "gateway" in request.fixturenames
    return variables(request.getfixturevalue("gateway" if own else "steady"), home)


def spawn(environment: dict[str, str], *command: str, **more: Any) -> subprocess.Popen[bytes]:
    """Start a process with pipes, or what is given instead."""
    return subprocess.Popen(command or (LAUNCHER, "mcp"), env=environment, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **more})


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


def request_line(number: int, method: str, **params: Any) -> bytes:
    """A request as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def echo_line(number: int, word: str) -> bytes:
    """A call of `echo` as a line."""
    return request_line(number, "tools/call", name="echo", arguments={"text": word})


SHAKE = request_line(0, "initialize", **HELLO) + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


@pytest.fixture
async def launch(environment: dict[str, str], home: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts launchers without a handshake; they are killed at the end."""
    made: list[McpClient] = []

    async def start(*arguments: str, **more: str) -> McpClient:
        made.append(await McpClient.spawn("mcp", "--project", "shop", *arguments, env={**environment, **more}, cwd=home))
        return made[-1]

    yield start
    for client in made:
        await client.kill()


def text(answer: dict[str, Any]) -> str:
    """The text of a tool's answer."""
    return str(answer["result"]["content"][0]["text"])


async def echo(client: McpClient, word: str) -> str:
    """Call a tool that answers ``session|protocol|word``."""
    return text(await client.request("tools/call", {"name": "echo", "arguments": {"text": word}}))


async def said(client: McpClient, word: str) -> None:
    """Wait until stderr holds a word."""
    await asyncio.to_thread(proc.until, lambda: word in client.stderr, f"stderr says {word!r}", 30)


@pytest.mark.parametrize(("mode", "protocol"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28")])
async def test_the_sdk_client_in_both_eras(environment: dict[str, str], home: Path, mode: Any, protocol: str) -> None:
    server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--session", "mine"], env=environment, cwd=home)
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == protocol
        assert [tool.name for tool in (await client.list_tools()).tools][:3] == ["echo", "slow", "big"]
        result = await client.call_tool("echo", {"text": "日本 🎉"})
        assert result.content[0].text == f"mine|{protocol}|日本 🎉"  # type: ignore[union-attr]
        answers = await asyncio.gather(*(client.call_tool("echo", {"text": str(number)}) for number in range(50)))
        assert [answer.content[0].text.rpartition("|")[2] for answer in answers] == [str(number) for number in range(50)]  # type: ignore[union-attr]


async def test_each_process_is_a_session_of_its_own(launch: Callable[..., Any]) -> None:
    one, two = await launch(), await launch()
    await one.handshake()
    await two.handshake()
    first, second = (await echo(one, "x")).split("|")[0], (await echo(two, "x")).split("|")[0]
    assert first != second and first.isalnum() and len(first) == 16


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_gateway_restarts_under_a_client(gateway: Gateway, environment: dict[str, str], home: Path, mode: Any) -> None:
    gateway.start()
    server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--session", "mine"], env=environment, cwd=home)
    async with Client(server, mode=mode) as client:
        await client.call_tool("echo", {"text": "a"})
        running = asyncio.create_task(client.call_tool("slow", {"seconds": 60}))
        await client.call_tool("echo", {"text": "b"})  # the slow one has been sent before this
        gateway.kill()
        with pytest.raises(MCPError, match=r"tools/call slow.*may or may not have taken effect"):
            await running
        later = asyncio.create_task(client.call_tool("echo", {"text": "c"}))
        await asyncio.to_thread(gateway.start)
        assert (await later).content[0].text.endswith("|c")  # type: ignore[union-attr]
        assert len((await client.list_tools(cache_mode="bypass")).tools) == 8


async def test_stderr_tells_of_a_break_and_of_its_end_once(gateway: Gateway, launch: Callable[..., Any]) -> None:
    gateway.start()
    client = await launch()
    await client.handshake()
    gateway.kill()
    await said(client, "was lost")
    await said(client, "does not answer")
    await asyncio.to_thread(gateway.start)
    await said(client, "connected again")
    assert client.stderr.count("was lost") == client.stderr.count("connected again") == 1
    assert client.noise == [] and SECRET not in client.stderr and "/t/" not in client.stderr
    assert (await echo(client, "x")).endswith("|x")


async def test_no_gateway_at_start_is_told_and_a_later_one_is_used(gateway: Gateway, launch: Callable[..., Any]) -> None:
    client = await launch()
    answer = await client.request("initialize", HELLO)
    message = answer["error"]["message"]
    assert answer["error"]["code"] == -32000 and gateway.url in message and "telebrowser up" in message
    await asyncio.to_thread(gateway.start)
    await client.handshake()
    assert (await echo(client, "x")).endswith("|x")


async def test_a_refused_token_is_told_at_once(launch: Callable[..., Any]) -> None:
    client = await launch(TELEBROWSER_SECRET="quite another secret value")
    answer = await client.request("initialize", {})
    assert "does not accept the token of the project shop" in answer["error"]["message"]
    assert "quite another" not in answer["error"]["message"] + client.stderr


async def test_a_rotated_secret_is_picked_up(launch: Callable[..., Any], home: Path) -> None:
    folder = home / "config"
    folder.mkdir()
    (folder / "secret").touch(mode=0o600)
    (folder / "secret").write_text("quite another secret value")
    client = await launch(TELEBROWSER_SECRET="", TELEBROWSER_CONFIG_DIR=str(folder))
    assert "error" in await client.request("initialize", {})
    (folder / "secret").write_text(SECRET)
    await client.handshake()


async def test_something_else_on_the_port(gateway: Gateway, launch: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", gateway.port)) as listener:

        def answer() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        stranger = threading.Thread(target=answer)
        stranger.start()
        client = await launch()
        error = (await client.request("initialize", {}))["error"]
        await asyncio.to_thread(stranger.join)
    assert "not a telebrowser gateway" in error["message"] or "refused" in error["message"]


async def test_bad_lines_are_answered_and_the_session_goes_on(launch: Callable[..., Any]) -> None:
    client = await launch()
    await client.handshake()
    failed = client._waiting[None] = asyncio.get_running_loop().create_future()
    await client.send_raw(b'{"jsonrpc":\n')
    assert (await failed)["error"]["code"] == -32700
    assert (await echo(client, "x")).endswith("|x")


async def test_many_messages_in_one_write_and_one_message_in_many(launch: Callable[..., Any]) -> None:
    client = await launch()
    await client.handshake()
    lines = []
    futures = []
    for number in range(100, 140):
        futures.append(asyncio.get_running_loop().create_future())
        client._waiting[number] = futures[-1]
        lines.append(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": f"{number} é"}}}))
    data = ("\n".join(lines[:-1]) + "\r\n\n" + lines[-1] + "\n").encode()
    await client.send_raw(data[:-7])
    await asyncio.gather(*futures[:-1])
    await client.send_raw(data[-7:])
    assert [text(answer).rpartition("|")[2] for answer in await asyncio.gather(*futures)] == [f"{number} é" for number in range(100, 140)]


async def test_large_messages_both_ways(launch: Callable[..., Any]) -> None:
    client = await launch()
    await client.handshake()
    word = "lorem ✓ " * 1_300_000
    assert (await echo(client, word)).endswith(word)
    big = await client.request("tools/call", {"name": "big", "arguments": {"length": 30_000_000}})
    assert len(text(big)) > 30_000_000


async def test_a_line_over_the_limit_is_answered_to_its_id(launch: Callable[..., Any]) -> None:
    client = await launch()
    await client.handshake()
    answer = await client.request("tools/call", {"name": "echo", "arguments": {"text": "x" * (101 << 20)}})
    assert answer["error"]["code"] == -32600 and "100 MiB" in answer["error"]["message"]
    assert (await echo(client, "x")).endswith("|x")


def test_a_client_that_writes_much_before_it_reads(environment: dict[str, str]) -> None:
    """With blocking pipes both ways this would be a deadlock."""
    process = spawn(environment)
    assert process.stdin and process.stdout
    process.stdin.write(SHAKE)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 0
    process.stdin.write(b"".join(echo_line(number, "y" * 1_000_000) for number in range(1, 15)))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline())["id"] for _ in range(14)]
    process.stdin.close()
    assert sorted(answers) == list(range(1, 15)) and process.wait(20) == 0
    process.stdout.close()


async def test_stdin_closed_with_answers_on_the_way(launch: Callable[..., Any]) -> None:
    client = await launch()
    await client.handshake()
    slow = asyncio.create_task(client.request("tools/call", {"name": "slow", "arguments": {"seconds": 0.3}}))
    await echo(client, "the slow one has been sent before this")
    assert await client.close(seconds=5) == 0
    assert text(await slow).endswith("|done")


async def test_stdin_closed_while_a_long_call_runs(launch: Callable[..., Any]) -> None:
    client = await launch()
    await client.handshake()
    await client.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "slow", "arguments": {"seconds": 60}}})
    assert await client.close(seconds=5) == 0


async def test_stdin_closed_without_a_gateway_still_answers(gateway: Gateway, launch: Callable[..., Any]) -> None:
    client = await launch()
    waiting = client._waiting[5] = asyncio.get_running_loop().create_future()
    await client.send_raw(request_line(5, "tools/list").rstrip())  # not even a newline
    assert await client.close(seconds=5) == 0
    message = (await waiting)["error"]["message"]
    assert gateway.url in message and "telebrowser up" in message


async def test_stdin_closed_while_requests_wait_for_the_gateway(gateway: Gateway, launch: Callable[..., Any]) -> None:
    """After a break they would wait for a minute."""
    gateway.start()
    client = await launch()
    await client.handshake()
    gateway.kill()
    await said(client, "does not answer")
    waiting = client._waiting[5] = asyncio.get_running_loop().create_future()
    await client.send_raw(echo_line(5, "x"))
    assert await client.close(seconds=5) == 0
    assert "tools/call echo was not sent" in (await waiting)["error"]["message"]


@pytest.mark.parametrize("how", ["</dev/null", "<&-", "<&- 2>&-", "<&- >&-"])
def test_stdin_closed_at_once(environment: dict[str, str], how: str) -> None:
    done = subprocess.run(["sh", "-c", f"exec {LAUNCHER} mcp {how}"], env=environment, capture_output=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_file_as_stdin(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(request_line(1, "server/discover") + b'{"nonsense"\n')
    with open(tmp_path / "in") as stdin, open(tmp_path / "out", "w") as stdout:
        assert spawn(environment, stdin=stdin, stdout=stdout).wait(20) == 0
    assert {json.loads(line)["id"] for line in (tmp_path / "out").read_text().splitlines()} == {1, None}


def test_socket_pairs_as_stdio(environment: dict[str, str]) -> None:
    """As Node starts its children."""
    ours, theirs = socket.socketpair()
    process = spawn(environment, stdin=theirs, stdout=theirs)
    theirs.close()
    ours.settimeout(30)
    with ours, ours.makefile("rb") as answers:
        writer = threading.Thread(target=ours.sendall, args=(SHAKE + echo_line(1, "z" * 3_000_000),))
        writer.start()
        assert [json.loads(answers.readline())["id"] for _ in range(2)] == [0, 1]
        writer.join()
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(5) == 0


def test_a_reader_that_goes_away_ends_it(environment: dict[str, str]) -> None:
    process = spawn(environment)
    assert process.stdin and process.stdout
    process.stdout.close()
    assert process.wait(10) == 0
    process.stdin.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, EXIT_INTERRUPTED)])
async def test_signals_end_it_cleanly(launch: Callable[..., Any], number: signal.Signals, code: int) -> None:
    client = await launch()
    await client.handshake()
    client.process.send_signal(number)
    async with asyncio.timeout(5):
        assert await client.process.wait() == code
    assert client.noise == [] and "Traceback" not in client.stderr


def test_it_ends_with_its_parent(environment: dict[str, str]) -> None:
    """The parent is killed while stdin stays open in this process. The thread that started the launcher has ended long before."""
    reader, writer = os.pipe()
    script = (
        "import subprocess,sys,threading\n"
        "def start(): print(subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1])).pid, flush=True)\n"
        "thread = threading.Thread(target=start); thread.start(); thread.join(); sys.stdin.read()\n"
    )
    parent = spawn(environment, sys.executable, "-c", script, str(reader), LAUNCHER, "mcp", pass_fds=[reader])
    assert parent.stdin and parent.stdout
    try:
        child = int(parent.stdout.readline())
        os.write(writer, request_line(0, "server/discover"))
        assert json.loads(parent.stdout.readline())["id"] == 0, "it lives on after the thread that started it"
        parent.kill()
        parent.wait()
        proc.until(lambda: proc.process(child) is None, "the launcher ends with its parent", 10)
    finally:
        os.close(reader)
        os.close(writer)
        parent.stdin.close()
        parent.stdout.close()


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, str]]:
    """A gateway behind TLS, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=x"]
    subprocess.run([*command, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    gateway = Gateway("--tls", certificate, key).start()
    yield gateway, certificate
    gateway.kill()


async def test_over_tls(certified: tuple[Gateway, str], home: Path) -> None:
    gateway, certificate = certified
    environment = variables(gateway, home)
    client = await McpClient.spawn("mcp", "--project", "shop", env={**environment, "SSL_CERT_FILE": certificate}, cwd=home)
    await client.handshake()
    word = "tls " * 700_000
    assert (await echo(client, word)).endswith(word)
    assert await client.close(5) == 0
    stranger = await McpClient.spawn("mcp", "--project", "shop", env=environment, cwd=home)
    assert "certificate" in (await stranger.request("initialize", HELLO))["error"]["message"].lower()
    assert await stranger.close(5) == 0


@pytest.mark.parametrize(
    ("arguments", "environ", "code", "said"),
    [
        ((), {"TELEBROWSER_SECRET": "tiny"}, 3, "TELEBROWSER_SECRET"),
        ((), {"TELEBROWSER_SECRET": ""}, 3, "there is no secret"),
        ((), {"TELEBROWSER_URL": "nonsense"}, 3, "TELEBROWSER_URL"),
        (("--session", "a/b"), {}, 2, "--session"),
        (("--cdp-url", "http://127.0.0.1:1"), {}, 2, "--standalone"),
    ],
)
def test_a_bad_start_is_one_line(environment: dict[str, str], arguments: tuple[str, ...], environ: dict[str, str], code: int, said: str) -> None:
    done = subprocess.run([LAUNCHER, "mcp", *arguments], env={**environment, **environ}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (code, "") and done.stderr.count("\n") == 1 and said in done.stderr

"""What is wrong from outside: one clear line or code each, and nothing else suffers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets

from tests.support import proc
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import SECRET, Stack, free_port, request, token

WRONG = {
    "wrong": token("anything", "another secret of some length"),
    "no dot": "f" * 64,
    "empty project": "." + "0" * 64,
    "short": "anything.00",
    "not hex": "anything." + "z" * 64,
    "traversal": "..%2f..%2fetc." + "0" * 64,
    "long": "a" * 5000 + "." + "0" * 64,
    "other project's": "other." + token("anything").partition(".")[2],
    "odd bytes": "%ff%00.%e2%82",
    "signature in upper case": "anything." + token("anything").partition(".")[2].upper() + "0",
}


def one_line(output: str) -> str:
    """The last line of an output that must hold no traceback; returns it."""
    assert "Traceback" not in output, output
    lines = [line for line in output.strip().splitlines() if line.strip()]
    assert lines, "there is no message at all"
    return lines[-1]


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_tokens_all_look_the_same(stack: Stack, kind: str) -> None:
    reference = request(f"{stack.url}/t/{WRONG['wrong']}/status")
    assert reference.status == 403 and reference.json["error"]["code"] == "FORBIDDEN"
    for path in ("status", "json/version", "s/x/json/list", "downloads", "downloads/x", "nothing-here"):
        reply = request(f"{stack.url}/t/{WRONG[kind]}/{path}")
        assert (reply.status, reply.body) == (403, reference.body), (path, reply)
    assert request(f"{stack.url}/t/{WRONG[kind]}/stop", "POST", b"").status == 403


def test_an_unknown_project_starts_empty(stack: Stack) -> None:
    """Every project whose token is right exists; one never used is stopped and has nothing."""
    status = stack.status("never-used-before")
    assert status["state"] == "stopped" and status["sessions"] == []
    assert not (stack.data / "run" / "up" / "never-used-before").exists()


@pytest.mark.parametrize(
    "path", ["nothing", "s/a/nothing", "s/!!!/json/list", "downloads/missing", "downloads/..%2f..%2fprofile%2fLocal%20State", "json/close/nothing"]
)
def test_unknown_paths(stack: Stack, path: str) -> None:
    reply = stack.http("GET", path, "paths")
    assert reply.status in (400, 404), reply
    assert reply.json["error"]["code"], reply


def test_wrong_method(stack: Stack) -> None:
    assert stack.http("GET", "stop", "paths").status == 405
    assert stack.http("GET", "stop", "paths").json["error"]["code"] == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize("path", ["devtools/browser", "s/x/devtools/browser", "s/x/mcp", "devtools/page/00"])
async def test_websockets_with_a_wrong_token_or_a_foreign_origin(stack: Stack, path: str) -> None:
    for url, headers in (
        (f"ws://127.0.0.1:{stack.port}/t/{WRONG['wrong']}/{path}", {}),
        (stack.path(path, "origins", "ws"), {"Origin": "http://evil.example"}),
        (stack.path(path, "origins", "ws"), {"Origin": "null"}),
    ):
        with pytest.raises(websockets.InvalidStatus) as refused:
            await websockets.connect(url, additional_headers=headers, proxy=None)
        assert refused.value.response.status_code == 403
    assert stack.status("origins")["state"] == "stopped", "a refused client must start nothing"


def test_foreign_origin_and_host_over_http(stack: Stack) -> None:
    assert stack.http("POST", "start", "origins", b"", Origin="http://evil.example").status == 403
    assert stack.http("GET", "status", "origins", Host="evil.example").status == 403
    assert stack.status("origins")["state"] == "stopped"


async def test_bad_json_and_oversize_over_cdp(stack: Stack, truths: Callable[..., Any]) -> None:
    for truth in (await truths(stack.ws("oversize", "one")), await truths(stack.ws("oversize"))):
        await truth.raw("this is not json")
        await truth.raw("[1, 2")
        await truth.raw('{"id": "text", "method": 7}')
        await truth.event(lambda event: event.get("error", {}).get("code") in (-32700, -32600))
        await truth.raw(json.dumps({"id": 7, "method": "Browser.getVersion", "params": {"pad": "x" * (101 * 1024 * 1024)}}))
        await truth.event(lambda event: event.get("error", {}).get("code") == -32600, 60)
        assert "Chrom" in (await truth.call("Browser.getVersion"))["product"]


async def test_bad_json_over_mcp(stack: Stack, home: Path, clients: Callable[..., Any]) -> None:
    client: McpClient = await clients("mcp", "--project", "badjson", env=stack.env(), cwd=home)
    for line in (
        b"this is not json\n",
        b'{"jsonrpc":"2.0","id":\n',
        b"\n",
        b"[]\n",
        b'"text"\n',
        b'{"jsonrpc":"2.0","id":77,"method":"no/such"}\n',
        b"\xff\xfe\xfa\n",
    ):
        await client.send_raw(line)
    await client.ok("browser_tabs", action="list")
    unknown = await client.request("tools/call", {"name": "browser_nothing", "arguments": {}})
    assert "browser_nothing" in json.dumps(unknown)
    assert ("error" in unknown) or unknown["result"]["isError"]
    await client.ok("browser_tabs", action="list")
    assert client.noise == []


@pytest.mark.timeout(400)
async def test_large_things_pass(stack: Stack, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> None:
    """A 5 MB paste, a 600 KB script and a 60 MB reply through the gateway; a long text and a long script through the tools."""
    page = pages.add("big.html", "<title>big</title><textarea id=a></textarea>")
    raw = await truths(stack.ws("large", "raw"))
    tab = (await raw.targets())[0]["targetId"]
    session = await raw.attach(tab)
    await raw.call("Page.navigate", {"url": page}, session)
    assert await raw.wait(tab, "document.title", "big") == "big"
    await raw.eval(tab, "a.focus()")
    await raw.call("Input.insertText", {"text": "lorem " * 850_000}, session, timeout=200)
    assert await raw.eval(tab, "a.value.length", 60) == 5_100_000
    script = "/*" + "x" * 600_000 + "*/ 6*7"
    assert await raw.eval(tab, script) == 42
    assert len(await raw.eval(tab, "'y'.repeat(60000000)", 120)) == 60_000_000
    client: McpClient = await clients("mcp", "--project", "large", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=page)
    typed = await client.ok("browser_type", 120, selector="#a", text="lorem " * 50_000, timeout_ms=110000)
    assert typed.data["finalLength"] == 300_000
    assert "42" in (await client.ok("browser_evaluate", expression=script)).text


def failing(stack: Stack, part: str, *options: str, **env: str) -> tuple[int, str]:
    """Run a part that must refuse to start; gives its status and last line."""
    done = subprocess.run(
        [sys.executable, "-m", f"telebrowser.{part}", *options],
        env=stack.env(**{**stack.settings, "LOG_LEVEL": "info", **env}),
        cwd=stack.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=40,
    )
    assert done.returncode != 0, done
    return done.returncode, one_line(done.stderr + done.stdout)


def test_a_secret_file_readable_by_others(new_stack: Callable[..., Stack]) -> None:
    stack = new_stack()
    stack.secret_file.chmod(0o644)
    status, line = failing(stack, "gateway", "--data", str(stack.data))
    assert status == 3 and str(stack.secret_file) in line and SECRET not in line, line
    done = stack.launcher("status", "--project", "p")
    assert done.returncode == 3 and str(stack.secret_file) in one_line(done.stderr), done


@pytest.mark.parametrize("content", ["", "\n", "short\n"])
def test_a_secret_that_is_none(new_stack: Callable[..., Stack], content: str) -> None:
    stack = new_stack()
    stack.secret_file.write_text(content)
    status, line = failing(stack, "gateway", "--data", str(stack.data))
    assert status == 3 and str(stack.secret_file) in line, line


def test_a_port_in_use(new_stack: Callable[..., Stack]) -> None:
    stack = new_stack()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", stack.port))
        taken.listen()
        _, line = failing(stack, "gateway", "--data", str(stack.data))
    assert str(stack.port) in line, line


@pytest.mark.parametrize("part", ["gateway", "supervisor"])
def test_a_data_directory_of_someone_else(new_stack: Callable[..., Stack], part: str) -> None:
    stack = new_stack()
    foreign = Path("/usr") if os.getuid() else stack.root / "foreign"
    if not os.getuid():
        foreign.mkdir(mode=0o700)
        os.chown(foreign, 65534, 65534)
    status, line = failing(stack, part, "--data", str(foreign))
    assert status == 3 and str(foreign) in line, line
    if not os.getuid():
        assert list(foreign.iterdir()) == []


@pytest.mark.parametrize("part", ["gateway", "supervisor"])
@pytest.mark.parametrize(
    ("options", "env", "named"),
    [(("--surprise", "1"), {}, "--surprise"), ((), {"LOG_LEVEL": "loud"}, "LOG_LEVEL")],
)
def test_bad_settings_are_named(new_stack: Callable[..., Stack], part: str, options: tuple[str, ...], env: dict[str, str], named: str) -> None:
    stack = new_stack()
    status, line = failing(stack, part, "--data", str(stack.data), *options, **env)
    assert status in (2, 3) and named in line, line


@pytest.mark.parametrize(("name", "value"), [("TELEBROWSER_IDLE_MINUTES", "soon"), ("TELEBROWSER_PORT", "99999"), ("TELEBROWSER_SESSION_GRACE", "-1")])
def test_bad_gateway_settings_are_named(new_stack: Callable[..., Stack], name: str, value: str) -> None:
    stack = new_stack()
    status, line = failing(stack, "gateway", "--data", str(stack.data), **{name: value})
    assert status == 3 and name in line, line


async def test_chromium_missing(new_stack: Callable[..., Stack], home: Path, clients: Callable[..., Any]) -> None:
    stack = new_stack(CHROMIUM_PATH="/nowhere/chromium")
    stack.spawn("supervisor")
    stack.start_gateway()
    started = stack.http("POST", "start", "missing", b"")
    assert started.status == 503 and started.json["error"]["code"] == "BROWSER_UNAVAILABLE", started
    assert "/nowhere/chromium" in started.json["error"]["message"], started
    client: McpClient = await clients("mcp", "--project", "missing", env=stack.env(), cwd=home)
    answer = await client.call("browser_navigate", url="about:blank")
    assert answer.code == "BROWSER_UNAVAILABLE" and "/nowhere/chromium" in answer.text, answer
    assert stack.status("missing")["state"] in ("failed", "stopped")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB, seen only by what `unshare` starts; the mount point lies here."""
    path = Path(tempfile.mkdtemp(prefix="tb-disk-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_a_full_disk(new_stack: Callable[..., Stack], small_disk: Path) -> None:
    script = f'mount -t tmpfs -o size=4m,mode=700 none {small_disk} && dd if=/dev/zero of={small_disk}/filler bs=64k 2>/dev/null; exec "$@"'
    unshare = ("unshare", "-m") if os.getuid() == 0 else ("unshare", "-rm")
    stack = new_stack()
    holder = subprocess.Popen([*unshare, "sh", "-c", script, "sh", "sleep", "600"], env={"PATH": os.environ["PATH"]}, cwd="/")
    try:
        proc.until(lambda: "sleep" in (row.cmdline if (row := proc.process(holder.pid)) else ""), "the disk is mounted")
        inside = ("nsenter", "-t", str(holder.pid), "-m", *(("-U", "--preserve-credentials") if os.getuid() else ()))
        stack.prefix, stack.data = inside, small_disk
        supervisor, gateway = stack.spawn("supervisor"), None
        proc.until(
            lambda: supervisor.poll() is not None or Path(f"/proc/{holder.pid}/root{small_disk}/run/supervisor.sock").exists(),
            "the supervisor starts or refuses",
        )
        if supervisor.poll() is None:
            gateway = stack.spawn("gateway")
            proc.until(lambda: gateway.poll() is not None or stack.healthy(), "the gateway starts or refuses", 40)
        if gateway is not None and gateway.poll() is None:
            reply = stack.http("POST", "start", "full", b"")
            assert reply.status == 507 and reply.json["error"]["code"] == "DISK_FULL", reply
            assert stack.healthy()
        else:
            refused = "supervisor" if gateway is None else "gateway"
            assert "space" in one_line(stack.output(refused)).lower() or "room" in one_line(stack.output(refused)).lower(), stack.output(refused)
            assert str(small_disk) in one_line(stack.output(refused)), stack.output(refused)
    finally:
        stack.stop()
        holder.kill()
        holder.wait(10)


def test_a_disk_that_fills_up_later(new_stack: Callable[..., Stack], small_disk: Path) -> None:
    """The stack runs; then nothing more can be written: starting a browser fails by name, and freeing room heals it."""
    unshare = ("unshare", "-m") if os.getuid() == 0 else ("unshare", "-rm")
    script = f"mount -t tmpfs -o size=400m,mode=700 none {small_disk} && exec sleep 600"
    stack = new_stack()
    holder = subprocess.Popen([*unshare, "sh", "-c", script], env={"PATH": os.environ["PATH"]}, cwd="/")
    seen = Path(f"/proc/{holder.pid}/root{small_disk}")
    try:
        proc.until(lambda: "sleep" in (row.cmdline if (row := proc.process(holder.pid)) else ""), "the disk is mounted")
        stack.prefix = ("nsenter", "-t", str(holder.pid), "-m", *(("-U", "--preserve-credentials") if os.getuid() else ()))
        stack.data = small_disk
        stack.spawn("supervisor")
        proc.until(lambda: (seen / "run" / "supervisor.sock").exists(), "the supervisor opens its socket")
        stack.start_gateway()
        filler = seen / "filler"
        try:
            with open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 65536)
        except OSError:
            pass
        reply = stack.http("POST", "start", "full", b"")
        assert reply.status == 507 and reply.json["error"]["code"] == "DISK_FULL", reply
        assert stack.healthy()
        filler.unlink()
        assert stack.http("POST", "start", "full", b"").status == 200
        assert stack.http("POST", "stop", "full", b"").status == 200
    finally:
        stack.stop()
        holder.kill()
        holder.wait(10)


async def test_the_supervisor_goes_and_comes_back(new_stack: Callable[..., Stack], pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    stack = new_stack().start()
    client: McpClient = await clients("mcp", "--project", "lost", env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
    stack.signal("supervisor", 15)
    assert await asyncio.to_thread(stack.wait, "supervisor") == 0
    answer = await client.call("browser_navigate", 60, url=f"{pages.base}/clock.html")
    assert answer.code in ("BROWSER_UNAVAILABLE", "BROWSER_CRASHED"), answer
    assert stack.healthy()
    stack.start_supervisor()
    proc.until(lambda: stack.http("POST", "start", "lost", b"").status == 200, "the browser can be had again", 40)
    await client.ok("browser_navigate", url=f"{pages.base}/clock.html")


async def test_a_browser_that_crashes_is_started_anew_and_left_down_after_three(
    new_stack: Callable[..., Stack], pages: Pages, home: Path, clients: Callable[..., Any]
) -> None:
    stack = new_stack().start()
    client: McpClient = await clients("mcp", "--project", "crashing", env=stack.env(), cwd=home)
    for _ in range(2):
        await client.ok("browser_navigate", url=f"{pages.base}/clock.html")
        pid = stack.browser_pid("crashing")
        os.kill(pid, 9)
        proc.until(lambda pid=pid: proc.process(pid) is None, "the browser is dead")  # type: ignore[misc]
        first = await client.call("browser_navigate", url=f"{pages.base}/clock.html")
        assert first.code in (None, "BROWSER_CRASHED", "BROWSER_UNAVAILABLE"), first
        proc.until(lambda pid=pid: (up := stack.data / "run" / "up" / "crashing").exists() and json.loads(up.read_text())["pid"] != pid, "a new browser", 40)  # type: ignore[misc]
    os.kill(stack.browser_pid("crashing"), 9)
    proc.until(lambda: stack.status("crashing")["state"] == "failed", "it is left down", 40)
    status = stack.status("crashing")
    assert "crash" in status["reason"].lower() and "\n" not in status["reason"], status
    answer = await client.call("browser_navigate", url=f"{pages.base}/clock.html")
    assert answer.code in ("BROWSER_CRASHED", "BROWSER_UNAVAILABLE") and "\n" not in answer.text, answer


def test_modes_of_what_is_written(stack: Stack) -> None:
    stack.http("POST", "start", "modes", b"")
    for path, mode in (("", 0o700), ("projects/modes/profile", 0o700), ("run/supervisor.sock", 0o600)):
        assert stat.S_IMODE((stack.data / path).stat().st_mode) == mode, path
    assert stack.http("POST", "stop", "modes", b"").status == 200


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("nothing",), 2), (("hold", "soon"), 2), (("status", "--surprise"), 2), (("status", "--project"), 2)],
)
def test_a_wrong_command_line(stack: Stack, arguments: tuple[str, ...], status: int) -> None:
    done = stack.launcher(*arguments)
    assert done.returncode == status and "Traceback" not in done.stderr and done.stderr.strip(), done


def test_launcher_against_nothing_and_against_a_stranger(stack: Stack) -> None:
    done = stack.launcher("status", "--project", "p", env={"TELEBROWSER_URL": f"http://127.0.0.1:{free_port()}"})
    assert done.returncode == 4 and one_line(done.stderr), done
    wrong = stack.launcher("status", "--project", "p", env={"TELEBROWSER_SECRET": "quite another secret value"})
    assert wrong.returncode == 5 and "quite another" not in wrong.stderr, wrong

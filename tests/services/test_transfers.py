"""Files between launcher and gateway over a way that breaks off, and over none but HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser import beneath
from telebrowser.errors import TelebrowserError
from telebrowser.handover import PROOF
from telebrowser.launcher import transfer_http
from telebrowser.launcher.address import Address
from telebrowser.launcher.transfer_http import Cancelled, Channel
from tests.resources import fake_upstream
from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.relay import BACK, OUT, Relay
from tests.support.stack import Stack, request, token

PROJECT = "transfers"
SIZE = 3_000_000
DATA = hashlib.shake_256(b"transfers").digest(SIZE)
FOLDER = "00000000000000aa"


@pytest.fixture
def through(stack: Stack) -> Iterator[Callable[..., tuple[Relay, Channel]]]:
    """Makes relays to the gateway that cut off connections, and channels through them."""
    made: list[Relay] = []

    def make(*cuts: int, stopped: Callable[[], bool] = lambda: False) -> tuple[Relay, Channel]:
        relay = Relay(stack.port, cuts=cuts)
        made.append(relay)
        return relay, Channel(lambda: Address(False, "127.0.0.1", relay.port, "", PROJECT, token(PROJECT)), stopped)

    yield make
    for relay in made:
        relay.close()


@pytest.fixture
def folder(stack: Stack) -> Iterator[Path]:
    """The project's folder at the gateway; uploads of the test are removed."""
    folder = stack.data / "projects" / PROJECT
    yield folder
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for path in (folder / "uploads").glob("*"):
        path.rmdir()


@pytest.fixture
def source(tmp_path: Path) -> Iterator[int]:
    """A file of some size."""
    (tmp_path / "source.bin").write_bytes(DATA)
    with open(tmp_path / "source.bin", "rb") as file:
        yield file.fileno()


def test_an_upload_goes_on_where_it_broke_off(through: Callable[..., Any], folder: Path, source: int) -> None:
    relay, channel = through(1_000_000, 0, 1_200_000)
    transfer_http.put(channel, source, SIZE, FOLDER, "a b.bin")
    assert (folder / "uploads" / FOLDER / "a b.bin").read_bytes() == DATA and os.listdir(folder / "uploads" / FOLDER) == ["a b.bin"]
    assert relay.cuts == [] and relay.bytes[OUT] < 2 * SIZE - 500_000, relay.bytes


def test_a_way_that_never_lasts_is_given_up(through: Callable[..., Any], folder: Path, source: int) -> None:
    _, channel = through(*[0] * 50)
    with pytest.raises(TelebrowserError) as error:
        transfer_http.put(channel, source, SIZE, FOLDER, "a.bin")
    assert error.value.code == "BROWSER_UNAVAILABLE" and token(PROJECT) not in error.value.text() and PROJECT + "." not in error.value.text()


def test_a_file_that_changes_while_it_is_sent_is_refused(through: Callable[..., Any], folder: Path, source: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, channel = through()
    monkeypatch.setattr(transfer_http, "_digest_of", lambda *_: "A" * 43 + "=")
    with pytest.raises(TelebrowserError) as error:
        transfer_http.put(channel, source, SIZE, FOLDER, "a.bin")
    assert error.value.code == "INVALID_ARGS" and "checksum" in error.value.message and not (folder / "uploads" / FOLDER / "a.bin").exists()


def test_an_upload_can_be_stopped(through: Callable[..., Any], folder: Path, source: int) -> None:
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > 15  # in the midst of sending, after the checksum was taken

    _, channel = through(stopped=stopped)
    with pytest.raises(Cancelled):
        transfer_http.put(channel, source, SIZE, FOLDER, "a.bin")
    assert not (folder / "uploads" / FOLDER / "a.bin").exists()


def fetch(channel: Channel, path: str, into: Path, size: int | None = None, digest: str | None = None) -> bytes:
    into.mkdir(exist_ok=True)
    with beneath.Arrival(beneath.open_folder(into)) as arrival:
        transfer_http.get(channel, path, arrival, size, digest, "The file")
        arrival.publish("got", replace=False)
    return (into / "got").read_bytes()


@pytest.fixture
def download(folder: Path) -> Path:
    """A download, and a compressed file beside it that must not be sent in its place."""
    (folder / "downloads").mkdir(parents=True, exist_ok=True)
    (folder / "downloads" / "d ü.bin").write_bytes(DATA)
    (folder / "downloads" / "d ü.bin.gz").write_bytes(b"something else")
    return folder / "downloads" / "d ü.bin"


def test_a_download_goes_on_where_it_broke_off(through: Callable[..., Any], download: Path, tmp_path: Path) -> None:
    relay, channel = through(1_000_000, 1_000_000)
    assert fetch(channel, "downloads/d%20%C3%BC.bin", tmp_path / "in") == DATA
    assert relay.cuts == [] and relay.bytes[BACK] < 2 * SIZE - 500_000, relay.bytes


def test_a_download_that_became_another_file_begins_again(through: Callable[..., Any], download: Path, tmp_path: Path) -> None:
    relay, channel = through(1_000_000)
    changed = threading.Event()

    def stopped() -> bool:
        if not relay.cuts and not changed.is_set() and relay.bytes[BACK] > 500_000:
            download.write_bytes(DATA[::-1])
            changed.set()
        return False

    channel = Channel(channel._find, stopped)
    assert fetch(channel, "downloads/d%20%C3%BC.bin", tmp_path / "in") == DATA[::-1]
    assert changed.is_set()


@pytest.mark.parametrize("wrong", [{"size": SIZE - 1}, {"digest": "0" * 64}])
def test_what_is_not_what_was_announced_is_thrown_away(through: Callable[..., Any], download: Path, tmp_path: Path, wrong: dict[str, Any]) -> None:
    _, channel = through()
    with pytest.raises(TelebrowserError) as error:
        fetch(channel, "downloads/d%20%C3%BC.bin", tmp_path / "in", **wrong)
    assert error.value.code == "INTERNAL" and os.listdir(tmp_path / "in") == []


@pytest.mark.parametrize(
    "path", ["downloads/none", "downloads/link", "downloads/..%2Fprofile", "outbox/none", "outbox/..%2Fdownloads%2Fd", "downloads/.partial"]
)
def test_what_there_is_none_of(through: Callable[..., Any], download: Path, tmp_path: Path, path: str) -> None:
    (download.parent / "link").symlink_to("/etc/passwd")
    try:
        _, channel = through()
        with pytest.raises(TelebrowserError) as error:
            fetch(channel, path, tmp_path / "in")
        assert error.value.code in ("NOT_FOUND", "UNSAFE_PATH") and os.listdir(tmp_path / "in") == []
    finally:
        (download.parent / "link").unlink()


def test_a_link_in_the_place_of_the_downloads_is_not_followed(stack: Stack, tmp_path: Path) -> None:
    """What a browser without walls could do to its own project's folder."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("secret")
    folder = stack.data / "projects" / "linked"
    folder.mkdir(parents=True)
    for kind in ("downloads", "uploads", "outbox"):
        (folder / kind).symlink_to(tmp_path / "elsewhere")
    try:
        assert stack.http("GET", "downloads/secret.txt", "linked").status == 404
        assert b"secret" not in stack.http("GET", "downloads", "linked").body
        assert stack.http("PUT", "uploads/new.txt", "linked", b"x").status == 400
        assert os.listdir(tmp_path / "elsewhere") == ["secret.txt"]
    finally:
        for kind in ("downloads", "uploads", "outbox"):
            (folder / kind).unlink()


def test_a_file_of_an_engine_is_served_and_dropped(stack: Stack, folder: Path) -> None:
    (folder / "outbox").mkdir(parents=True, exist_ok=True)
    name = "0" * 31 + "1"
    (folder / "outbox" / name).write_bytes(b"made")
    assert stack.http("GET", f"outbox/{name}", PROJECT).body == b"made"
    assert stack.http("DELETE", f"outbox/{name}", PROJECT).status == 204 and not (folder / "outbox" / name).exists()
    assert stack.http("GET", f"outbox/{name}", PROJECT).status == 404
    assert request(stack.path(f"outbox/{name}", PROJECT), "DELETE", None, 20, Origin="http://evil.example").status == 403


@pytest.fixture
async def far(stack: Stack, clients: Callable[..., Any], home: Path) -> AsyncIterator[McpClient]:
    """A launcher whose gateway is a second away, with a file too large to be sent at once; the disk is not shared, as far as it can tell."""
    relay = Relay(stack.port)
    (home / "large.bin").touch()
    os.truncate(home / "large.bin", 300 << 20)
    proof = stack.data / "projects" / PROJECT / "uploads" / PROOF
    env = {**stack.env(), "TELEBROWSER_URL": f"http://127.0.0.1:{relay.port}"}
    client = await clients("mcp", "--project", PROJECT, env=env, cwd=home)
    proof.unlink()
    relay.delay = 1.0
    yield client
    await client.kill()
    relay.close()


UPLOAD = {"name": "browser_upload", "arguments": {"selector": "#f", "paths": ["large.bin"]}}


async def test_a_launcher_that_is_closed_in_the_midst_of_a_file_ends(far: McpClient) -> None:
    waiting = asyncio.create_task(far.request("tools/call", UPLOAD))
    await asyncio.sleep(0)
    assert await far.close(5) == 0
    told = (await waiting)["result"]
    assert told["isError"] and told["content"][0]["text"].startswith("[TIMEOUT]")


async def test_a_cancelled_call_sends_no_more_and_others_go_on(far: McpClient, stack: Stack) -> None:
    uploads = stack.data / "projects" / PROJECT / "uploads"
    before = set(uploads.glob("*/large.bin"))
    await far.send({"jsonrpc": "2.0", "id": "up", "method": "tools/call", "params": UPLOAD})
    await far.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "up"}})
    assert "files" in (await far.ok("browser_downloads")).data
    assert set(uploads.glob("*/large.bin")) == before
    assert await far.close() == 0 and far.noise == []


async def test_files_for_another_server_beside_ours(stack: Stack, clients: Callable[..., Any], truths: Callable[..., Any], pages: Pages, home: Path) -> None:
    """Its tools hand the agent's own paths to the browser, where they mean the files that were sent; to other sessions they mean nothing."""
    (home / "a.txt").write_text("for the other")
    page = pages.add("other.html", "<title>other</title><input id=f type=file>")
    beside = ["--upstream", "--", sys.executable, fake_upstream.__file__, f"record={home}/record"]
    client = await clients("mcp", "--project", PROJECT, "--session", "own", "--tools", "both", *beside, env=stack.env(), cwd=home)
    await client.ok("browser_navigate", url=page)
    await client.call("upload_file", filePaths=["a.txt"], uid="1_1")
    refused = await client.call("upload_file", filePaths=["/etc/passwd"], uid="1_1")
    assert refused.code == "UNSAFE_PATH"
    seen = [json.loads(line) for line in (home / "record").read_text().splitlines() if "upload_file" in line]
    assert [message["params"]["arguments"]["filePaths"] for message in seen] == [["a.txt"]]

    for session, wanted in (("own", 1), ("other", 0)):
        cdp = await truths(stack.ws(PROJECT, session))
        if session == "other":
            await cdp.call("Target.createTarget", {"url": page})
        target = next(info["targetId"] for info in await cdp.targets("page") if info["url"] == page)
        attached = (await cdp.call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
        found = await cdp.call("Runtime.evaluate", {"expression": "f"}, attached)
        give = {"files": [str(home / "a.txt")], "objectId": found["result"]["objectId"]}
        if wanted:
            await cdp.call("DOM.setFileInputFiles", give, attached)
            read = {"expression": "f.files[0].text()", "awaitPromise": True, "returnByValue": True}
            assert (await cdp.call("Runtime.evaluate", read, attached))["result"]["value"] == "for the other"
        else:
            with pytest.raises(Exception, match="uploads or downloads"):
                await cdp.call("DOM.setFileInputFiles", give, attached)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"/a": 1}',
        b'{"/a": "file:/etc/passwd"}',
        b'{"/a": "upload:../profile/Local State"}',
        b'{"/a": "upload:none"}',
        b'{"/a": "download:../../x"}',
    ],
)
def test_what_a_path_cannot_mean(stack: Stack, body: bytes) -> None:
    assert stack.http("POST", "s/own/files", PROJECT, body).status in (400, 404)

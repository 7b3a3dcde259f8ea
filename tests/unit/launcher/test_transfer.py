"""Calls with paths: what is held, what goes out in their place, and what comes back."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from telebrowser.errors import TelebrowserError
from telebrowser.handover import MARK, Offer, Shared, read_offer
from telebrowser.launcher.conversation import Conversation
from telebrowser.launcher.transfer import Desk, Job
from telebrowser.launcher.transfer_calls import ROOTS_SECONDS
from telebrowser.launcher.transfer_job import write_data
from telebrowser.launcher.transfer_paths import Source, Target
from telebrowser.launcher.transfer_thread import Workers, run_job
from tests.support import proc
from tests.unit.launcher.test_conversation import HELLO, READY, Talk, answer, request

OFFER = Offer({"browser_upload": {"paths": "read"}, "browser_save": {"path": "write"}}, 1000, None)


class Shelf:
    """A depot that remembers what it was given, and gives what an answer holds."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.names: dict[str, str] = {}

    def name(self, meanings: Mapping[str, str]) -> None:
        self.names.update(meanings)

    def put(self, source: Source) -> str:
        self.sent.append(source.name)
        return f"upload:{len(self.sent):016x}/{source.name}"

    def fetch(self, mark: Mapping[str, Any], target: Target) -> None:
        with target.open() as arrival:
            write_data(mark, arrival)
            target.publish(arrival)


class ShelfDesk(Desk):
    """A desk whose files go to a shelf."""

    def __init__(self, cwd: Path) -> None:
        super().__init__(None, str(cwd))
        self.shelf = Shelf()

    def depot(self, job: Job) -> Shelf:
        return self.shelf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with files."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(name)
    (folder / "large.bin").write_bytes(bytes(1001))
    return folder


@pytest.fixture
def talk(folder: Path) -> Talk:
    """A conversation over an open link whose gateway offers files."""
    talk = Talk()
    desk = ShelfDesk(folder)
    talk.conversation = Conversation(desk)
    desk.offered(OFFER)
    talk.conversation.link_opened()
    return talk


def shelf(talk: Talk) -> Shelf:
    desk = talk.conversation._files.desk
    assert isinstance(desk, ShelfDesk)
    return desk.shelf


def work(talk: Talk) -> int:
    """Do the jobs that wait; how many there were."""
    done = 0
    while talk.conversation.jobs:
        job = talk.conversation.jobs.popleft()
        talk.conversation.job_done(job, run_job(job), talk.now)
        done += 1
    return done


def call(number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(number, name=tool, arguments=arguments, _meta={"progressToken": 7})


def mark(data: bytes, **more: Any) -> dict[str, Any]:
    return {MARK: {"data": base64.b64encode(data).decode(), "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}, **more}


def test_paths_are_replaced_by_references_and_nothing_else_changes(talk: Talk) -> None:
    talk.client(call(1, "browser_upload", ref="e1", paths=["a.txt", "download:x.pdf", "b.txt", "a.txt"]))
    assert talk.to_engine() == [] and not talk.conversation.idle
    assert work(talk) == 1
    a, b = "upload:0000000000000001/a.txt", "upload:0000000000000002/b.txt"
    assert talk.to_engine() == [call(1, "browser_upload", ref="e1", paths=[a, "download:x.pdf", b, a])]
    assert shelf(talk).sent == ["a.txt", "b.txt"]
    talk.engine(answer(1, content=[]))
    assert talk.to_client() == [answer(1, content=[])] and talk.conversation.idle


@pytest.mark.parametrize(
    "message",
    [
        call(1, "browser_click", ref="e1", path="a.txt", paths=["a.txt"]),
        call(1, "browser_upload", ref="e1"),
        call(1, "browser_upload", paths=["download:x"]),
        call(1, "browser_upload", paths=5),
        call(1, "browser_upload", paths=["a.txt", 5]),
        call(1, "browser_save", path=["a"]),
        request(1, name="browser_upload", arguments=None),
        request(1, "prompts/get", name="browser_upload", arguments={"paths": ["a.txt"]}),
    ],
)
def test_a_call_without_a_path_is_not_touched(talk: Talk, message: dict[str, Any]) -> None:
    line = json.dumps(message, indent=None, separators=(" ,", ": ")).encode()
    talk.line(line)
    assert list(talk.conversation.to_engine) == [line] and not talk.conversation.jobs


def test_a_gateway_that_offers_nothing_gets_every_line_as_it_is(folder: Path) -> None:
    talk = Talk()
    talk.conversation.link_opened()
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    assert talk.to_engine() == [call(1, "browser_upload", paths=["a.txt"])]


@pytest.mark.parametrize(("paths", "code"), [(["a.txt", "../x"], "UNSAFE_PATH"), (["none"], "NOT_FOUND"), (["a.txt", "large.bin"], "TOO_LARGE")])
def test_a_bad_path_is_a_tool_error_and_nothing_is_sent(talk: Talk, paths: list[str], code: str) -> None:
    talk.client(call("x", "browser_upload", paths=paths))
    work(talk)
    (told,) = talk.to_client()
    assert told["id"] == "x" and told["result"]["isError"] and told["result"]["content"][0]["text"].startswith(f"[{code}] ")
    assert "resultType" not in told["result"] and talk.to_engine() == [] and shelf(talk).sent == [] and talk.conversation.idle


def test_the_newer_era_gets_an_error_in_its_own_form(talk: Talk) -> None:
    message = call(1, "browser_save", path="../x")
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
    talk.client(message)
    work(talk)
    assert talk.to_client()[0]["result"]["resultType"] == "complete"


def test_an_answer_is_held_until_its_file_lies_in_its_place(talk: Talk, folder: Path) -> None:
    talk.client(call(1, "browser_save", path="out/page.pdf"))
    work(talk)
    assert talk.to_engine() == [call(1, "browser_save", path="agent:out/page.pdf")] and not (folder / "out").exists()
    talk.engine(answer(1, content=[{"type": "text", "text": "saved"}], _meta=mark(b"%PDF", kept=1), other=2))
    assert talk.to_client() == [] and not talk.conversation.idle
    work(talk)
    assert talk.to_client() == [answer(1, content=[{"type": "text", "text": "saved"}], other=2, _meta={"kept": 1})]
    assert (folder / "out" / "page.pdf").read_bytes() == b"%PDF"


def test_the_mark_alone_leaves_no_meta(talk: Talk) -> None:
    talk.client(call(1, "browser_save", path="page.pdf"))
    work(talk)
    talk.engine(answer(1, _meta=mark(b"")))
    work(talk)
    assert talk.to_client() == [answer(1)]


def test_a_damaged_file_is_a_tool_error(talk: Talk, folder: Path) -> None:
    talk.client(call(1, "browser_save", path="page.pdf"))
    work(talk)
    damaged = mark(b"one")
    damaged[MARK]["data"] = base64.b64encode(b"two").decode()
    talk.engine(answer(1, _meta=damaged))
    work(talk)
    assert talk.to_client()[0]["result"]["isError"] and not (folder / "page.pdf").exists()


def test_a_mark_that_nobody_asked_for_writes_nothing(talk: Talk, folder: Path) -> None:
    talk.client(call(1, "browser_upload", paths=["a.txt"]), call(2, "browser_click", ref="e1"))
    work(talk)
    for number in (1, 2):
        talk.engine(answer(number, _meta=mark(b"x")))
    assert len(talk.to_client()) == 2 and not talk.conversation.jobs
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt", "large.bin"]


def test_an_error_of_the_engine_passes_at_once(talk: Talk) -> None:
    talk.client(call(1, "browser_save", path="page.pdf"))
    work(talk)
    talk.engine(answer(1, isError=True, content=[]))
    assert talk.to_client() == [answer(1, isError=True, content=[])]


def test_other_calls_overtake_one_whose_files_are_on_their_way(talk: Talk) -> None:
    talk.client(call(1, "browser_upload", paths=["a.txt"]), call(2, "browser_click", ref="e1"))
    assert [message["id"] for message in talk.to_engine()] == [2]


def cancelled(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def test_a_cancelled_call_is_neither_sent_nor_answered(talk: Talk) -> None:
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    job = talk.conversation.jobs.popleft()
    talk.client(cancelled(1), cancelled(2))
    assert job.cancelled and talk.conversation.idle
    talk.conversation.job_done(job, b"{}", talk.now)
    assert talk.to_client() == [] and talk.to_engine() == [cancelled(2)]


def test_a_call_whose_files_come_while_the_link_is_down_goes_out_with_the_next(talk: Talk) -> None:
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    talk.conversation.link_lost("gone", talk.now)
    work(talk)
    assert talk.to_engine() == [] and talk.to_client() == []
    talk.conversation.link_opened()
    (sent,) = talk.to_engine()
    assert sent["params"]["arguments"]["paths"] == ["upload:0000000000000001/a.txt"] and not talk.conversation.jobs


def test_a_call_that_waits_for_the_first_link_is_looked_at_once_it_is_there(folder: Path) -> None:
    talk = Talk()
    desk = ShelfDesk(folder)
    talk.conversation = Conversation(desk)
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    desk.offered(OFFER)
    talk.conversation.link_opened()
    assert talk.to_engine() == [] and work(talk) == 1 and len(talk.to_engine()) == 1


def test_at_the_end_what_is_held_is_answered(talk: Talk) -> None:
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    job = talk.conversation.jobs.popleft()
    talk.conversation.tick(math.inf)
    (told,) = talk.to_client()
    assert job.cancelled and told["result"]["isError"] and talk.conversation.idle


# Roots of the client


def with_roots(talk: Talk) -> None:
    talk.client({**HELLO, "params": {**HELLO["params"], "capabilities": {"roots": {"listChanged": True}}}})  # type: ignore[dict-item]
    talk.engine({"jsonrpc": "2.0", "id": 0, "result": {}})
    talk.client(READY)
    talk.to_client()
    talk.to_engine()


def roots(talk: Talk, *folders: Path) -> None:
    """Answer the question for roots, which must be there."""
    (asked,) = talk.to_client()
    assert asked["method"] == "roots/list"
    talk.client({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": f"file://{folder}"} for folder in folders]}})


def test_the_client_is_asked_for_its_roots_once_and_only_when_a_path_is_named(talk: Talk, tmp_path: Path) -> None:
    with_roots(talk)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "c.txt").write_text("c")
    talk.client(call(1, "browser_click", ref="e1"))
    assert talk.to_client() == [] and len(talk.to_engine()) == 1
    talk.client(call(2, "browser_upload", paths=[f"{tmp_path}/other/c.txt"]), call(3, "browser_upload", paths=["a.txt"]))
    assert not talk.conversation.jobs
    roots(talk, tmp_path / "other")
    assert work(talk) == 2 and [message["id"] for message in talk.to_engine()] == [2, 3] and talk.to_client() == []
    talk.client(call(4, "browser_upload", paths=["a.txt"]))
    assert work(talk) == 1 and talk.to_client() == []


def test_roots_that_have_changed_are_asked_for_again(talk: Talk, tmp_path: Path) -> None:
    with_roots(talk)
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    roots(talk)
    work(talk)
    changed = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    talk.to_engine()
    talk.client(changed, call(2, "browser_upload", paths=["a.txt"]))
    assert talk.to_engine() == [changed]
    roots(talk)
    assert work(talk) == 1


def test_a_client_that_does_not_name_its_roots_has_the_working_directory(talk: Talk) -> None:
    with_roots(talk)
    talk.client(call(1, "browser_upload", paths=["a.txt"]))
    (asked,) = talk.to_client()
    assert talk.conversation.deadline == talk.now + ROOTS_SECONDS
    talk.conversation.tick(talk.now + ROOTS_SECONDS)
    assert work(talk) == 1 and len(talk.to_engine()) == 1
    talk.client({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})  # too late, and still not for the engine
    assert talk.to_engine() == [] and talk.to_client() == []


# Another MCP server beside the engine


class Elsewhere:
    """What reaches another server, and what is answered in its place."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.got: list[Any] = []
        self.replies: list[Any] = []

    def line(self, message: dict[str, Any]) -> bool:
        """A line for it; whether it is held."""
        send, reply = (lambda data: self.got.append(json.loads(data))), (lambda data: self.replies.append(json.loads(data)))
        return self.talk.conversation.divert(json.dumps(message).encode(), self.talk.now, send, reply)


@pytest.fixture
def elsewhere(talk: Talk) -> Elsewhere:
    return Elsewhere(talk)


def test_another_server_keeps_its_paths_and_the_gateway_learns_what_they_mean(talk: Talk, elsewhere: Elsewhere, folder: Path) -> None:
    message = call(1, "upload_file", uid="2_1", filePaths=["a.txt", str(folder / "b.txt"), "download:x.pdf"])
    assert elsewhere.line(message) and not talk.conversation.idle
    talk.client(call(1, "browser_upload", paths=["b.txt"]))  # the engine may have a call of the same id
    assert work(talk) == 2
    assert elsewhere.got == [message] and elsewhere.replies == [] and talk.to_client() == [] and len(talk.to_engine()) == 1
    assert shelf(talk).names == {str(folder / "a.txt"): "upload:0000000000000001/a.txt", str(folder / "b.txt"): "upload:0000000000000002/b.txt"}


@pytest.mark.parametrize(
    "message",
    [
        call(1, "upload_file", uid="1", filePaths="download:x"),
        call(1, "take_screenshot", filePath="a.txt"),
        call(1, "browser_save", path="a.txt"),
        request(1, "prompts/get", name="upload_file", arguments={"filePaths": ["a.txt"]}),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    ],
)
def test_what_another_server_gets_as_it_is(elsewhere: Elsewhere, message: dict[str, Any]) -> None:
    assert not elsewhere.line(message)


def test_a_bad_path_for_another_server_is_answered_in_its_place(talk: Talk, elsewhere: Elsewhere) -> None:
    assert elsewhere.line(call(7, "browser_file_upload", paths=["../x"]))
    work(talk)
    (reply,) = elsewhere.replies
    assert reply["id"] == 7 and reply["result"]["content"][0]["text"].startswith("[UNSAFE_PATH]") and elsewhere.got == [] and talk.to_client() == []


def test_cancelling_a_held_call_for_another_server(talk: Talk, elsewhere: Elsewhere) -> None:
    elsewhere.line(call(7, "upload_file", filePaths=["a.txt"]))
    assert elsewhere.line(cancelled(7)) and not elsewhere.line(cancelled(7))
    work(talk)
    assert elsewhere.got == [] and elsewhere.replies == [] and talk.conversation.idle


# The header


def test_the_offer_survives_its_header() -> None:
    for offer in (OFFER, OFFER._replace(shared=Shared("/data/ü", "ab"))):
        text = offer.header()
        assert read_offer(text) == offer and text.isascii() and "\n" not in text


@pytest.mark.parametrize("text", [None, "", "x", "[]", "{}", '{"tools": [], "limit": 1}', '{"tools": {"a": 1}, "limit": 1}', '{"tools": {}, "limit": "x"}'])
def test_a_header_that_cannot_be_understood_is_no_offer(text: str | None) -> None:
    assert read_offer(text) is None


# Threads


class Slow(Job):
    def __init__(self) -> None:
        super().__init__(1)
        self.ended = False

    def run(self) -> bytes:
        from telebrowser.launcher.transfer_http import Cancelled

        proc.until(lambda: self.cancelled, "it is cancelled")
        self.ended = True
        raise Cancelled


def test_workers_tell_of_ends_and_stop_what_runs() -> None:
    workers = Workers()
    slow = Slow()
    workers.start(slow)
    slow.cancelled = True
    assert proc.until(workers.finished, "the end is told", 5) == [(slow, None)]
    workers.start(other := Slow())
    workers.stop()
    assert other.cancelled and other.ended


class Broken(Job):
    def run(self) -> bytes:
        raise ValueError("http://gateway/t/secret-token/")


def test_a_fault_of_a_job_tells_no_address() -> None:
    outcome = run_job(Broken(1))
    assert isinstance(outcome, TelebrowserError) and outcome.code == "INTERNAL" and "secret" not in outcome.text()

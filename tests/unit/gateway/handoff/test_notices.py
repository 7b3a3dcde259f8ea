"""Notices: by a real HTTP receiver through Apprise, and by real commands. Told once, tried again, given up, never secret where others look."""

from __future__ import annotations

import asyncio
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from telebrowser.errors import ConfigError
from telebrowser.gateway.handoff import notices as module
from telebrowser.gateway.handoff.machine import DONE
from telebrowser.gateway.handoff.notices import BURST, Notices

from .samples import sample

LINK = "http://127.0.0.1:5859/h/one-time-token"


class Receiver:
    """Takes what Apprise posts, and answers with the statuses it is given, the last one for good."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.statuses = [200]
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(outer.statuses.pop(0) if len(outer.statuses) > 1 else outer.statuses[0])
                self.end_headers()

            def log_message(self, format: str, *arguments: Any) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def url(self) -> str:
        return f"json://user:hunter2@127.0.0.1:{self.server.server_port}/topic"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)


def urls_file(folder: Path, *lines: str) -> str:
    path = folder / "urls"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return str(path)


async def over(notices: Notices) -> None:
    """Until nothing is under way."""
    async with asyncio.timeout(30):
        while notices._tasks:
            await asyncio.gather(*notices._tasks)


async def test_a_person_is_told_with_a_link_and_again_when_it_was_not_accepted(tmp_path: Path, receiver: Receiver) -> None:
    receiver.statuses = [503, 200]
    notices = Notices(urls_file(tmp_path, "# phones", receiver.url, ""), ())
    assert notices.announce(sample(agent="claude-code"), lambda: LINK)
    await over(notices)
    refused, message = receiver.got
    assert refused == message and (message["title"], message["message"]) == ("claude-code in shop needs you", f"Sign in at the shop\n{LINK}")
    assert notices.counts == {"sent": 1} and notices.warnings() == []


class Deliveries:
    """Stands in for the process that sends: what it is given, and what it says of the addresses."""

    def __init__(self, *troubles: dict[str, str] | None) -> None:
        self.orders: list[dict[str, Any]] = []
        self.troubles = list(troubles)

    async def __call__(self, order: dict[str, Any]) -> dict[str, str]:
        self.orders.append({**order, "urls": dict(order["urls"])})
        said = self.troubles.pop(0) if len(self.troubles) > 1 else self.troubles[0]
        return {} if said is None else {name: said.get(url, "") for name, url in order["urls"].items()}


async def test_only_what_failed_is_tried_again_and_given_up_with_one_line_without_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad = "json://user:hunter2@bad"
    notices = Notices(urls_file(tmp_path, "json://good", bad), ())
    deliveries = Deliveries({bad: "it was not accepted"})
    monkeypatch.setattr(module, "_deliver", deliveries)
    notices.announce(sample(2), lambda: LINK)
    await over(notices)
    assert [list(order["urls"].values()) for order in deliveries.orders] == [["json://good", bad], *[[bad]] * (module.ATTEMPTS - 1)]
    assert notices.counts == {"sent": 1, "failed": 1}
    assert notices.warnings() == [f"notifications: address 2 of {tmp_path / 'urls'}: it was not accepted"]
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1
    for secret in ("hunter2", LINK, "json://"):
        assert secret not in caplog.text + notices.warnings()[0]
    monkeypatch.setattr(module, "_deliver", Deliveries(None, {}))
    notices.announce(sample(3), lambda: LINK)
    await over(notices)
    assert notices.warnings() == [] and notices.counts == {"sent": 3, "failed": 1}, "what works again is no trouble any more"


async def test_one_address_that_is_none_keeps_no_other_from_being_told(tmp_path: Path, receiver: Receiver) -> None:
    notices = Notices(urls_file(tmp_path, "nonsense", receiver.url), ())
    notices.announce(sample(), lambda: None)
    await over(notices)
    assert [message["message"] for message in receiver.got] == ["Sign in at the shop"]
    assert notices.warnings() == [f"notifications: address 1 of {tmp_path / 'urls'}: {module.BAD_ADDRESS}"]


@pytest.mark.parametrize("mode", [0o644, None])
def test_a_file_of_addresses_that_others_can_read_or_that_is_missing_is_refused_at_the_start(tmp_path: Path, mode: int | None) -> None:
    path = tmp_path / "urls"
    if mode is not None:
        path.write_text("json://user:hunter2@localhost")
        path.chmod(mode)
    with pytest.raises(ConfigError, match="notification addresses") as error:
        Notices(str(path), ())
    assert "hunter2" not in str(error.value)


def command(folder: Path, body: str) -> tuple[str, ...]:
    """A program that has what it was given in ``data``, its arguments in ``argv`` and its environment in ``environ``."""
    script = folder / "hook.py"
    script.write_text(f"import json, os, sys, time\ndata = json.load(sys.stdin)\n{body}\n")
    return sys.executable, str(script), "an argument"


async def test_a_command_gets_everything_on_its_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEBROWSER_SECRET", "the secret")
    out = tmp_path / "out"
    notices = Notices(None, command(tmp_path, f"open({str(out)!r}, 'a').write(json.dumps([data, sys.argv[1:], dict(os.environ)]) + chr(10))"))
    notices.announce(sample(agent="codex"), lambda: LINK)
    await over(notices)
    notices.ended(sample(state=DONE, note="typed by a person", url="https://shop.example/?code=1"))
    await over(notices)
    (told, arguments, environ), (ended, _, _) = (json.loads(line) for line in out.read_text().splitlines())
    assert (told["event"], told["link"], told["reason"], told["project"], told["state"]) == ("handoff_open", LINK, "Sign in at the shop", "shop", "open")
    assert (ended["event"], ended["state"]) == ("handoff_ended", "done") and "link" not in ended
    assert "typed by a person" not in out.read_text() and "code=1" not in out.read_text()
    assert arguments == ["an argument"] and not {name for name in environ if name.startswith("TELEBROWSER")} and LINK not in str(environ)


async def test_a_command_that_hangs_is_killed_with_its_children_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND_SECONDS", 1.0)
    pid = tmp_path / "pid"
    body = f"import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nopen({str(pid)!r}, 'w').write(str(child.pid))\ntime.sleep(1000)"
    notices = Notices(None, command(tmp_path, body))
    notices.announce(sample(), lambda: LINK)
    await over(notices)
    assert "had not ended after 1 s" in notices.warnings()[0]
    from tests.support import proc

    proc.until(lambda: proc.process(int(pid.read_text())) is None, "the child is gone", 5)


@pytest.mark.parametrize(("argv", "says"), [(("/nowhere/hook",), "cannot be run"), ((sys.executable, "-c", "raise SystemExit(3)"), "status 3")])
async def test_a_command_that_fails_is_told(argv: tuple[str, ...], says: str) -> None:
    notices = Notices(None, argv)
    notices.announce(sample(), lambda: LINK)
    await over(notices)
    assert says in notices.warnings()[0] and notices.counts == {"failed": 1}


async def test_an_agent_in_a_loop_does_not_flood_a_phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deliveries = Deliveries({})
    monkeypatch.setattr(module, "_deliver", deliveries)
    now = 0.0
    notices = Notices(urls_file(tmp_path, "json://phone"), (), clock=lambda: now)
    told = [notices.announce(sample(number), lambda: LINK) for number in range(BURST + 3)]
    assert told == [True] * BURST + [False] * 3 and notices.counts["suppressed"] == 3
    assert notices.announce(sample(50, project="bank"), lambda: LINK), "another project is told of all the same"
    now = module.BURST_SECONDS
    assert notices.announce(sample(99), lambda: LINK)
    await over(notices)
    assert len(deliveries.orders) == BURST + 2


async def test_without_anybody_to_tell_nothing_is_said_to_have_been() -> None:
    notices = Notices(None, ())
    assert not notices.wanted and not notices.announce(sample(), lambda: LINK)


async def test_the_end_of_the_gateway_gives_up_what_is_under_way(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 1000.0)
    receiver.statuses = [503]
    notices = Notices(urls_file(tmp_path, receiver.url), command(tmp_path, "time.sleep(1000)"))
    notices.announce(sample(), lambda: LINK)
    async with asyncio.timeout(20):
        while not receiver.got:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await notices.aclose()
    assert not notices._tasks

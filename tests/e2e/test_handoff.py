"""Handoffs on a real stack: agents over MCP and over plain HTTP, the person by CDP of the whole project and by the operator's verbs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitRequestURLParams, ElicitResult

from tests.support import proc
from tests.support.mcp_client import Answer, McpClient
from tests.support.pages import Pages
from tests.support.stack import LAUNCHER, Stack, request
from tests.support.truth import CdpError, Truth

LOGIN = "<!doctype html><title>login</title><h1>Sign in</h1><a id=in href=/set>Sign in</a><button id=b onclick='document.title+=1'>Agent's</button>"


def listed(stack: Stack, project: str, **wanted: Any) -> list[dict[str, Any]]:
    """The project's handoffs over HTTP."""
    rows: list[dict[str, Any]] = stack.http("GET", "handoffs", project).json["handoffs"]
    return [row for row in rows if wanted.items() <= row.items()]


async def asked(stack: Stack, project: str) -> dict[str, Any]:
    """The open handoff of a project, once there is one."""
    return (await asyncio.to_thread(proc.until, lambda: listed(stack, project, state="open"), f"a handoff of {project} is open"))[0]


class Person:
    """Works in the agent's tab without the agent: a CDP client of the whole project."""

    def __init__(self, truth: Truth, target: str) -> None:
        self.truth, self.target = truth, target

    async def eval(self, expression: str) -> Any:
        return await self.truth.eval(self.target, expression)

    async def sign_in(self) -> None:
        await self.eval("document.querySelector('#in').click()")
        assert await self.truth.wait(self.target, "document.title", "set") == "set"


@pytest.fixture
def login(pages: Pages) -> str:
    return pages.add("login.html", LOGIN)


async def begin(stack: Stack, project: str, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> tuple[McpClient, Truth]:
    """An agent that has come to the login page, and the truth about its browser."""
    agent = await clients("mcp", "--project", project, env=stack.env(), cwd=home)
    await agent.ok("browser_navigate", url=login)
    return agent, await truths(stack.ws(project))


def calling(agent: McpClient, **arguments: Any) -> asyncio.Task[Answer]:
    return asyncio.create_task(agent.call("browser_handoff", 120, **{"reason": "Sign in at the shop", "wait_seconds": 100, **arguments}))


async def test_the_agent_goes_on_signed_in_and_sigkill_right_after_done_loses_nothing(
    new_stack: Callable[..., Stack], pages: Pages, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    stack = new_stack().start()
    agent, truth = await begin(stack, "killed", login, home, clients, truths)
    call = calling(agent)
    handoff = await asked(stack, "killed")
    assert (handoff["reason"], handoff["agent"], handoff["position"]) == ("Sign in at the shop", "tests", 0)
    assert stack.status("killed")["handoffs"][0]["id"] == handoff["id"]
    await Person(truth, handoff["target"]).sign_in()
    said = await asyncio.to_thread(stack.launcher, "handoffs", handoff["id"], "--done", "--note", "signed in as ann", "--project", "killed")
    pid = stack.browser_pid("killed")
    os.kill(pid, signal.SIGKILL)
    assert said.returncode == 0 and "done" in said.stdout, said
    answer = await call
    assert not answer.error, answer
    told = answer.data
    assert (told["state"], told["via"], told["note"], told["cookies_saved"]) == ("done", "operator", "signed in as ann", True)
    assert told["page"] == {"url": f"{pages.base}/set", "title": "set"}
    again = await clients("mcp", "--project", "killed", env=stack.env(), cwd=home)
    proc.until(lambda: stack.status("killed")["state"] == "up" and stack.status("killed")["pid"] != pid, "the browser is started anew", 40)
    await again.ok("browser_navigate", url=f"{pages.base}/who")
    assert "login=yes" in (await again.ok("browser_get_text")).text
    lines = [json.loads(line) for path in (stack.data / "audit").glob("*.jsonl") for line in path.read_text().splitlines()]
    mine = [line for line in lines if line["event"].startswith("handoff")]
    assert [(line["event"], line["id"], line["session"]) for line in mine] == [(name, handoff["id"], handoff["session"]) for name in ("handoff", "handoff_end")]
    assert "signed in as ann" not in json.dumps(lines) and "Sign in at the shop" not in json.dumps(lines)
    metrics = request(f"{stack.url}/metrics").body.decode()
    assert 'telebrowser_handoffs_ended_total{state="done"} 1.0' in metrics and "telebrowser_handoffs_open 0.0" in metrics


async def test_the_tab_and_its_refs_live_on_and_the_agent_may_only_read_meanwhile(
    stack: Stack, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    agent, truth = await begin(stack, "reads", login, home, clients, truths)
    ref = (await agent.ok("browser_snapshot")).ref("Agent's")
    call = calling(agent)
    handoff = await asked(stack, "reads")
    for tool, arguments in (("browser_click", {"ref": ref}), ("browser_navigate", {"url": login}), ("browser_evaluate", {"expression": "1"})):
        refused = await agent.call(tool, **arguments)
        assert refused.code == "HANDOFF_OPEN" and handoff["id"] in refused.text, refused
    assert "Sign in" in (await agent.ok("browser_snapshot")).text
    assert (await agent.ok("browser_screenshot")).images and "Sign in" in (await agent.ok("browser_get_text")).text
    second = await agent.ok("browser_tabs", action="new", url=login + "?second")
    assert not (await agent.call("browser_click", selector="#b")).error, "another tab is the agent's"
    first = next(row["tab"] for row in second.data["tabs"] if "second" not in row["url"])
    closing = await agent.call("browser_tabs", action="close", tab=first)
    assert closing.code == "HANDOFF_OPEN", closing
    assert (await truth.eval(handoff["target"], "document.title")) == "login"
    reply = await asyncio.to_thread(
        stack.http, "POST", f"handoffs/{handoff['id']}", "reads", json.dumps({"state": "failed", "note": "wrong password"}).encode()
    )
    assert reply.status == 200 and reply.json["state"] == "failed"
    assert (await call).data["note"] == "wrong password"
    await agent.ok("browser_tabs", action="select", tab=first)
    await agent.ok("browser_click", ref=ref)
    assert (await truth.eval(handoff["target"], "document.title")) == "login1"


async def test_the_persons_dialogs_are_left_to_them(stack: Stack, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> None:
    agent, truth = await begin(stack, "dialogs", login, home, clients, truths)
    call = calling(agent)
    handoff = await asked(stack, "dialogs")
    session = await truth.attach(handoff["target"])
    await truth.call("Page.enable", session=session)
    await truth.call("Runtime.evaluate", {"expression": "setTimeout(() => { document.title = confirm('Trust this device?') ? 'trusted' : 'not' }, 0)"}, session)
    await truth.event(lambda event: event["method"] == "Page.javascriptDialogOpening")
    reading = await agent.call("browser_get_text", timeout_ms=3000)
    assert reading.code == "DIALOG_OPEN", reading
    await truth.call("Page.handleJavaScriptDialog", {"accept": True}, session)
    assert await truth.wait(handoff["target"], "document.title", "trusted") == "trusted"
    await agent.ok("browser_get_text")
    stack.launcher("handoffs", handoff["id"], "--done", "--project", "dialogs")
    assert (await call).data["state"] == "done"
    await truth.call("Runtime.evaluate", {"expression": "setTimeout(() => { document.title = confirm('And now?') ? 'yes' : 'no' }, 0)"}, session)
    assert await truth.wait(handoff["target"], "document.title", "no") == "no", "the agent's dialogs are dismissed again"


async def test_a_condition_ends_it_but_an_address_does_not(
    stack: Stack, pages: Pages, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    agent, truth = await begin(stack, "condition", login, home, clients, truths)
    already = await agent.call("browser_handoff", reason="Sign in", done_when={"text": "Sign in"})
    assert already.code == "INVALID_ARGS" and "already" in already.text, already
    broken = await agent.call("browser_handoff", reason="Sign in", done_when={"selector": "h1["})
    assert broken.code == "INVALID_ARGS", broken
    call = calling(agent, done_when={"url": f"{pages.base}/who*", "text": "login=yes"})
    handoff = await asked(stack, "condition")
    person = Person(truth, handoff["target"])
    await person.eval("history.pushState(0, '', '/who-not-yet')")
    await person.sign_in()
    await asyncio.sleep(1.5)
    assert not call.done() and listed(stack, "condition", state="open")
    await person.eval("location.href = '/who'")
    answer = (await call).data
    assert (answer["state"], answer["via"], answer["page"]["title"]) == ("done", "condition", "who")
    alone = calling(agent, done_when={"url": "*/set"}, reason="Again")
    handoff = await asked(stack, "condition")
    await Person(truth, handoff["target"]).eval("location.href = '/set'")
    await asyncio.sleep(1.5)
    assert not alone.done(), "an address alone ends nothing"
    stack.launcher("handoffs", handoff["id"], "--done", "--project", "condition")
    assert (await alone).data["via"] == "operator"


async def test_cancelling_the_call_cancels_the_handoff(stack: Stack, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> None:
    agent, _ = await begin(stack, "cancelled", login, home, clients, truths)
    call = calling(agent)
    handoff = await asked(stack, "cancelled")
    await agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": agent._last}})
    proc.until(lambda: listed(stack, "cancelled", state="cancelled"), "it is cancelled")
    status = await agent.ok("browser_handoff_status")
    assert (status.data["handoff"], status.data["state"], status.data["via"]) == (handoff["id"], "cancelled", "agent")
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    await agent.ok("browser_click", selector="#b")


async def test_it_outlives_the_gateway(
    new_stack: Callable[..., Stack], pages: Pages, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    stack = new_stack(session_grace=1).start()
    agent, _ = await begin(stack, "outlives", login, home, clients, truths)
    call = calling(agent)
    handoff = await asked(stack, "outlives")
    stack.signal("gateway", signal.SIGKILL)
    stack.wait("gateway")
    answer = await call
    assert answer.error and "browser_handoff" in answer.text and "may or may not" in answer.text, answer
    stack.start_gateway()
    assert (await agent.ok("browser_handoff_status")).data["handoff"] == handoff["id"]
    joined = calling(agent)
    truth = await truths(stack.ws("outlives"))
    assert len(listed(stack, "outlives")) == 1
    refused = await agent.call("browser_click", selector="#b")
    assert refused.code == "HANDOFF_OPEN", refused
    await asyncio.sleep(2)
    await Person(truth, handoff["target"]).sign_in()
    done = await asyncio.to_thread(stack.http, "POST", f"handoffs/{handoff['id']}", "outlives", b'{"state": "done"}')
    assert done.json["cookies_saved"] is True
    assert (await joined).data["page"]["url"] == f"{pages.base}/set"
    stack.signal("gateway", signal.SIGTERM)
    assert stack.wait("gateway") == 0
    stack.start_gateway()
    assert (await agent.ok("browser_handoff_status")).data["state"] == "done"
    assert listed(stack, "outlives")[0]["page"]["url"] == f"{pages.base}/set"


async def active(truth: Truth) -> set[str]:
    """The pages whose tabs are selected, by the tabs' own word."""
    found = set()
    for info in (await truth.call("Target.getTargets", {"filter": [{"type": "tab"}]}))["targetInfos"]:
        if (info.get("embedderData") or {}).get("tabActive"):
            found.add(info["url"])
    return found


async def selected(truth: Truth, part: str) -> None:
    """Until a tab with ``part`` in its address is selected."""
    for _ in range(200):
        if any(part in url for url in await active(truth)):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{part} is not selected, but {await active(truth)}")


async def test_two_wait_for_one_screen(stack: Stack, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> None:
    """The agent asks over MCP, a script over HTTP, in two projects with windows on one display."""
    agent, _ = await begin(stack, "queue-a", login, home, clients, truths)
    call = calling(agent)
    first = await asked(stack, "queue-a")
    body = json.dumps({"reason": "Solve the puzzle", "agent": "a script"}).encode()
    reply = await asyncio.to_thread(stack.http, "POST", "s/scripted/handoff", "queue-b", body)
    assert reply.status == 201 and reply.json["position"] == 1 and reply.json["agent"] == "a script", reply
    second = reply.json["id"]
    same = await asyncio.to_thread(stack.http, "POST", "s/scripted/handoff", "queue-b", body)
    assert same.json["id"] == second, "asking again is the same handoff"
    other = await asyncio.to_thread(stack.http, "POST", "s/scripted/handoff", "queue-b", b'{"reason": "Something else"}')
    assert other.status == 409 and other.json["error"]["code"] == "HANDOFF_OPEN", other
    assert stack.http("GET", f"handoffs/{first['id']}", "queue-b").status == 404, "another project's handoff does not exist"
    waiting = asyncio.create_task(asyncio.to_thread(stack.http, "GET", f"handoffs/{second}?wait=60", "queue-b"))
    stack.launcher("handoffs", first["id"], "--done", "--project", "queue-a")
    assert (await call).data["state"] == "done"
    assert stack.http("GET", f"handoffs/{second}", "queue-b").json["position"] == 0
    shown = stack.launcher("handoffs", "--project", "queue-b")
    assert second in shown.stdout and "Solve the puzzle" in shown.stdout
    stack.launcher("handoffs", second, "--cancel", "--project", "queue-b")
    assert (await waiting).json["state"] == "cancelled"
    assert stack.launcher("handoffs", "--project", "queue-b").stdout.strip() == "nobody is asked for anything"
    assert second in stack.launcher("handoffs", "--all", "--project", "queue-b").stdout


async def test_the_selected_tab_stays_the_persons(stack: Stack, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]) -> None:
    agent, truth = await begin(stack, "front", login + "?mine", home, clients, truths)
    other = await truths(stack.ws("front", "other"))
    made = (await other.call("Target.createTarget", {"url": login + "?others"}))["targetId"]
    await other.call("Target.activateTarget", {"targetId": made})
    await selected(truth, "?others")
    handoff = (await agent.ok("browser_handoff", reason="Sign in", wait_seconds=0)).data
    await selected(truth, "?mine")
    for _ in range(3):
        await other.call("Target.activateTarget", {"targetId": made})
        await selected(truth, "?mine")
    await agent.ok("browser_handoff_status", handoff=handoff["handoff"], cancel=True)
    await other.call("Target.activateTarget", {"targetId": made})
    await selected(truth, "?others")


async def test_a_sign_in_window_that_closes_itself_hands_over_to_its_opener(
    stack: Stack, pages: Pages, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    pages.add("idp.html", "<title>idp</title><button id=ok onclick='opener.document.title = \"in\"; window.close()'>Allow</button>")
    opener = pages.add("opener.html", "<title>opener</title><button id=go onclick=\"open('/idp.html', 'idp', 'width=300,height=300')\">Sign in with</button>")
    agent, truth = await begin(stack, "popup", opener, home, clients, truths)
    clicked = await agent.ok("browser_click", selector="#go")
    popup = clicked.data["new_tab"]["tab"] if "new_tab" in clicked.data else (await agent.ok("browser_tabs")).data["tabs"][-1]["tab"]
    call = calling(agent, tab=popup)
    handoff = await asked(stack, "popup")
    assert await truth.wait(handoff["target"], "document.querySelector('#ok') !== null")
    with contextlib.suppress(CdpError):
        await truth.eval(handoff["target"], "document.querySelector('#ok').click()")
    proc.until(lambda: listed(stack, "popup", state="open")[0]["target"] != handoff["target"], "it goes on in the opener")
    assert not call.done()
    stack.launcher("handoffs", handoff["id"], "--done", "--project", "popup")
    answer = (await call).data
    assert answer["state"] == "done" and answer["page"]["title"] == "in"


async def test_a_tab_that_is_closed_and_a_browser_that_ends_are_told(
    stack: Stack, login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    agent, truth = await begin(stack, "closed", login, home, clients, truths)
    await agent.ok("browser_tabs", action="new", url=login + "?second")
    call = calling(agent)
    handoff = await asked(stack, "closed")
    await truth.call("Target.closeTarget", {"targetId": handoff["target"]})
    answer = (await call).data
    assert (answer["state"], answer["via"], answer["note"]) == ("failed", "browser", "the tab was closed")
    call = calling(agent)
    await asked(stack, "closed")
    stopping = asyncio.create_task(asyncio.to_thread(stack.launcher, "stop", "--project", "closed"))
    answer = (await call).data
    assert answer["state"] == "failed" and "the browser ended" in answer["note"], answer
    assert (await stopping).returncode == 0


async def test_people_are_told_and_nothing_typed_is_kept(
    new_stack: Callable[..., Stack], login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    out = home / "told"
    hook = home / "hook.py"
    hook.write_text(f"import json, sys, os\nopen({str(out)!r}, 'a').write(json.dumps([json.load(sys.stdin), sys.argv, dict(os.environ)]) + chr(10))\n")
    view = "http://view.example:3000/"
    stack = new_stack(TELEBROWSER_NOTIFY_COMMAND=f"{sys.executable} {hook} 'an argument'", TELEBROWSER_VIEW_URL=view).start()
    agent, truth = await begin(stack, "told", login, home, clients, truths)
    call = calling(agent)
    handoff = await asked(stack, "told")
    proc.until(out.exists, "the command is run")
    assert handoff["notified"] or listed(stack, "told")[0]["notified"]
    await Person(truth, handoff["target"]).eval("document.body.innerHTML = '<input id=p>'; document.querySelector('#p').value = 'typed-pa55word'")
    opened = json.loads(stack.launcher("open", "--project", "told", "--json").stdout)
    assert opened == {"kind": "handoff", "handoff": handoff["id"], "url": view}
    stack.launcher("handoffs", handoff["id"], "--done", "--note", "a note of the person", "--project", "told")
    assert (await call).data["note"] == "a note of the person"
    proc.until(lambda: out.read_text().count("\n") == 2, "the command hears of the end")
    (told, arguments, environ), (ended, _, _) = (json.loads(line) for line in out.read_text().splitlines())
    assert (told["event"], told["id"], told["link"], ended["event"], ended["state"]) == ("handoff_open", handoff["id"], view, "handoff_ended", "done")
    assert arguments[1:] == ["an argument"] and not [name for name in environ if name.startswith("TELEBROWSER")]
    assert json.loads(stack.launcher("open", "--project", "told", "--json").stdout)["kind"] == "view"
    await agent.close()
    await truth.close()
    stack.stop()
    for path in [*stack.root.glob("*.out"), *(stack.data / "run").rglob("*"), *(stack.data / "audit").rglob("*"), out]:
        if path.is_file():
            text = path.read_text(errors="replace")
            for secret in ("typed-pa55word", "a note of the person"):
                assert secret not in text, path


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_shows_the_link_and_hears_of_progress(mode: Any, new_stack: Callable[..., Stack], login: str, home: Path) -> None:
    view = "http://view.example:3000/"
    stack = new_stack(TELEBROWSER_VIEW_URL=view).start()
    shown: list[str] = []
    steps: list[float] = []

    async def show(_context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams) and "Sign in" in params.message
        shown.append(params.url)
        return ElicitResult(action="accept")

    async def progress(done: float, _total: float | None, _message: str | None) -> None:
        steps.append(done)

    server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--project", "shown"], env=stack.env(), cwd=home)
    async with Client(server, mode=mode, read_timeout_seconds=60, elicitation_callback=show) as agent:
        assert not (await agent.call_tool("browser_navigate", {"url": login})).is_error
        call = asyncio.create_task(agent.call_tool("browser_handoff", {"reason": "Sign in", "wait_seconds": 50}, progress_callback=progress))
        handoff = await asked(stack, "shown")
        for _ in range(400):
            if shown and len(steps) > 1:
                break
            await asyncio.sleep(0.05)
        ended = await asyncio.to_thread(stack.http, "POST", f"handoffs/{handoff['id']}", "shown", b'{"state": "done"}')
        result = await call
    assert ended.json["state"] == "done" and shown == [view] and len(steps) > 1
    text = "".join(part.text for part in result.content if part.type == "text")
    assert json.loads(text)["state"] == "done" and view not in text


async def test_the_tab_stays_for_the_person_when_the_agent_goes(
    new_stack: Callable[..., Stack], login: str, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    stack = new_stack(session_grace=1).start()
    agent, truth = await begin(stack, "gone", login, home, clients, truths)
    await agent.ok("browser_tabs", action="new", url=login + "?second")
    call = calling(agent)
    handoff = await asked(stack, "gone")
    await agent.kill()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    proc.until(lambda: not [row for row in stack.status("gone")["sessions"] if row["connections"]], "the agent's connections have ended")
    await asyncio.sleep(3)
    assert await truth.eval(handoff["target"], "document.title") == "login"
    assert listed(stack, "gone", state="open"), "nobody has called it off"
    stack.launcher("handoffs", handoff["id"], "--done", "--project", "gone")
    left = await truth.until_targets(lambda found: handoff["target"] not in [info["targetId"] for info in found])
    assert handoff["target"] not in [info["targetId"] for info in left], "the session's tabs close after its grace time"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_runs_out_of_patience_leaves_the_person_at_work(mode: Any, stack: Stack, login: str, home: Path) -> None:
    project = f"impatient-{mode[:4]}"
    server = StdioServerParameters(command=LAUNCHER, args=["mcp", "--project", project], env=stack.env(), cwd=home)
    async with Client(server, mode=mode, read_timeout_seconds=60) as agent:
        assert not (await agent.call_tool("browser_navigate", {"url": login})).is_error
        with pytest.raises(MCPError, match="timed out"):
            await agent.call_tool("browser_handoff", {"reason": "Sign in", "wait_seconds": 100}, read_timeout_seconds=2)
        waiting = asyncio.create_task(agent.call_tool("browser_handoff_status", {"wait_seconds": 50}))
        (handoff,) = listed(stack, project)
        assert handoff["state"] == "open"
        await asyncio.to_thread(stack.http, "POST", f"handoffs/{handoff['id']}", project, b'{"state": "done", "note": "at last"}')
        text = "".join(part.text for part in (await waiting).content if part.type == "text")
    assert (json.loads(text)["state"], json.loads(text)["note"]) == ("done", "at last")

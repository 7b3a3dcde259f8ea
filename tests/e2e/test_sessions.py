"""Who sees what: agents of one project, projects of one host, worktrees and submodules."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_client import McpClient
from tests.support.pages import Pages
from tests.support.stack import Stack, request
from tests.support.truth import CdpError


async def visit(client: McpClient, url: str) -> str:
    """Navigate and read the page's text."""
    await client.ok("browser_navigate", url=url)
    return str((await client.ok("browser_get_text")).data["text"])


async def test_one_project_two_agents(stack: Stack, pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    one = await clients("mcp", "--project", "shared", env=stack.env(), cwd=home)
    two = await clients("mcp", "--project", "shared", env=stack.env(), cwd=home)
    await one.ok("browser_navigate", url=f"{pages.base}/set?first-agent")
    assert "login=yes" in await visit(two, f"{pages.base}/who?second-agent")
    first, second = (await one.ok("browser_tabs", action="list")), (await two.ok("browser_tabs", action="list"))
    assert "first-agent" in first.text and "second-agent" not in first.text
    assert "second-agent" in second.text and "first-agent" not in second.text
    assert len(first.data["tabs"]) == len(second.data["tabs"]) == 1
    mine, theirs = first.data["tabs"][0]["tab"], second.data["tabs"][0]["tab"]
    if mine != theirs:
        assert (await two.call("browser_tabs", action="close", tab=mine)).error
    assert (await one.ok("browser_get_text")).data["text"] is not None


async def test_raw_sessions_do_not_reach_each_other(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    everything = await truths(stack.ws("raw"))
    one, two = await truths(stack.ws("raw", "one")), await truths(stack.ws("raw", "two"))
    tab = (await one.call("Target.createTarget", {"url": f"{pages.base}/clock.html?secret-of-one"}))["targetId"]
    assert tab in {info["targetId"] for info in await everything.targets()}
    assert tab not in {info["targetId"] for info in await two.targets(None)}
    for method in ("Target.attachToTarget", "Target.closeTarget", "Target.activateTarget", "Target.getTargetInfo"):
        with pytest.raises(CdpError) as refused:
            await two.call(method, {"targetId": tab, **({"flatten": True} if "attach" in method else {})})
        assert "secret-of-one" not in str(refused.value)
    reply = stack.http("GET", "s/two/json/list", "raw")
    assert reply.status == 200 and tab not in reply.body.decode()
    assert tab in stack.http("GET", "s/one/json/list", "raw").body.decode()
    assert tab in stack.http("GET", "json/list", "raw").body.decode()
    assert tab in {info["targetId"] for info in await everything.targets()}, "a foreign session closed the tab"


async def test_two_projects_share_no_cookie(stack: Stack, pages: Pages, home: Path, clients: Callable[..., Any]) -> None:
    one = await clients("mcp", "--project", "left", env=stack.env(), cwd=home)
    two = await clients("mcp", "--project", "right", env=stack.env(), cwd=home)
    await one.ok("browser_navigate", url=f"{pages.base}/set")
    assert "login=yes" in await visit(one, f"{pages.base}/who")
    assert "login=yes" not in await visit(two, f"{pages.base}/who")
    assert (stack.data / "projects" / "left" / "profile").stat().st_mode & 0o777 == 0o700
    pids = {stack.browser_pid("left"), stack.browser_pid("right")}
    assert len(pids) == 2


def git(*arguments: str, cwd: Path) -> None:
    """Run git with an identity of its own."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


async def test_worktrees_share_and_a_submodule_does_not(stack: Stack, pages: Pages, tmp_path: Path, clients: Callable[..., Any]) -> None:
    inner, main = tmp_path / "inner", tmp_path / "treeproject"
    for folder in (inner, main):
        folder.mkdir()
        git("init", cwd=folder)
        git("commit", "--allow-empty", "-m", "first", cwd=folder)
    git("submodule", "add", str(inner), "subproject", cwd=main)
    git("commit", "-m", "second", cwd=main)
    git("worktree", "add", str(tmp_path / "elsewhere"), cwd=main)
    named = {folder: stack.launcher("project", cwd=folder).stdout.strip() for folder in (main, tmp_path / "elsewhere", main / "subproject")}
    assert list(named.values()) == ["treeproject", "treeproject", "subproject"]
    in_main, in_worktree, in_submodule = [await clients("mcp", env=stack.env(), cwd=folder) for folder in named]
    await in_main.ok("browser_navigate", url=f"{pages.base}/set")
    assert "login=yes" in await visit(in_worktree, f"{pages.base}/who")
    assert "login=yes" not in await visit(in_submodule, f"{pages.base}/who")


async def test_tabs_of_a_killed_launcher_go_after_the_grace_time(
    stack: Stack, pages: Pages, home: Path, clients: Callable[..., Any], truths: Callable[..., Any]
) -> None:
    keeper = await clients("mcp", "--project", "grace", env=stack.env(), cwd=home)
    await keeper.ok("browser_navigate", url=f"{pages.base}/clock.html?kept")
    victim = await McpClient.start("mcp", "--project", "grace", env=stack.env(), cwd=home)
    await victim.ok("browser_navigate", url=f"{pages.base}/popups.html?victim")
    await victim.ok("browser_tabs", action="new", url=f"{pages.base}/clock.html?victim")
    truth = await truths(stack.ws("grace"))
    assert sum("victim" in info["url"] for info in await truth.targets()) == 2
    await victim.kill()
    left = [info["url"] for info in await truth.until_targets(lambda rows: not [row for row in rows if "victim" in row["url"]])]
    assert "victim" not in str(left) and "kept" in str(left)
    assert [row["tabs"] for row in stack.status("grace")["sessions"]] == [1]


async def test_a_session_that_comes_back_in_time_finds_its_tabs(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    first = await truths(stack.ws("again", "returning"))
    tab = (await first.call("Target.createTarget", {"url": f"{pages.base}/clock.html?returning"}))["targetId"]
    await first.close()
    second = await truths(stack.ws("again", "returning"))
    assert tab in {info["targetId"] for info in await second.targets()}
    await asyncio.sleep(3)  # beyond the grace time of this stack: it must have been called off
    assert tab in {info["targetId"] for info in await second.targets()}


async def test_the_last_tab_becomes_the_placeholder(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    first = await truths(stack.ws("placeholder", "one"))
    tabs = await first.targets()
    assert len(tabs) == 1 and tabs[0]["url"] == "about:blank"
    everything = await truths(stack.ws("placeholder"))
    assert [info["targetId"] for info in await everything.targets()] == [tabs[0]["targetId"]], "the window's own placeholder was not taken over"
    session = await first.attach(tabs[0]["targetId"])
    await first.call("Page.navigate", {"url": f"{pages.base}/clock.html?left-behind"}, session)
    await first.close()
    left = await everything.until_targets(lambda rows: [row["url"] for row in rows] == ["about:blank"])
    assert [row["url"] for row in left] == ["about:blank"], "the window must keep one tab, and that blank"
    assert stack.status("placeholder")["state"] == "up"


async def test_two_sessions_are_undisturbed_by_a_third_that_opens_a_hundred(stack: Stack, pages: Pages, truths: Callable[..., Any]) -> None:
    one, two, three = [await truths(stack.ws("hundred", name)) for name in ("one", "two", "three")]
    for session in (one, two):
        await session.call("Target.setDiscoverTargets", {"discover": True})
    before = [{info["targetId"] for info in await session.targets(None)} for session in (one, two)]
    for _ in range(10):
        made = await asyncio.gather(*(three.call("Target.createTarget", {"url": "about:blank"}, timeout=60) for _ in range(10)))
        assert [{info["targetId"] for info in await session.targets(None)} for session in (one, two)] == before
        await asyncio.gather(*(three.call("Target.closeTarget", {"targetId": tab["targetId"]}, timeout=60) for tab in made))
    assert [{info["targetId"] for info in await session.targets(None)} for session in (one, two)] == before
    foreign = {event["params"]["targetInfo"]["targetId"] for session in (one, two) for event in session.events if event["method"] == "Target.targetCreated"}
    assert foreign == before[0] | before[1]
    assert len(await three.targets()) == 1


@pytest.mark.parametrize("path", ["status", "json/version", "json/list", "downloads"])
def test_nothing_lists_another_project(stack: Stack, path: str) -> None:
    stack.http("POST", "start", "visible-one")
    stack.http("POST", "start", "hidden-two")
    body = stack.http("GET", path, "visible-one").body.decode()
    assert "hidden-two" not in body
    assert "hidden-two" not in request(stack.url + "/healthz").body.decode()
    for name in ("visible-one", "hidden-two"):
        assert stack.http("POST", "stop", name).status == 200

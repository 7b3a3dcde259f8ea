"""Cases about files: what a page receives, and what is written for the agent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.agent import Agent

SOON = 5.0


@pytest.fixture
def one(home: Path) -> str:
    """A file in the agent's working directory."""
    (home / "up-one.txt").write_text("one")
    return "up-one.txt"


@pytest.fixture
def two(home: Path) -> str:
    """Another, in a folder."""
    (home / "sub").mkdir()
    (home / "sub" / "up-two ü.txt").write_text("two two")
    return "sub/up-two ü.txt"


async def test_hidden_file_input(agent: Agent, one: str, two: str, home: Path) -> None:
    await agent.open("hidden-file-input")
    answer = await agent.client.ok("browser_upload", ref=await agent.ref("Attach"), paths=[str(home / one)])
    assert answer.data["uploaded"] == [{"name": "up-one.txt", "size": 3}] and "input#f" in answer.data["input"], answer
    assert await agent.eval("o.textContent") == "up-one.txt "
    answer = await agent.client.ok("browser_upload", ref=await agent.ref("Choose"), paths=[two])
    assert answer.data["uploaded"] == [{"name": "up-two ü.txt", "size": 7}] and "file_chooser" not in answer.data, answer
    assert await agent.eval("o.textContent") == "up-one.txt up-two ü.txt "
    assert await agent.eval("f.files[0].text()") == "one"


async def test_the_chooser_that_a_click_has_opened(agent: Agent, one: str) -> None:
    await agent.open("hidden-file-input")
    clicked = await agent.click(await agent.ref("Choose"))
    assert clicked.data["file_chooser"]["mode"] == "selectSingle" and "browser_upload" in clicked.text
    assert (await agent.client.ok("browser_upload", paths=[one])).data["uploaded"] == [{"name": "up-one.txt", "size": 3}]
    assert await agent.eval("o.textContent") == "up-one.txt "


INPUTS = """<title>inputs</title><output id=o></output>
<input id=many type=file multiple accept='image/*,.txt' onchange="o.textContent = [...files].map(f => f.name).join()">
<input id=off type=file disabled><input id=text type=text><button id=none>Nothing</button>
<div id=zone><span>Drop here</span><input type=file id=inner style='opacity:0' onchange="o.textContent = 'inner ' + files[0].name"></div>
<input id=emptied type=file onchange="o.textContent = 'took ' + files[0].name; value = ''">
<iframe srcdoc="<button onclick='let i = document.createElement(&quot;input&quot;); i.type = &quot;file&quot;;
 i.onchange = () => parent.o.textContent = &quot;framed &quot; + i.files[0].name; i.click()'>Framed</button>"></iframe>"""


@pytest.fixture
async def inputs(agent: Agent) -> Agent:
    """An agent on a page with file inputs of many kinds."""
    page = agent.pages.add("inputs.html", INPUTS)
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    await agent.target()
    return agent


async def test_many_files_at_once(inputs: Agent, one: str, two: str) -> None:
    answer = await inputs.client.ok("browser_upload", selector="#many", paths=[one, two])
    assert [file["name"] for file in answer.data["uploaded"]] == ["up-one.txt", "up-two ü.txt"] and "note" not in answer.data
    assert await inputs.eval("o.textContent") == "up-one.txt,up-two ü.txt"


async def test_what_an_input_asks_for_is_told(inputs: Agent, home: Path) -> None:
    (home / "a.pdf").write_text("x")
    assert "image/*" in (await inputs.client.ok("browser_upload", selector="#many", paths=["a.pdf"])).data["note"]


async def test_a_zone_with_one_input_in_it(inputs: Agent, one: str) -> None:
    await inputs.client.ok("browser_upload", selector="#zone", paths=[one])
    assert await inputs.eval("o.textContent") == "inner up-one.txt"


async def test_an_input_that_the_page_empties_at_once(inputs: Agent, one: str) -> None:
    answer = await inputs.client.ok("browser_upload", selector="#emptied", paths=[one])
    assert answer.data["uploaded"] == [{"name": "up-one.txt", "size": 3}] and "emptied" in answer.data["note"]
    assert await inputs.eval("o.textContent") == "took up-one.txt"


async def test_a_chooser_in_a_frame(inputs: Agent, one: str) -> None:
    await inputs.client.ok("browser_upload", ref=await inputs.ref("Framed"), paths=[one])
    assert await inputs.eval("o.textContent") == "framed up-one.txt"


async def test_refusals(inputs: Agent, one: str, two: str) -> None:
    for selector, code in {"#off": "ELEMENT_DISABLED", "#none": "ELEMENT_NOT_FOUND", "#missing": "ELEMENT_NOT_FOUND", "#text": "ELEMENT_NOT_FOUND"}.items():
        answer = await inputs.client.call("browser_upload", selector=selector, paths=[one], timeout_ms=4000)
        assert answer.code == code, (selector, answer)
    assert (await inputs.client.call("browser_upload", selector="#emptied", paths=[one, two])).code == "INVALID_ARGS"
    assert (await inputs.client.call("browser_upload", paths=[one])).code == "INVALID_ARGS"  # five inputs, no chooser
    assert await inputs.eval("o.textContent") == "" and await inputs.eval("document.title") == "inputs"
    await inputs.client.ok("browser_upload", selector="#many", paths=[one])  # the page still lives


@pytest.mark.parametrize("path", ["../key", "/etc/passwd", "link", "none.txt", "sub"])
async def test_only_files_below_the_working_directory(inputs: Agent, home: Path, two: str, path: str) -> None:
    (home / "link").symlink_to("/etc/passwd")
    answer = await inputs.client.call("browser_upload", selector="#many", paths=[path])
    assert answer.code in ("UNSAFE_PATH", "NOT_FOUND"), answer
    assert await inputs.eval("many.files.length") == 0


async def test_a_page_that_leaves_with_its_file(agent: Agent, one: str) -> None:
    page = agent.pages.add("leaves.html", "<title>leaves</title><input id=f type=file onchange=\"location = '/who?left'\">")
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    await agent.target()
    answer = await agent.client.ok("browser_upload", paths=[one])
    assert answer.data["uploaded"] == [{"name": "up-one.txt", "size": 3}] and "/who?left" in answer.data["navigated"]["url"]


# Out


async def test_a_picture_by_path_costs_no_tokens(agent: Agent, home: Path) -> None:
    await agent.open("clock")
    answer = await agent.client.ok("browser_screenshot", path="shots/clock.png")
    file = home / "shots" / "clock.png"
    assert file.read_bytes().startswith(b"\x89PNG") and answer.images == [] and "_meta" not in answer.message["result"]
    assert answer.data["path"] == "shots/clock.png" and answer.data["size"] == file.stat().st_size
    assert (await agent.client.ok("browser_screenshot", path=str(home / "whole.jpg"), full_page=True)).data["path"] == str(home / "whole.jpg")
    assert (home / "whole.jpg").read_bytes().startswith(b"\xff\xd8")


@pytest.mark.parametrize(("kind", "start"), [("pdf", b"%PDF-"), ("html", b"<!DOCTYPE html>"), ("mhtml", b"From: ")])
async def test_saving_a_page(agent: Agent, home: Path, kind: str, start: bytes) -> None:
    await agent.open("clickable-div")
    answer = await agent.client.ok("browser_save", format=kind, path=f"page.{kind}")
    data = (home / f"page.{kind}").read_bytes()
    assert data.startswith(start) and len(data) == answer.data["size"] and answer.data["saved"] == kind and "clickable-div" in answer.data["url"]


async def test_a_large_page_comes_whole(agent: Agent, home: Path) -> None:
    page = agent.pages.add("large.html", "<title>large</title><body><script>document.body.append('x'.repeat(3000000))</script>")
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    answer = await agent.client.ok("browser_save", format="html", path="large.html")
    text = (home / "large.html").read_text()
    assert text.count("x" * 3_000_000) == 1 and answer.data["size"] == len(text.encode()) > 3_000_000
    assert not list(agent.files.glob("**/outbox/*")) and not list(agent.files.glob("**/.outbox/*"))


async def test_one_element_as_html(agent: Agent, home: Path) -> None:
    await agent.open("clickable-div")
    await agent.client.ok("browser_save", format="html", selector="title", path="title.html")
    assert (home / "title.html").read_text().startswith("<title>")
    assert (await agent.client.call("browser_save", format="pdf", selector="title", path="x.pdf")).code == "INVALID_ARGS"


async def test_without_a_path_it_lies_where_the_answer_says(agent: Agent) -> None:
    await agent.open("clickable-div")
    paths = [Path((await agent.client.ok("browser_save", format="html")).data["path"]) for _ in range(2)]
    assert all(path.read_text().startswith("<!DOCTYPE html>") for path in paths) and len(set(paths)) == 2


@pytest.mark.parametrize("path", ["kept.png", "../x.png", "/tmp/x.png", ".hidden.png", "link/x.png", "sub/"])
async def test_where_nothing_is_written(agent: Agent, home: Path, path: str) -> None:
    (home / "kept.png").write_text("kept")
    (home / "link").symlink_to("/tmp")
    await agent.open("clock")
    before = sorted(os.listdir(home))
    for tool in ("browser_screenshot", "browser_save"):
        assert (await agent.client.call(tool, SOON, path=path)).code == "UNSAFE_PATH"
    assert sorted(os.listdir(home)) == before and (home / "kept.png").read_text() == "kept"


# A browser that was there before keeps its own downloads; tests/services tries the private one.
@pytest.mark.parametrize("agent", ["gateway"], indirect=True)
async def test_a_download_is_brought_and_given_to_a_page_again(agent: Agent, home: Path) -> None:
    await agent.open("download")
    clicked = await agent.click(await agent.ref("get"))
    name = Path(clicked.data["downloads"][0]["path"]).name
    size = clicked.data["downloads"][0]["size"]
    answer = await agent.client.ok("browser_downloads", name=name, path="got/file.bin")
    assert (home / "got" / "file.bin").stat().st_size == size == answer.data["files"][0]["size"] and answer.data["path"] == "got/file.bin"
    assert answer.message["result"]["structuredContent"] == json.loads(answer.text)
    await agent.open("hidden-file-input")
    given = await agent.client.ok("browser_upload", selector="#f", paths=[f"download:{name}"])
    assert given.data["uploaded"] == [{"name": name, "size": size}] and await agent.eval("o.textContent") == f"{name} "
    for bad in ("none.bin", "../uploads/.shared", ".partial", "/etc/passwd"):
        assert (await agent.client.call("browser_downloads", name=bad, path="x.bin")).code in ("NOT_FOUND", "UNSAFE_PATH")
        assert (await agent.client.call("browser_upload", selector="#f", paths=[f"download:{bad}"])).code in ("NOT_FOUND", "UNSAFE_PATH")
    assert (await agent.client.call("browser_downloads", name=name)).code == "INVALID_ARGS"

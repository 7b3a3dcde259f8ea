"""Cases about typing: what the field holds afterwards decides, and the answer must agree with it."""

from __future__ import annotations

import re

import pytest

from tests.support.agent import Agent

SOON = 5.0


@pytest.mark.parametrize(("name", "field", "was"), [("Disabled", "d", ""), ("Readonly", "r", "fixed")])
async def test_disabled(agent: Agent, name: str, field: str, was: str) -> None:
    await agent.open("disabled")
    snapshot = await agent.snapshot()
    await agent.eval("other.focus()")
    target = {"ref": ref} if (ref := snapshot.ref(name)) else {"selector": "#" + field}
    answer = await agent.client.call("browser_type", SOON, text="zap", **target)
    assert answer.code in ("ELEMENT_DISABLED", "ELEMENT_NOT_TYPEABLE"), answer
    assert answer.says(r"disabled|read-?only"), answer
    assert await agent.eval(f"[other.value,document.getElementById('{field}').value]") == ["", was]


async def test_value_tracker(agent: Agent) -> None:
    await agent.open("value-tracker")
    answer = await agent.type(await agent.ref("Tracked"), "abc")
    assert not answer.error, answer
    assert re.fullmatch(r"changes:[13] abc", str(await agent.eval("document.title"))), answer


async def test_reverting_field(agent: Agent) -> None:
    await agent.open("reverting-field")
    answer = await agent.type(await agent.ref("Amount"), "12")
    assert await agent.wait("n.value", "0") == "0"
    assert answer.says(r"(holds|value|now|reads|contains|reverted|differ|instead)[^\n]{0,60}[\"'`:= ]0[\"'`.,; )}\n]|(?:holds|value)\W+0$"), answer
    assert answer.error or answer.data["finalLength"] == 1, answer


SPECIAL = [
    ("Date", "d", "2026-02-03"),
    ("Time", "t", "13:45"),
    ("Color", "c", "#ff0000"),
    ("Range", "r", "7"),
    ("Number", "n", "3.5"),
    ("Month", "m", "2026-02"),
]


async def test_special_inputs(agent: Agent) -> None:
    await agent.open("special-inputs")
    snapshot = await agent.snapshot()
    for name, field, value in SPECIAL:
        ref = snapshot.ref(name)
        answer = await agent.type(ref, value) if ref else await agent.client.call("browser_type", selector="#" + field, text=value)
        assert not answer.error, (name, answer)
        assert await agent.eval(f"document.getElementById('{field}').value") == value, (name, answer)


BAD_VALUES = [
    ("d", "2026-02-03", "31/31", "YYYY-MM-DD"),
    ("t", "13:45", "31/31", "HH:MM"),
    ("m", "2026-02", "31/31", "YYYY-MM"),
    ("c", "#ff0000", "red", "#RRGGBB"),
]


async def test_special_inputs_refuse_a_bad_value(agent: Agent) -> None:
    await agent.open("special-inputs")
    for field, good, bad, format_ in BAD_VALUES:
        await agent.client.ok("browser_type", selector="#" + field, text=good)
        answer = await agent.client.call("browser_type", SOON, selector="#" + field, text=bad)
        assert answer.code == "ELEMENT_NOT_TYPEABLE", (field, answer)
        assert format_.lower() in answer.text.lower(), (field, answer)
        assert await agent.eval(f"document.getElementById('{field}').value") == good


async def test_contenteditable(agent: Agent) -> None:
    await agent.open("contenteditable")
    body = await agent.ref("Body", "textbox")
    answer = await agent.type(body, "one\ntwo")
    assert not answer.error, answer
    text = str(await agent.eval("e.innerText"))
    assert [line for line in text.split("\n") if line] == ["one", "two"], (text, answer)
    emptied = await agent.type(await agent.ref("Body", "textbox"), "", clear_first=True)
    assert not emptied.error, emptied
    assert str(await agent.eval("e.innerText")).strip() == "", emptied


async def test_contenteditable_inner_paragraph(agent: Agent) -> None:
    await agent.open("contenteditable")
    answer = await agent.client.call("browser_type", selector="#e p", text="inner")
    assert not answer.error, answer
    assert str(await agent.eval("e.innerText")).strip() == "inner", answer


async def test_contenteditable_appends_without_clearing(agent: Agent) -> None:
    await agent.open("contenteditable")
    answer = await agent.type(await agent.ref("Body", "textbox"), " new", clear_first=False)
    assert not answer.error, answer
    assert str(await agent.eval("e.innerText")).replace("\xa0", " ").strip() == "old new", answer


async def test_own_model_editor(agent: Agent) -> None:
    await agent.open("own-model-editor")
    answer = await agent.type(await agent.ref("Editor"), "hello")
    assert not answer.error, answer
    assert await agent.eval("[document.title,e.textContent]") == ["model:hello", "hello"], answer


async def test_late_listbox(agent: Agent) -> None:
    await agent.open("late-listbox")
    typed = await agent.type(await agent.ref("City"), "be")
    assert not typed.error, typed
    assert await agent.eval("i.value") == "be"
    await agent.client.ok("browser_wait_for", text="Berlin")
    await agent.client.ok("browser_click", ref=await agent.ref("Berlin", "option"))
    assert await agent.wait("o.textContent", "Berlin") == "Berlin"


TEXTS = ["مرحبا بالعالم", "你好，世界", "👩‍👩‍👧‍👦 naïve 🇩🇪", "'); alert(1); ('", '</script>\\"`${1}', "a\tb"]
FIELDS = "<!doctype html><meta charset=utf-8><title>f</title><input id=input><textarea id=area></textarea><div id=rich contenteditable></div>"


async def test_any_text_arrives_as_it_is(agent: Agent) -> None:
    page = agent.pages.add("fields.html", FIELDS)
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    for field, read in (("input", "input.value"), ("area", "area.value"), ("rich", "rich.textContent")):
        for text in TEXTS:
            answer = await agent.client.call("browser_type", selector="#" + field, text=text)
            assert not answer.error, (field, text, answer)
            got = str(await agent.eval(read))
            assert got.replace("\xa0", " ") == text, (field, answer)


async def test_password_is_never_shown(agent: Agent) -> None:
    await agent.open("password")
    snapshot = await agent.snapshot()
    ref = snapshot.ref("Password")
    assert ref and "s3cret" not in snapshot.text, snapshot.text
    texts = [await agent.client.call("browser_get_text"), await agent.client.call("browser_get_text", selector="#p")]
    texts.append(await agent.client.call("browser_snapshot", format="elements"))
    assert not [answer for answer in texts if "s3cret" in answer.text]
    typed = await agent.type(ref, "n3wsecret")
    assert not typed.error and "n3wsecret" not in typed.text, typed
    assert await agent.eval("p.value") == "n3wsecret"
    assert "n3wsecret" not in (await agent.snapshot()).text


async def test_submit(agent: Agent) -> None:
    page = agent.pages.add("form.html", "<title>form</title><form action=/who><input name=q aria-label=Query></form>")
    await agent.client.ok("browser_navigate", url=f"{page}?{agent.mark}")
    ref = await agent.ref("Query")
    await agent.target()
    if "submit" in agent.client.tools["browser_type"]["inputSchema"]["properties"]:
        answer = await agent.type(ref, "words", submit=True)
        assert "/who?q=words" in answer.text, answer
        assert await agent.title("who") == "who"
    else:
        answer = await agent.type(ref, "words")
        assert answer.data["finalLength"] == 5

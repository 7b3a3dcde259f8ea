"""Cases of typing: disabled fields, value trackers, typed inputs, rich editors, listboxes, secrets."""

from __future__ import annotations

import asyncio
import json
import re

from ..stdio import Timed, failed
from .cell import Cell, claims, says, short
from .registry import case


@case("disabled")
async def disabled(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    for name, element, was in (("Disabled", "d", ""), ("Readonly", "r", "fixed")):
        await c.ev("document.getElementById('other').focus()")
        answer = await c.type(c.ref(snapshot, name) or c.adapter.selector(f"#{element}"), "zap", name)
        if element == "d" or (c.deciding and not c.deciding.hang and not answer.error):
            c.decide(answer)
        other, value = json.loads(str(await c.ev(f"JSON.stringify([other.value,document.getElementById('{element}').value])")))
        c.fact(f"#{element}={value!r} #other={other!r} {answer.ms:.0f} ms {'refused' if answer.error else 'said ok: ' + short(answer, 60)}")
        claimed = claims(answer)
        c.part(f"{name} refused", answer.error and not answer.hang and value == was, core=True, false=claimed)
        c.part(f"{name} within 1 s", answer.error and answer.ms <= 1000)
        c.part(f"#other empty after {name}", other == "", core=True, false=claimed)
        c.part(f"{name}: says disabled or read-only", answer.error and says(answer, r"disabled|not enabled|read-?only|not editable|not typeable"))
        await c.ev("other.value=''")


@case("value-tracker")
async def value_tracker(c: Cell) -> None:
    await c.nav()
    answer = await c.type(c.ref(await c.snap(), "Tracked"), "abc", "Tracked")
    c.decide(answer)
    title = await c.title()
    c.fact(f"title={title}")
    c.part("change seen", re.fullmatch(r"changes:[13] abc", title), core=True, false=claims(answer))


HOLDS_ZERO = r"""(holds|value|now|reads|contains|reverted|differ|instead)[^\n]{0,60}["'`:= ]0["'`.,; )}\n]|(?:holds|value)\W+0$"""


@case("reverting-field")
async def reverting_field(c: Cell) -> None:
    await c.nav()
    answer = await c.type(c.ref(await c.snap(), "Amount"), "12", "Amount")
    c.decide(answer)
    await asyncio.sleep(0.1)
    c.fact(f"#n={await c.ev('n.value')!r}")
    said = failed(re.sub(r"ref=\w+|uid=\S+|\b\d+ms\b|127\.0\.0\.1:\d+", "", answer.text))
    c.part("the answer says that the field holds 0", says(said, HOLDS_ZERO), core=True, false=claims(answer))


SPECIAL = (
    ("Date", "d", "2026-02-03"),
    ("Time", "t", "13:45"),
    ("Color", "c", "#ff0000"),
    ("Range", "r", "7"),
    ("Number", "n", "3.5"),
    ("Month", "m", "2026-02"),
)


@case("special-inputs")
async def special_inputs(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    first: Timed | None = None
    for name, element, value in SPECIAL:
        answer = await c.type(c.ref(snapshot, name) or c.adapter.selector(f"#{element}"), value, name)
        first = first or answer
        holds = await c.ev(f"document.getElementById('{element}').value")
        if not c.part(name, holds == value, false=claims(answer)):
            c.decide(answer)
            c.fact(f"{name}={holds!r} ({answer.ms:.0f} ms, {short(answer, 60)})")
    bad = await c.type(c.ref(snapshot, "Date") or c.adapter.selector("#d"), "31/31", "Date, badly")
    c.fact(f"after '31/31' date={await c.ev('d.value')!r}: {short(bad, 90)}")
    c.part("bad date refused", bad.error and not bad.hang and bad.ms <= 1000, false=claims(bad))
    c.part("names the format", bad.error and says(bad, r"yyyy-mm-dd|format"))
    if c.deciding is None:
        c.decide(bad if not bad.error or first is None else first)


@case("contenteditable")
async def contenteditable(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    answer = await c.type(c.ref(snapshot, "Body", "textbox") or c.ref(snapshot, "Body"), "one\ntwo", "Body")
    c.decide(answer)
    text = str(await c.ev("e.innerText"))
    c.fact(f"innerText={text!r}")
    c.part("both lines", [line for line in text.split("\n") if line] == ["one", "two"], false=claims(answer))
    c.part("old text gone", "old" not in text, false=claims(answer))
    snapshot = await c.snap()
    cleared = await c.type(c.ref(snapshot, "Body", "textbox") or c.ref(snapshot, "Body"), "", "Body")
    text = str(await c.ev("e.innerText"))
    c.fact(f"cleared -> {text!r}")
    c.part("clear empties", text.strip() == "", false=claims(cleared))
    await c.nav()
    inner = await c.type(c.ref(await c.snap(), "old") or c.adapter.selector("#e p"), "inner", "the inner <p>")
    text = str(await c.ev("e.innerText"))
    c.fact(f"inner p -> {text!r} ({short(inner, 70)})")
    c.part("inner p typeable", "inner" in text, false=claims(inner))


@case("own-model-editor")
async def own_model_editor(c: Cell) -> None:
    await c.nav()
    answer = await c.type(c.ref(await c.snap(), "Editor"), "hello", "Editor")
    c.decide(answer)
    title, shown = await c.title(), await c.ev("e.textContent")
    c.fact(f"title={title}, #e={shown!r}")
    c.part("model and #e say hello", title == "model:hello" and shown == "hello", core=True, false=claims(answer))


@case("late-listbox")
async def late_listbox(c: Cell) -> None:
    await c.nav()
    ref = c.ref(await c.snap(), "City")
    typed = await c.type(ref, "be", "City")
    holds = await c.ev("i.value")
    c.part("type", not typed.error and holds == "be", false=claims(typed))
    if holds != "be" and ref:
        c.fact("type: " + short(typed, 90))
        c.note("type otherwise", await c.adapter.type_otherwise(ref, "be"))
    waited = c.note("wait_for Berlin", await c.adapter.wait_for("Berlin"))
    if c.has(waited, "wait_for") and waited:
        c.part("wait_for Berlin", not waited.error)
    snapshot = await c.snap()
    option = c.ref(snapshot, "Berlin", "option") or c.ref(snapshot, "Berlin")
    c.part("option in the snapshot", option)
    if not option and (fuller := c.note("fuller snapshot", await c.adapter.fuller_snapshot())):
        option = c.ref(fuller, "Berlin", "option")
        c.fact(f"option only in the fuller snapshot: {option}")
    answer = await c.click(option, "option Berlin")
    c.decide(answer)
    shown = await c.ev("o.textContent")
    c.fact(f"#o={shown!r}")
    c.part("#o is Berlin", shown == "Berlin", core=True, false=claims(answer))


@case("password")
async def password(c: Cell) -> None:
    await c.nav()
    snapshot = await c.snap()
    c.decide(snapshot)
    c.part("snapshot without the secret", not snapshot.error and "s3cret" not in snapshot.text, core=True)
    line = next((line for line in snapshot.text.split("\n") if "Password" in line), "")
    c.fact("snapshot line: " + line.strip()[:90])
    text = c.note("get_text", await c.adapter.get_text())
    if text is not None:
        c.part("get_text without the secret", "s3cret" not in text.text, core=True)
    typed = await c.type(c.ref(snapshot, "Password"), "n3wsecret", "Password")
    c.fact("echo of type: " + short(typed, 110))
    c.part("snapshot after typing hides it", "n3wsecret" not in (await c.snap()).text, core=True)

"""The person's keyboard, fingers and ears before the pages for people."""

from __future__ import annotations

from typing import Any

from tests.e2e.handed import Handed
from tests.e2e.person import Person

KEYS = {"Tab": (9, None), "Enter": (13, "\r"), "Escape": (27, None)}
FOCUSED = "(e => e.tagName === 'IFRAME' ? 'browser' : e.id || (e.formAction ?? '').split('/').pop())(document.activeElement)"
# An outline of its own that stands out from what is behind it.
OUTLINED = "(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))"


class Keys:
    """The person's keyboard and fingers."""

    def __init__(self, person: Person, session: str) -> None:
        self.person, self.session = person, session

    async def send(self, method: str, **params: Any) -> None:
        await self.person.truth.call(method, params, self.session)

    async def press(self, key: str, *, shift: bool = False) -> None:
        number, text = KEYS[key]
        code = {"key": key, "code": key, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0}
        await self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **code, **({"text": text} if text else {}))
        await self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    async def type(self, text: str) -> None:
        for letter in text:
            code = {"key": letter, "windowsVirtualKeyCode": ord(letter.upper()) & 255}
            await self.send("Input.dispatchKeyEvent", type="keyDown", text=letter, **code)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    async def tap(self, x: float, y: float) -> None:
        await self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        await self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    async def said(self, name: str) -> bool:
        """Whether a polite live region holds this text for who hears the page."""
        rows = (await self.person.truth.call("Accessibility.getFullAXTree", {}, self.session))["nodes"]
        by_id = {row["nodeId"]: row for row in rows}
        live = [row for row in rows if any(each["name"] == "live" and each["value"]["value"] == "polite" for each in row.get("properties", []))]
        return any(name in by_id[child].get("name", {}).get("value", "") for row in live for child in row.get("childIds", []) if child in by_id)


async def type_leave_and_end(keys: Keys, handed: Handed) -> None:
    """From the field in the browser that has the focus: type, leave by *Escape* and *Tab* both ways and come back, and be done."""
    person = keys.person
    await keys.type("ann")
    await handed.page("field.value", "ann")
    await keys.press("Escape")
    await keys.press("Tab")
    await person.shows(FOCUSED, "note")
    await person.shows("getComputedStyle(document.querySelector('iframe')).outlineStyle", "none")
    await keys.press("Tab", shift=True)
    await person.shows(FOCUSED, "browser")
    assert await person.eval(OUTLINED)
    await keys.type("e")
    await handed.page("field.value", "anne")
    await keys.press("Escape")
    await keys.type("x")
    await keys.press("Tab")
    assert await person.eval(FOCUSED) == "browser", "only a Tab right after Escape leads out"
    await keys.press("Escape")
    await keys.press("Tab", shift=True)
    await person.shows(FOCUSED, "watch")
    for step in ("browser", "note", "done"):
        await keys.press("Tab")
        await person.shows(FOCUSED, step)
        if step == "browser":
            await keys.press("Escape")
    await keys.press("Enter")
    await person.heading("Done")

"""The person's own clipboard, before a picture of a desktop: filled and pasted by the keys for it, as they would."""

from __future__ import annotations

import json

from tests.e2e.desktop import Hands, Scene
from tests.e2e.person import Person

NOTE = "document.querySelector('#note')"


async def may_read(person: Person, answer: str) -> None:
    """What the person has told their browser, which asks whether the page may see the clipboard: ``granted`` or ``denied``."""
    context = next(each for each in await person.truth.targets() if each["targetId"] == person.target)["browserContextId"]
    asked = {"origin": await person.eval("location.origin"), "permission": {"name": "clipboard-read"}, "setting": answer, "browserContextId": context}
    await person.truth.call("Browser.setPermission", asked)
    await person.shows("navigator.permissions.query({name:'clipboard-read'}).then(each=>each.state)", answer)


async def copy(hands: Hands, text: str) -> None:
    """Copy a text of one's own; the field for the note is where it stands meanwhile."""
    await hands.person.eval(f"(n=>{{n.value={json.dumps(text)};n.focus();n.select()}})({NOTE})")
    await hands.with_control("c")
    await hands.person.eval(f"{NOTE}.value=''")
    await hands.with_control("v")
    await hands.person.shows(f"{NOTE}.value", text[: await hands.person.eval(f"{NOTE}.maxLength")])
    await hands.person.eval(f"{NOTE}.value=''")


async def copy_there(scene: Scene, hands: Hands, text: str) -> None:
    """Copy what stands in a field of the agent's page, by keys in the picture."""
    await into_the_field(scene, hands)
    await scene.page(f"user.value={json.dumps(text)}", text)
    await hands.with_control("a")
    await scene.page("user.selectionEnd-user.selectionStart===user.value.length", True)
    await hands.with_control("c")


async def is_there(scene: Scene, text: str) -> None:
    """Wait until the desktop's clipboard has the text. Selkies' page sends it when it gets the focus, for which a hand leaves it the time."""
    origin = await scene.truth.eval(scene.target, "location.origin")
    await scene.truth.call("Browser.setPermission", {"origin": origin, "permission": {"name": "clipboard-read"}, "setting": "granted"})
    await scene.page("navigator.clipboard.readText()", text)


async def into_the_field(scene: Scene, hands: Hands) -> None:
    await hands.click(scene.target, 100, 40)
    await scene.page("document.activeElement.id", "user")

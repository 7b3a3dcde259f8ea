"""Moments in which something has no owner yet, or no longer."""

from __future__ import annotations

import asyncio
import json

from tests.security.arena import NEIGHBOUR, PROJECT, Arena, Attacker
from tests.support.truth import Truth

from .registry import attempt

PLACE = "(r=>[r.x+r.width/2,r.y+r.height/2])(document.querySelector('#popup').getBoundingClientRect())"


async def _close(*truths: Truth) -> None:
    for truth in truths:
        await truth.close()


@attempt("two sessions want the same first tab")
async def _placeholder(arena: Arena, attacker: Attacker) -> None:
    pair = await asyncio.gather(*(Truth.connect(arena.stack.ws(NEIGHBOUR, name)) for name in ("race", "race2")))
    shown = [{info["targetId"] for info in await truth.targets()} for truth in pair]
    await _close(*pair)
    assert shown[0] and shown[1] and not shown[0] & shown[1], shown


@attempt("popups of the victim while their ids are guessed")
async def _popups(arena: Arena, attacker: Attacker) -> None:
    victim = arena.victim
    await attacker.call("Target.setDiscoverTargets", {"discover": True})
    await attacker.call("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})
    for number in range(3):
        code = f"void (w=open('/who?{victim.mark}-race{number}'))"
        opening = asyncio.ensure_future(victim.truth.call("Runtime.evaluate", {"expression": code, "userGesture": True}, victim.session))
        while not opening.done():
            for text in ("Target.getTargets", "Target.getBrowserContexts"):
                await attacker.call(text)
        await opening
        await victim.truth.call("Runtime.evaluate", {"expression": "w.close()"}, victim.session)
    infos = (await attacker.call("Target.getTargets"))["targetInfos"]
    assert len(infos) == 1, infos


@attempt("a tab that is being created")
async def _creating(arena: Arena, attacker: Attacker) -> None:
    """Both create tabs at once; each gets its own."""
    victim = arena.victim
    await attacker.call("Target.setDiscoverTargets", {"discover": True})

    async def many(truth: Truth, url: str) -> list[str]:
        return [(await truth.call("Target.createTarget", {"url": url}))["targetId"] for _ in range(4)]

    mine, theirs = await asyncio.gather(many(attacker.truth, "data:text/html,mine"), many(victim.truth, f"{arena.pages.base}/who?{victim.mark}-made"))
    shown = {info["targetId"] for info in await attacker.truth.targets()}
    for target in theirs:
        await victim.truth.call("Target.closeTarget", {"targetId": target})
    for target in mine:
        await attacker.answer("Target.closeTarget", {"targetId": target})
    assert not shown & set(theirs) and set(mine) <= shown


@attempt("clicks that wait for the person's next tab")
async def _claimed(arena: Arena, attacker: Attacker) -> None:
    """A page's script fakes ctrl-clicks, which open nothing, at the address that the person opens next."""
    url = f"{arena.pages.base}/who?{arena.person.mark}-popup"
    press = "a.dispatchEvent(new MouseEvent('click',{ctrlKey:true,bubbles:true,cancelable:true}))"
    code = f"(()=>{{const a=document.createElement('a');a.href={url!r};document.body.append(a);setInterval(()=>{press},100)}})()"
    await attacker.call("Runtime.evaluate", {"expression": code, "userGesture": False}, attacker.page)
    person = arena.person.truth
    await asyncio.sleep(2.5)
    own = {info["targetId"] for info in await attacker.truth.targets()}
    spot = await person.call("Runtime.evaluate", {"expression": PLACE, "returnByValue": True}, arena.person.session)
    x, y = spot["result"]["value"]
    for kind in ("mousePressed", "mouseReleased"):
        await person.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "middle", "clickCount": 1}, arena.person.session)
    opened = await person.until_targets(lambda infos: [info for info in infos if info["url"] == url and info["targetId"] not in own], 5)
    made = {info["targetId"] for info in opened if info["url"] == url} - own
    shown = {info["targetId"] for info in await attacker.truth.targets()}
    await attacker.go(arena.own)
    for target in made | own - {attacker.target}:
        await person.call("Target.closeTarget", {"targetId": target})
    attacker.frames[:] = [frame for frame in attacker.frames if url not in frame]
    assert made and not shown & made, (made, shown)


@attempt("a connection that ends in the middle of everything")
async def _cut(arena: Arena, attacker: Attacker) -> None:
    for _ in range(5):
        one = await Truth.connect(arena.stack.ws(PROJECT, "mallory"))
        for number, method in enumerate(("Target.getTargets", "Target.createTarget", "Target.attachToBrowserTarget")):
            await one.raw(json.dumps({"id": number, "method": method, "params": {"url": "about:blank"} if "create" in method else {}}))
        one.socket.transport.abort()
        await one.closed.wait()
    quiet = 0
    while quiet < 5:
        # Tabs that were being created come late.
        extra = [info["targetId"] for info in await attacker.truth.targets() if info["targetId"] != attacker.target]
        for target in extra:
            await attacker.answer("Target.closeTarget", {"targetId": target})
        quiet = 0 if extra else quiet + 1
        await asyncio.sleep(0.1)

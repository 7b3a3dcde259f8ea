"""Looks at pages for people by axe-core's rules and by the size of what one presses, light and dark, on a desktop and on a phone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.clients.scene import MODULES
from tests.e2e.person import Person

AXE = MODULES / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here: scripts/clients.sh installs it where there is Node")
DESKTOP = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
RUN = """axe.run(document, {iframes: false, resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}).then(found =>
  found.violations.map(rule => rule.id + ': ' + rule.nodes.map(node => node.target.join(' ') + ' ' + node.failureSummary).join(' | ')))"""
# WCAG 2.2, 2.5.8: 24 by 24 pixels, for whatever can be pressed with a finger; and nothing is wider than the screen.
FITS = """(() => {
  const pressed = [...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, summary')].filter(each => each.checkVisibility());
  const small = pressed.map(each => [each.id || each.textContent, each.getBoundingClientRect()]).filter(([name, box]) => name !== 'typing'
    && (box.width < 24 || box.height < 24)).map(([name, box]) => `${name} ${box.width} x ${box.height}`);
  const wide = [...document.querySelectorAll('body *')].filter(each => each.checkVisibility() && !each.closest('.unseen, pre')
    && each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML.slice(0, 80));
  return [...small, ...wide, ...(document.documentElement.scrollWidth > innerWidth ? [`${document.documentElement.scrollWidth} wide`] : [])];
})()"""


class Eyes:
    """Looks at what a person's tab shows, frames included, by the four ways in which it can be shown."""

    def __init__(self, person: Person, session: str) -> None:
        self.person, self.session, self.seen = person, session, 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.person.truth.call(method, params, self.session, 30)

    async def wear(self, scheme: str, screen: dict[str, Any]) -> None:
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.call("Emulation.setDeviceMetricsOverride", **screen)
        await self.call("Emulation.setTouchEmulationEnabled", enabled=screen["mobile"])

    async def look(self, what: str, *, frames: bool = True) -> None:
        """All rules hold for the page and its frames. A world of its own keeps the rules' script from the page, and its policy from the script.

        Without ``frames`` those are left out: what another project's page shows in them is not ours to name.
        """
        for scheme in ("light", "dark"):
            for screen in (DESKTOP, PHONE):
                await self.wear(scheme, screen)
                tree = (await self.call("Page.getFrameTree"))["frameTree"]
                for frame in (tree, *(tree.get("childFrames", []) if frames else [])):
                    found = await self._run(frame["frame"]["id"], f"{RUN}.then(found => [...found, ...{FITS if screen['mobile'] else []}])")
                    assert found == [], (
                        f"{what}, {scheme}, {'phone' if screen['mobile'] else 'desktop'}, {frame['frame']['url'][:60]}: {json.dumps(found, indent=1)}"
                    )
                    self.seen += 1
        await self.wear("light", DESKTOP)

    async def _run(self, frame: str, code: str) -> Any:
        world = (await self.call("Page.createIsolatedWorld", frameId=frame, worldName="rules"))["executionContextId"]
        await self.call("Runtime.evaluate", expression=await asyncio.to_thread(AXE.read_text), contextId=world)
        answer = await self.call("Runtime.evaluate", expression=code, contextId=world, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"]["value"]

"""One cell of the score: one server on one page, with the parts of the right outcome and what each came to."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.support.truth import CdpError, NoAnswer, Picture, Truth, look

from ..adapters import Adapter
from ..stdio import HANG_SECONDS, Timed, failed

RIGHT, PARTLY, PARTLY_FALSE, WRONG, WRONG_FALSE, NO_TOOL = "✓", "~", "~!", "✗", "✗!", "–"
VERDICTS = (RIGHT, PARTLY, PARTLY_FALSE, WRONG, WRONG_FALSE, NO_TOOL)
NO_RENDERER = "<renderer does not answer>"
EVAL_SECONDS = 3.0


@dataclass
class Part:
    """One part of an outcome. ``core`` parts decide right or wrong; ``false`` marks a claim of success without the effect."""

    name: str
    ok: bool
    core: bool = False
    false: bool = False
    tried: bool = True


@dataclass
class Result:
    """What a cell came to, ready for JSON."""

    verdict: str
    ok: int
    parts: int
    ms: int | None
    hangs: int
    answer: str = ""
    facts: str = ""
    failed: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Decoder:
    """A page of a browser that is not under test, which decodes screenshots."""

    def __init__(self, truth: Truth, target: str) -> None:
        self.truth, self.target = truth, target

    async def look(self, data: bytes, points: list[tuple[float, float]] | None = None) -> Picture:
        return await look(self.truth, self.target, data, points)


def says(answer: Timed | None, pattern: str) -> bool:
    """Whether an answer's text matches, in any case."""
    return answer is not None and answer.says(pattern)


def claims(answer: Timed) -> bool:
    """Whether an answer claims success: no error, and no word that the text was not taken."""
    return not answer.error and not says(answer, r'"typed":\s*false')


def short(answer: Timed, limit: int = 160) -> str:
    """An answer on one line; of Playwright's call log only the telling line stays."""
    if answer.hang:
        return f"no answer in {HANG_SECONDS:.0f} s"
    text = re.sub(r"\x1b\[\d+m", "", answer.text)
    if "Call log:" in text:
        head, _, log = text.partition("Call log:")
        telling = re.findall(r"- ([^\n]*(?:intercepts pointer|not enabled|not editable|not stable|outside of|not visible|Malformed|Cannot type)[^\n]*)", log)
        text = head.replace("### Error", "") + (f" … {telling[0]}" if telling else log)
    return re.sub(r"### Ran Playwright code ```js (.*?) ``` ", "", " ".join(text.split()))[:limit]


class Cell:
    """What the cases work with: the server's operations, noted as they are called, and the truth beside them."""

    def __init__(self, name: str, adapter: Adapter, truth: Truth, base: str, decoder: Decoder) -> None:
        self.name, self.adapter, self.truth, self.base, self.decoder = name, adapter, truth, base, decoder
        self.parts: list[Part] = []
        self.facts: list[str] = []
        self.log: list[str] = []
        self.hangs = 0
        self.deciding: Timed | None = None
        self._target: str | None = None

    # the server's operations

    def note(self, what: str, answer: Timed | None) -> Timed | None:
        """Log an answer and count hangs."""
        if answer is None:
            self.log.append(f"{what} -> no tool")
            return None
        self.log.append(f"{what} -> {answer.ms:.0f} ms{' ERROR' if answer.error else ''} {short(answer, 400)}")
        self.hangs += answer.hang
        return answer

    def _noted(self, what: str, answer: Timed) -> Timed:
        self.note(what, answer)
        return answer

    async def nav(self, path: str | None = None, base: str | None = None) -> Timed:
        return self._noted(f"navigate {path or self.name}", await self.adapter.navigate(f"{base or self.base}/{path or self.name + '.html'}"))

    async def snap(self) -> Timed:
        return self._noted("snapshot", await self.adapter.snapshot())

    def ref(self, snapshot: Timed, name: str, role: str | None = None) -> str | None:
        return self.adapter.ref(snapshot.text, name, role)

    async def click(self, ref: str | None, what: str, force: bool = False) -> Timed:
        return self._noted(f"click {what}", await self.adapter.click(ref, force) if ref else failed(f"(no ref for {what} in the snapshot)"))

    async def type(self, ref: str | None, text: str, what: str) -> Timed:
        return self._noted(f"type {text!r} into {what}", await self.adapter.type(ref, text) if ref else failed(f"(no ref for {what} in the snapshot)"))

    # the truth

    async def page(self) -> dict[str, Any]:
        """The tab that shows the case, or that showed it last."""
        pages = await self.truth.targets("page")
        found = next((page for page in pages if self.name in page["url"]), None) or next((page for page in pages if page["targetId"] == self._target), pages[0])
        self._target = found["targetId"]
        return found

    async def eval_in(self, target: str, expression: str, timeout: float = EVAL_SECONDS) -> Any:
        """The value of an expression, or a text in angle brackets that says why there is none."""
        try:
            return await self.truth.eval(target, expression, timeout=timeout)
        except NoAnswer:
            return NO_RENDERER
        except CdpError as error:
            return f"<{error}>"

    async def ev(self, expression: str) -> Any:
        return await self.eval_in((await self.page())["targetId"], expression)

    async def title(self) -> str:
        await asyncio.sleep(0.05)
        return str(await self.ev("document.title"))

    async def picture(self, answer: Timed | None, points: list[tuple[float, float]] | None = None) -> Picture | None:
        """A screenshot decoded, or None when there is none."""
        data = self.adapter.image(answer)
        return await self.decoder.look(data, points) if data else None

    # the outcome

    def part(self, name: str, ok: Any, core: bool = False, false: Any = False) -> bool:
        """Note a part of the outcome; ``false`` counts only when it is not ok."""
        self.parts.append(Part(name, bool(ok), core, bool(false) and not ok))
        return bool(ok)

    def has(self, answer: Timed | None, name: str) -> bool:
        """Whether there was a tool for it; a part without one counts against the server."""
        if answer is None:
            self.parts.append(Part(name, ok=False, tried=False))
        return answer is not None

    def decide(self, answer: Timed) -> None:
        """The answer whose time stands in the table."""
        self.deciding = answer

    def fact(self, text: str) -> None:
        self.facts.append(text)

    def result(self) -> Result:
        bad = [part.name + (" (no tool)" if not part.tried else " (false success)" if part.false else "") for part in self.parts if not part.ok]
        return Result(
            verdict=self._verdict(),
            ok=sum(part.ok for part in self.parts),
            parts=len(self.parts),
            ms=round(self.deciding.ms) if self.deciding else None,
            hangs=self.hangs,
            answer=short(self.deciding) if self.deciding else "",
            facts="; ".join(self.facts),
            failed=bad,
            log=self.log,
        )

    def _verdict(self) -> str:
        tried = [part for part in self.parts if part.tried]
        if not tried:
            return NO_TOOL
        false = sum(part.false for part in tried)
        if any(part.core and not part.ok for part in tried) or not any(part.ok for part in tried):
            return WRONG_FALSE if false else WRONG
        if all(part.ok for part in self.parts):
            return RIGHT
        if false:
            return WRONG_FALSE if false * 2 > len(tried) else PARTLY_FALSE
        return PARTLY

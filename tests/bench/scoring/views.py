"""Cases of screenshots: lazy sections, very tall pages, a hash route."""

from __future__ import annotations

import asyncio
import colorsys

from tests.support.truth import near

from .cell import Cell, short
from .registry import case

SECTIONS = (
    "[document.documentElement.scrollHeight,...[...document.querySelectorAll('section')].map(s=>{const r=s.getBoundingClientRect();return r.top+scrollY+300})]"
)
VIEW = "JSON.stringify([innerWidth,innerHeight,devicePixelRatio])"
MEGAPIXELS = 16_000_000


@case("lazy-sections")
async def lazy_sections(c: Cell) -> None:
    await c.nav()
    await c.ev("scrollTo(0,300)")
    await asyncio.sleep(0.3)
    height, *middles = await c.ev(SECTIONS)
    answer = c.note("full screenshot", await c.adapter.screenshot(full=True))
    scroll = await c.ev("scrollY")
    if not c.has(answer, "full screenshot") or answer is None:
        return
    c.decide(answer)
    image = await c.picture(answer, [(0.5, middle / height) for middle in middles])
    if image is None:
        c.part("image", False, core=True)
        c.fact("no image: " + short(answer, 100))
        return
    right = sum(near(pixel, _hue(number), 14) for number, pixel in enumerate(image.pixels))
    c.fact(f"{image.width}x{image.height}, {right} of 10 colours, scrollY 300 -> {scroll}")
    c.part("ten colours", right == 10, core=True, false=not answer.error)
    c.part("scroll position back", scroll == 300)


def _hue(section: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hls_to_rgb(section * 36 / 360, 0.5, 0.8)
    return round(red * 255), round(green * 255), round(blue * 255)


@case("very-tall")
async def very_tall(c: Cell) -> None:
    await c.nav()
    before, width = await c.ev(VIEW), await c.ev("document.documentElement.scrollWidth")
    answer = c.note("full screenshot", await c.adapter.screenshot(full=True))
    if not c.has(answer, "full screenshot") or answer is None:
        return
    c.decide(answer)
    after = await c.ev(VIEW)
    image = await c.picture(answer, [(0.5, 50 / 40000), (0.5, 1 - 50 / 40000)])
    if image is None:
        c.part("image", False, core=True)
        c.fact("no image: " + short(answer, 100))
        return
    top, bottom = image.pixels
    c.fact(f"{image.width}x{image.height} = {image.width * image.height / 1e6:.1f} Mpx, top {top} bottom {bottom}, view {before} -> {after}")
    c.part("whole", abs(image.height / image.width / (40000 / width) - 1) < 0.02, core=True, false=not answer.error)
    c.part("top green", near(top, (0, 128, 0)), core=True, false=not answer.error)
    c.part("bottom red", near(bottom, (255, 0, 0)), core=True, false=not answer.error)
    c.part("at most 16 Mpx", image.width * image.height <= MEGAPIXELS)
    c.part("emulation reset", before == after)


@case("hash-route")
async def hash_route(c: Cell) -> None:
    await c.nav()
    answer = await c.nav("hash-route.html#two")
    c.decide(answer)
    shot = c.note("screenshot", await c.adapter.screenshot())
    text = await c.ev("o.textContent")
    image = await c.picture(shot)
    c.fact(f"#o={text!r}, screenshot of {image.colours if image else 'no'} colours")
    c.part("text two", text == "two", core=True, false=not answer.error)
    c.part("at once (1 s)", answer.ms < 1000)
    if c.has(shot, "screenshot"):
        c.part("screenshot not blank", image is not None and image.colours > 1)

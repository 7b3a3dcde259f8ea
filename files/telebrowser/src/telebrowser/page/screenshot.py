"""Pictures of a page: the viewport as it is, or the whole page, never cropped."""

from __future__ import annotations

import asyncio
import base64
import math
import os
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from ..cdp.connection import CdpError
from ..errors import TelebrowserError
from ..handover import MARK
from .deadline import Deadline
from .document import DocumentGone
from .engine import Engine
from .files import place
from .outbox import Outgoing
from .tab import Tab

MAX_PIXELS = 16_000_000
MAX_SIDE = 16_000
REVEAL_MS = 5000
TALL_VIEWS = 10
NAME = re.compile(r"[\w. ()+@=,-]{1,120}", re.UNICODE)


class Shot(NamedTuple):
    """A picture, what the answer says about it, and the answer's ``_meta``. ``data`` is empty where it is not shown."""

    data: bytes
    mime: str
    told: dict[str, Any]
    meta: dict[str, Any] | None = None


async def screenshot(engine: Engine, tab: Tab, args: dict[str, Any], deadline: Deadline) -> Shot:
    """Capture the tab; save the file in the output folder, or at ``path`` on the agent's machine. Raises ``UNSAFE_PATH``, ``TIMEOUT`` or ``DISK_FULL``."""
    wanted = place(args)
    kind = args.get("format") or ("png" if (wanted or "").lower().endswith(".png") else "jpeg")
    path = safe_path(engine.provider.output_dir, args.get("filename"), kind)
    await tab.navigation_guard(deadline.left())
    if args.get("delay_ms"):
        await asyncio.sleep(args["delay_ms"] / 1000)
    options: dict[str, Any] = {"format": kind, "optimizeForSpeed": True}
    if kind == "jpeg":
        options["quality"] = args.get("quality", 80)
    if args.get("full_page"):
        async with tab.lock.hold():
            data, told = await _full_page(tab, options, deadline)
    else:
        data, told = await _capture(tab, options, deadline), {}
    if wanted is not None:
        outgoing = Outgoing(engine.provider.outbox_dir)
        await asyncio.to_thread(outgoing.write, data)
        mark = await asyncio.to_thread(outgoing.mark)
        return Shot(b"", f"image/{kind}", {"path": wanted, "size": len(data), "truncated": False, **told}, {MARK: mark})
    await asyncio.to_thread(write_file, path, data)
    inline = len(data) <= engine.settings.max_image_bytes
    return Shot(data if inline else b"", f"image/{kind}", {"path": str(path), "size": len(data), "truncated": not inline, **told})


async def _capture(tab: Tab, options: dict[str, Any], deadline: Deadline) -> bytes:
    try:
        answer = await tab.session.call("Page.captureScreenshot", timeout=deadline.left(), **options)
    except TimeoutError:
        raise TelebrowserError("TIMEOUT", f"Tab {tab.name} gave no picture in time") from None
    except CdpError as error:
        raise TelebrowserError("BROWSER_CRASHED" if tab.crashed else "TIMEOUT", f"Tab {tab.name} gave no picture: {error.message}") from None
    return base64.b64decode(answer["data"])


async def _full_page(tab: Tab, options: dict[str, Any], deadline: Deadline) -> tuple[bytes, dict[str, Any]]:
    """Show every part once so that lazy content paints, then capture all of it, scaled down where it is too large.

    Chromium gives the view the size of the picture meanwhile. When the tab is shown for the first time or its window resized just
    then, the view falls back to the window's size, and the answer is the first view, tiled, up to the size that was asked for
    (``CreateTiledBitmap`` in content/browser/devtools/protocol/page_handler.cc). So a picture counts only if the window was the same after it.
    """
    await _reveal(tab, deadline)
    window = await _window(tab, deadline)
    while True:
        metrics = await tab.session.call("Page.getLayoutMetrics", timeout=deadline.left())
        size = metrics["cssContentSize"]
        width, height, density = max(1.0, size["width"]), max(1.0, size["height"]), float(window[0] or 1)
        scale = min(1.0, math.sqrt(MAX_PIXELS / (width * height)) / density, MAX_SIDE / max(width, height) / density)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        data = await _capture(tab, {**options, "captureBeyondViewport": True, "clip": clip}, deadline)
        before, window = window, await _window(tab, deadline)
        if window == before:
            break
        if deadline.passed():
            raise TelebrowserError("TIMEOUT", f"The window of tab {tab.name} changed in each picture")
    told: dict[str, Any] = {"width": round(width * scale * density), "height": round(height * scale * density)}
    if scale < 1:
        told["scale"] = round(scale, 4)
    return data, told


async def _window(tab: Tab, deadline: Deadline) -> list[float]:
    """Pixels per CSS pixel, and the sizes of view and window; a tab that is not shown has no frame around its view."""
    expression = "[devicePixelRatio, innerWidth, innerHeight, outerWidth, outerHeight]"
    answer = await tab.session.call("Runtime.evaluate", expression=expression, returnByValue=True, timeout=deadline.left())
    return list(answer["result"].get("value") or [1])


async def _reveal(tab: Tab, deadline: Deadline) -> None:
    """Scroll down the page and back. A very tall one is seen through a taller window meanwhile, so that it takes fewer steps."""
    document = await tab.main_document(deadline.left())
    metrics = await tab.session.call("Page.getLayoutMetrics", timeout=deadline.left())
    view, height = metrics["cssLayoutViewport"], metrics["cssContentSize"]["height"]
    tall = height > TALL_VIEWS * view["clientHeight"]
    if tall:
        await tab.session.call(
            "Emulation.setDeviceMetricsOverride",
            width=view["clientWidth"],
            height=view["clientHeight"] * TALL_VIEWS,
            deviceScaleFactor=0,
            mobile=False,
            timeout=deadline.left(),
        )
    try:
        left = deadline.left()
        await document.call("revealAll", min(REVEAL_MS, left * 400), timeout=left)
    except DocumentGone:
        raise TelebrowserError("TIMEOUT", "The page went elsewhere while it was captured") from None
    finally:
        if tall:
            tab.session.forget("Emulation.clearDeviceMetricsOverride")


def safe_path(folder: Path, filename: str | None, kind: str) -> Path:
    """Where the picture goes: a plain name or relative path below ``folder``. Raises ``UNSAFE_PATH``."""
    suffix = ".jpg" if kind == "jpeg" else f".{kind}"
    if filename is None:
        filename = time.strftime("screenshot-%Y%m%d-%H%M%S") + f"-{time.monotonic_ns() % 1_000_000:06d}" + suffix
    parts = filename.replace("\\", "/").split("/")
    if filename.startswith(("/", "~")) or "\0" in filename or any(part in ("", ".", "..") or not NAME.fullmatch(part) for part in parts):
        raise TelebrowserError("UNSAFE_PATH", f"{filename[:120]!r} is not a plain relative file name")
    if not parts[-1].lower().endswith((".jpg", ".jpeg", ".png")):
        filename += suffix
    root = folder.resolve()
    path = (root / filename).resolve()
    if not path.is_relative_to(root):
        raise TelebrowserError("UNSAFE_PATH", f"{filename[:120]!r} leads out of the output folder")
    return path


def write_file(path: Path, data: bytes) -> None:
    """Write whole or not at all. Raises ``DISK_FULL`` or ``UNSAFE_PATH``."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        code = "DISK_FULL" if error.errno in (28, 122) else "UNSAFE_PATH"
        raise TelebrowserError(code, f"{path} cannot be written: {error.strerror}") from None

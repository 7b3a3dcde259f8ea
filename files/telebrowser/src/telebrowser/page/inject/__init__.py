"""The script that runs in an isolated world of every frame, in parts that are joined once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

WORLD = "telebrowser"
PARTS = ("state", "dom", "snapshot", "pointer", "keyboard", "reading", "upload", "entry")


@cache
def source() -> str:
    """All parts as one function, so that nothing but ``__telebrowser`` becomes a global of the world."""
    folder = files(__package__)
    return "(() => {\n" + "\n".join((folder / f"{part}.js").read_text("utf-8") for part in PARTS) + "\n})();"

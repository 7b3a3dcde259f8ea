"""Browsers for the servers: a headless Chromium for what attaches to one, a project of a real stack for what goes through the gateway."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from tests.support.chromium import Chromium
from tests.support.stack import Stack

from .adapters import ADAPTERS, Place

WINDOW = "--window-size=1600,900"
"""The size of the product's display, so that every screenshot has about as many pixels."""


class Places:
    """Makes places and ends what was started for them, in `close` or at the end of a ``with``."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tb-bench-", dir="/tmp"))
        self.stack: Stack | None = None
        self._open: dict[str, Chromium | None] = {}
        self._made = 0

    def running_stack(self) -> Stack:
        """The one stack, started when it is first needed."""
        if self.stack is None:
            root = self.root / "stack"
            root.mkdir()
            self.stack = Stack(root, LOG_LEVEL="warning")
            self.stack.start()
        return self.stack

    def make(self, key: str) -> Place:
        """A fresh browser for the server ``key``, with a home of its own."""
        self._made += 1
        name = f"{key}-{self._made}"
        home = self.root / name
        home.mkdir()
        if ADAPTERS[key].through_gateway:
            stack = self.running_stack()
            stack.http("POST", "start", name)
            self._open[name] = None
            return Place(home, stack.url, stack.ws(name), stack.env(), name, (stack.data / "projects" / name,))
        browser = Chromium(self.root / f"{name}-profile", WINDOW)
        self._open[name] = browser
        env = {**os.environ, "HOME": str(home)}
        return Place(home, browser.http, browser.ws, env, name, (home,))

    def drop(self, place: Place) -> None:
        """End a place's browser and remove its home."""
        browser = self._open.pop(place.project)
        if browser:
            browser.close()
        elif self.stack:
            self.stack.http("POST", "stop", place.project)
        shutil.rmtree(place.home, ignore_errors=True)

    def close(self) -> None:
        """End everything."""
        for browser in self._open.values():
            if browser:
                browser.close()
        self._open.clear()
        if self.stack:
            self.stack.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Places:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

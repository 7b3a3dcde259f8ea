"""Counts crashes: a browser that crashes three times in a minute is left down."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable

LIMIT = 3
WINDOW_SECONDS = 60.0


class Crashes:
    """Crash times per project; ``clock`` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=LIMIT))

    def record(self, project: str) -> bool:
        """Count one crash. True when the project must now be left down."""
        self._times[project].append(self._clock())
        return self.blocked(project)

    def blocked(self, project: str) -> bool:
        """Whether the last crashes came too fast and the last of them is less than a minute ago."""
        times = self._times.get(project)
        return times is not None and len(times) == LIMIT and self._clock() - times[-1] < WINDOW_SECONDS and times[-1] - times[0] < WINDOW_SECONDS

    def reset(self, project: str) -> None:
        """Forget the project's crashes."""
        self._times.pop(project, None)

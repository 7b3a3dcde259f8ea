"""What is wanted of the supervisor for one project: as files, so that it outlives both programs, and a nudge to look at them."""

from __future__ import annotations

import contextlib
import logging

from ..datadir import DataDir, is_disk_full, write_atomic
from ..errors import TelebrowserError
from .supervisor_client import SupervisorClient

log = logging.getLogger(__name__)


class Wishes:
    """The project's browser wanted or not, and its window in front."""

    def __init__(self, project: str, data: DataDir, supervisor: SupervisorClient) -> None:
        self._project = project
        self._data = data
        self._supervisor = supervisor

    def want(self) -> None:
        """The browser is to run. Raises `TelebrowserError` DISK_FULL or INTERNAL when that cannot be noted."""
        try:
            write_atomic(self._data.want_file(self._project), b"")
        except OSError as error:
            code = "DISK_FULL" if is_disk_full(error) else "INTERNAL"
            raise TelebrowserError(code, f"{error.strerror}: {self._data.want}") from None
        self._look()

    def unwant(self) -> None:
        """It is no longer to run."""
        with contextlib.suppress(FileNotFoundError):
            self._data.want_file(self._project).unlink()
        self._look()

    def raise_window(self) -> None:
        """Its window is to come to the front; the supervisor reports what became of it."""
        try:
            write_atomic(self._data.raise_file, self._project.encode())
        except OSError as error:
            log.warning("[%s] cannot ask for the window to be raised: %s", self._project, error.strerror)
            return
        self._look()

    def _look(self) -> None:
        self._supervisor.send({"cmd": "look"})

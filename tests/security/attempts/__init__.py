"""The attacks, by subject."""

from __future__ import annotations

from . import encodings, files, races, table, targets, web
from .registry import ALL, Attempt

__all__ = ["ALL", "Attempt", "encodings", "files", "races", "table", "targets", "web"]

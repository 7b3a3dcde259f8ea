"""The attacks, by subject."""

from __future__ import annotations

from . import table, targets
from .registry import ALL, Attempt

__all__ = ["ALL", "Attempt", "table", "targets"]

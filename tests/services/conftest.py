"""Fixtures of the tests that run one part of the product with real processes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .supervised import Supervised


@pytest.fixture
def supervised() -> Iterator[Supervised]:
    """A supervisor of the test's own, not started. It is stopped, and must leave nothing running, at the end."""
    root = Path(tempfile.mkdtemp(prefix="tb-sup-", dir="/tmp"))
    one = Supervised(root)
    try:
        yield one
    finally:
        one.stop()
        shutil.rmtree(root, ignore_errors=True)

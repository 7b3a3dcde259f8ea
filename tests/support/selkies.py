"""The Python that has the view's package; `make view` makes it."""

from __future__ import annotations

from pathlib import Path

PYTHON = str(Path(__file__).resolve().parents[2] / ".venv-view" / "bin" / "python")
SETTINGS = {"TELEBROWSER_VIEW": "selkies", "TELEBROWSER_SELKIES_PYTHON": PYTHON}

"""Text that pages and clients may hold and no encoding carries."""

from __future__ import annotations


def clean(text: str) -> str:
    """The text with each lone half of a surrogate pair replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""Refs: numbers bound to a node of a document, handed out once and never reused."""

from __future__ import annotations

import re

from .document import Document

REF = re.compile(r"@?e([1-9][0-9]{0,9})")


class Refs:
    """Which document each number belongs to.

    The node itself is known only inside the document's isolated world, by identity; so a ref can never mean
    another node, also after a re-render.
    """

    def __init__(self) -> None:
        self.next = 1
        self._blocks: list[tuple[int, int, Document]] = []

    def took(self, document: Document, next_ref: int) -> None:
        """``document`` has used the numbers from `next` up to ``next_ref``."""
        if next_ref > self.next:
            self._blocks.append((self.next, next_ref, document))
            self.next = next_ref

    def document_of(self, number: int) -> Document | None:
        """The document that handed out the number; None for a number that was never handed out."""
        low, high = 0, len(self._blocks)
        while low < high:
            middle = (low + high) // 2
            first, end, document = self._blocks[middle]
            if number < first:
                high = middle
            elif number >= end:
                low = middle + 1
            else:
                return document
        return None


def parse(ref: str) -> int | None:
    """The number of a ref as an agent writes it (``e12`` or ``@e12``), or None."""
    match = REF.fullmatch(ref.strip())
    return int(match[1]) if match else None


def shown(number: int) -> str:
    """A ref as an answer names it."""
    return f"e{number}"

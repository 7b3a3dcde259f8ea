"""`telebrowser downloads`: the files that the project's browser downloaded."""

from __future__ import annotations

from typing import Any

from ..errors import EXIT_OK
from .common import DATA_OPTIONS, address_of, plain, show
from .gateway import call
from .options import Arguments, Verb

VERB = Verb("downloads", "List the files that the project's browser downloaded: time, bytes, name; their folder goes to the first line.", DATA_OPTIONS)


def run(arguments: Arguments) -> int:
    """Print the listing."""
    listing = call(address_of(arguments), "GET", "downloads")
    show(arguments, listing, text_of(listing))
    return EXIT_OK


def text_of(listing: dict[str, Any]) -> str:
    """The listing as lines."""
    files = listing.get("files") or []
    lines = [f"{plain(listing.get('directory'))}: {len(files) or 'no'} file{'' if len(files) == 1 else 's'}"]
    lines += [f"{plain(file.get('modified'))}  {file.get('size') or 0:>12}  {plain(file.get('name'))}" for file in files]
    return "\n".join(lines)
